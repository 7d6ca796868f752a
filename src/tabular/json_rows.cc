#include "tabular/json_rows.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/base.h"

namespace vigil::tabular {
namespace {

using codec::JsonToken;

// Longer than any number is written; a longer string is text.
constexpr std::size_t kLongestQuotedNumber = 40;

// Cheap no to names, prose and durations ("0:01:23").
bool MayBeNumber(std::string_view text) {
  return text.size() <= kLongestQuotedNumber &&
         text.find_first_not_of("0123456789+-.,eE nNaAiIfFtTyY") == std::string_view::npos;
}

// Names under which trainers log a hash of a step's data.
bool NamesFingerprints(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"batch",     "batch_hash", "batch_fingerprint",
                                                      "data_hash", "batch_id",   "data_fingerprint"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Eight hexadecimal digits or more; of a longer hash the first 64 bits.
std::optional<std::uint64_t> FingerprintOf(std::string_view text) {
  constexpr std::size_t kFewestDigits = 8;
  constexpr std::size_t kDigitsKept = 16;
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() < kFewestDigits || text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return std::nullopt;
  text = text.substr(0, kDigitsKept);
  std::uint64_t hash = 0;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  return hash;
}

// Wrappers that hold the metrics of a row and say nothing themselves (verl: {"step": 1, "data": {...}}).
bool IsWrapper(std::string_view key) { return key == "data" || key == "metrics"; }

Columns::LongPart LongPartOf(std::string_view key) {
  using Part = Columns::LongPart;
  constexpr std::array<std::string_view, 5> kNames = {"name", "metric", "tag", "metric_name", "key"};
  if (key == "value") return Part::kValue;
  if (key == "variant") return Part::kVariant;
  return std::find(kNames.begin(), kNames.end(), key) == kNames.end() ? Part::kNone : Part::kName;
}

std::string IndexKey(Columns::Id parent, std::string_view key) {
  std::string index(key);
  index += '\x1f';
  index += std::to_string(parent);
  return index;
}

}  // namespace

Columns::Columns() { nodes_.emplace_back(); }

Columns::Id Columns::TakeFollower(codec::JsonScanner& scanner, Id parent) {
  const Node& latest = nodes_[latest_];
  if (latest.follower == kNone || nodes_[latest.follower].parent != parent) return kNone;
  if (!scanner.TakeKey(latest.follower_text)) return kNone;
  return latest_ = latest.follower;
}

void Columns::LearnFollower(const codec::JsonScanner& scanner) {
  nodes_[before_latest_].follower = latest_;
  scanner.CopyKeyText(nodes_[before_latest_].follower_text);
}

Columns::Id Columns::Move(Id to) {
  before_latest_ = latest_;
  return latest_ = to;
}

Columns::Id Columns::Find(Id parent, std::string_view key) {
  if (key.size() > kLongestKey) return kNone;
  std::string index = IndexKey(parent, key);
  if (const auto at = ids_.find(index); at != ids_.end()) return Move(at->second);
  const Id added = Add(parent, key, std::move(index));
  return added == kNone ? kNone : Move(added);
}

Columns::Id Columns::FindAside(std::string_view name) {
  if (name.size() > kLongestKey) return kNone;
  std::string index = IndexKey(kRoot, name);
  if (const auto at = ids_.find(index); at != ids_.end()) return at->second;
  return Add(kRoot, name, std::move(index));
}

Columns::Id Columns::Add(Id parent, std::string_view key, std::string index) {
  full_ = nodes_.size() >= kMostColumns;
  if (full_) return kNone;
  Node node;
  node.key = std::string(key);
  node.parent = parent;
  node.name = nodes_[parent].name;
  if (parent != kRoot || !IsWrapper(key)) {
    if (!node.name.empty()) node.name += '/';
    node.name += Printable(codec::UnescapeJson(key));
  }
  node.holds_fingerprints = NamesFingerprints(node.name);
  if (parent == kRoot) node.long_part = LongPartOf(key);
  const auto id = static_cast<Id>(nodes_.size());
  nodes_.push_back(std::move(node));
  ids_.emplace(std::move(index), id);
  return id;
}

void RowReader::Begin(std::uint32_t lines_before) {
  lines_before_ = lines_before;
  cells_.clear();
  path_.assign(1, Columns::kRoot);
  skip_to_depth_ = kNotSkipping;
  text_bytes_ = 0;
  fingerprint_.reset();
  long_name_.clear();
  long_variant_.clear();
}

JsonToken RowReader::Read(codec::JsonScanner& scanner) {
  for (;;) {
    if (skip_to_depth_ != kNotSkipping) {
      const JsonToken ended = scanner.SkipTo(skip_to_depth_);
      if (ended >= JsonToken::kNeedMore) return ended;
      skip_to_depth_ = kNotSkipping;
    }
    if (const Columns::Id known = columns_.TakeFollower(scanner, path_.back()); known != Columns::kNone) {
      column_ = known;
      if (scanner.TakeNumber()) {
        cells_.push_back({column_, lines_before_ + scanner.line(), false, scanner.number()});
        continue;
      }
    }
    switch (const JsonToken token = scanner.Next()) {
      case JsonToken::kKey:
        FindColumn(scanner);
        break;
      case JsonToken::kNumber:
        AddCell(scanner, false, scanner.number());
        break;
      case JsonToken::kNull:
        AddCell(scanner, true, 0);
        break;
      case JsonToken::kString:
        TakeString(scanner);
        break;
      case JsonToken::kObjectBegin:
        EnterObject(scanner);
        break;
      case JsonToken::kArrayBegin:
        skip_to_depth_ = scanner.depth() - 1;
        break;
      case JsonToken::kObjectEnd:
        path_.pop_back();
        if (!path_.empty()) break;
        if (!long_name_.empty()) NameValue();
        return token;
      case JsonToken::kNeedMore:
      case JsonToken::kEnd:
      case JsonToken::kBroken:
        return token;
      case JsonToken::kArrayEnd:
      case JsonToken::kTrue:
      case JsonToken::kFalse:
        break;
    }
  }
}

void RowReader::FindColumn(const codec::JsonScanner& scanner) {
  column_ = columns_.Find(path_.back(), scanner.text());
  if (column_ != Columns::kNone) columns_.LearnFollower(scanner);
}

void RowReader::AddCell(const codec::JsonScanner& scanner, bool is_null, double value) {
  if (column_ == Columns::kNone) return;
  cells_.push_back({column_, lines_before_ + scanner.line(), is_null, value});
}

void RowReader::TakeString(const codec::JsonScanner& scanner) {
  const std::string_view text = scanner.text();
  if (column_ != Columns::kNone && columns_.HoldsFingerprints(column_)) {
    if (const auto hash = FingerprintOf(text)) {
      fingerprint_ = hash;
      return;
    }
  }
  const auto number = MayBeNumber(text) ? ParseNumber(text) : std::nullopt;
  if (number) return AddCell(scanner, false, *number);
  text_bytes_ += text.size();
  if (column_ == Columns::kNone || text.size() > Columns::kLongestKey) return;
  const Columns::LongPart part = columns_.long_part(column_);
  if (part == Columns::LongPart::kName) long_name_ = std::string(text);
  if (part == Columns::LongPart::kVariant) long_variant_ = std::string(text);
}

// The value goes to the column of the metric that the row names.
void RowReader::NameValue() {
  for (Cell& cell : cells_) {
    if (columns_.long_part(cell.column) != Columns::LongPart::kValue) continue;
    if (!long_variant_.empty()) long_name_ += "/" + long_variant_;
    const Columns::Id metric = columns_.FindAside(long_name_);
    if (metric != Columns::kNone) cell.column = metric;
    return;
  }
}

void RowReader::EnterObject(const codec::JsonScanner& scanner) {
  if (path_.size() < kMaxNesting && column_ != Columns::kNone) {
    path_.push_back(column_);
  } else {
    skip_to_depth_ = scanner.depth() - 1;
  }
}

}  // namespace vigil::tabular
