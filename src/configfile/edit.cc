// One setting changed in the text of a file. Each way to do it gives a whole new text, which is parsed and compared
// with the old one before it is handed out.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "configfile/collect.h"
#include "configfile/insert.h"
#include "configfile/write_value.h"

namespace vigil::configfile {
namespace {

bool IsBelow(std::string_view path, std::string_view above) {
  return path.size() > above.size() && path.starts_with(above) && path[above.size()] == '.';
}

bool SameValue(const Entry& a, const Entry& b) {
  return a.kind == b.kind && a.text == b.text && a.truth == b.truth && a.quoted == b.quoted;
}

bool HasKind(const File& file, RemarkKind kind) {
  return std::any_of(file.remarks.begin(), file.remarks.end(),
                     [&](const Remark& remark) { return remark.kind == kind; });
}

bool Holds(const Entry& entry, const NewValue& value) {
  if (entry.kind != value.kind) return false;
  if (value.kind == Kind::kNumber) return entry.number == PlainNumber(value.text).value_or(model::kNoValue);
  if (value.kind == Kind::kTruth) return entry.truth == (value.text == "true");
  return entry.kind == Kind::kNull || entry.text == Kept(value.text);
}

// The entries that a change of `path` must leave as they are: all but itself, those below it, and those above it, whose
// number of parts may change.
std::vector<const Entry*> Others(const File& file, std::string_view path) {
  std::vector<const Entry*> others;
  for (const Entry& entry : file.entries) {
    const bool is_touched = entry.path == path || IsBelow(entry.path, path) || IsBelow(path, entry.path);
    if (!is_touched) others.push_back(&entry);
  }
  return others;
}

bool LeavesOthers(const File& before, const File& after, std::string_view path) {
  if (HasKind(after, RemarkKind::kBroken)) return false;
  const std::vector<const Entry*> old_entries = Others(before, path);
  const std::vector<const Entry*> new_entries = Others(after, path);
  return std::equal(old_entries.begin(), old_entries.end(), new_entries.begin(), new_entries.end(),
                    [](const Entry* a, const Entry* b) { return a->path == b->path && SameValue(*a, *b); });
}

Status WhyNotEdited(const File& file) {
  if (file.notation == Notation::kPickle)
    return Fail(ErrorCode::kUnsupported, file.path, "a pickle cannot be edited; change the program that wrote it");
  if (HasKind(file, RemarkKind::kBroken))
    return Fail(ErrorCode::kCorrupt, file.path, "cannot be parsed to its end, so that no setting in it is changed");
  return {};
}

tl::unexpected<Error> Refused(const File& file, std::string_view path, std::string_view why) {
  return Fail(ErrorCode::kUnsupported, file.path, fmt::format("{} {}; change it by hand", path, why));
}

Result<std::string> Replace(const File& file, const Entry& entry, const NewValue& value) {
  if (entry.kind == Kind::kMap || entry.kind == Kind::kList) return Refused(file, entry.path, "is no single value");
  if (entry.alias_line != 0)
    return Refused(file, entry.path, "is set in another place (line " + std::to_string(entry.line) + ")");
  const bool is_left_out = entry.kind == Kind::kNull && entry.begin == entry.end && entry.begin != 0;
  if (entry.begin == entry.end && !is_left_out) return Refused(file, entry.path, "is written over several lines");
  const std::string written = WriteValue(file.notation, value, &entry);
  return file.text.substr(0, entry.begin) + (is_left_out ? " " : "") + written + file.text.substr(entry.end);
}

}  // namespace

NewValue NewValue::Number(double value) { return {Kind::kNumber, FormatExact(value)}; }
NewValue NewValue::Truth(bool value) { return {Kind::kTruth, value ? "true" : "false"}; }
NewValue NewValue::Text(std::string value) { return {Kind::kText, std::move(value)}; }

Result<std::string> SetValue(const File& file, std::string_view path, const NewValue& value) {
  if (Status fit = WhyNotEdited(file); !fit) return tl::unexpected(fit.error());
  const bool finite = value.kind != Kind::kNumber || PlainNumber(value.text).has_value();
  if (value.kind == Kind::kMap || value.kind == Kind::kList || !finite)
    return Fail(ErrorCode::kInvalid, file.path, fmt::format("{}: only a single value can be set", path));
  std::vector<std::string> candidates;
  if (const Entry* entry = file.Find(path)) {
    Result<std::string> replaced = Replace(file, *entry, value);
    if (!replaced) return replaced;
    candidates.push_back(std::move(*replaced));
  } else {
    candidates = Insertions(file, path, value);
  }
  for (std::string& text : candidates) {
    const File after = Parse(file.path, text, file.notation);
    const Entry* entry = after.Find(path);
    if (entry != nullptr && Holds(*entry, value) && LeavesOthers(file, after, path)) return std::move(text);
  }
  return Refused(file, path, "has no place in this file that could be found");
}

Result<std::string> RemoveValue(const File& file, std::string_view path) {
  if (Status fit = WhyNotEdited(file); !fit) return tl::unexpected(fit.error());
  const Entry* entry = file.Find(path);
  if (entry == nullptr) return Fail(ErrorCode::kNotFound, file.path, fmt::format("{} is not set", path));
  if (entry->alias_line != 0 || entry->begin == 0) return Refused(file, path, "is set in another place");
  for (std::string& text : Removals(file, *entry)) {
    const File after = Parse(file.path, text, file.notation);
    if (after.Find(path) == nullptr && LeavesOthers(file, after, path)) return std::move(text);
  }
  return Refused(file, path, "cannot be taken out without a change to others");
}

}  // namespace vigil::configfile
