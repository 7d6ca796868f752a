#include "configfile/collect.h"

#include <algorithm>
#include <array>
#include <limits>

#include "catalogue/says.h"

namespace vigil::configfile {
namespace {

constexpr std::size_t kMostRemarks = 200;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && (IsDigit(text[at]) || text[at] == '_')) ++at;
  return at;
}

// Decimal digits with an optional fraction and exponent, and nothing else.
bool IsDecimal(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t whole = SkipDigits(text, at);
  const bool has_whole = whole > at && IsDigit(text[at]);
  at = whole;
  bool has_fraction = false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t end = SkipDigits(text, at + 1);
    has_fraction = end > at + 1;
    at = end;
  }
  if (!has_whole && !has_fraction) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at += at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 2 : 1;
    const std::size_t end = SkipDigits(text, at);
    if (end == at) return false;
    at = end;
  }
  return at == text.size();
}

std::optional<double> NotFinite(std::string_view text) {
  const std::string word = ToLower(text);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == ".inf" || word == "+.inf") return kInfinity;
  if (word == "-.inf") return -kInfinity;
  if (word == ".nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// YAML 1.1 takes an exponent only behind a point, and only with a sign: 1e-4 and 1.0e4 are text to it.
bool IsTextInYaml11(std::string_view number) {
  const std::size_t exponent = number.find_first_of("eE");
  if (exponent == std::string_view::npos || number.starts_with("0x")) return false;
  const bool has_point = number.substr(0, exponent).find('.') != std::string_view::npos;
  const bool has_sign = exponent + 1 < number.size() && (number[exponent + 1] == '-' || number[exponent + 1] == '+');
  return !has_point || !has_sign;
}

bool IsIn(std::string_view word, const std::array<std::string_view, 4>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Settings whose value is a template for the program itself, to be filled in with each sample.
bool HoldsTemplates(std::string_view path) {
  const std::string_view key = path.substr(path.rfind('.') + 1);
  return key.find("template") != std::string_view::npos || key.find("jinja") != std::string_view::npos ||
         key.find("prompt") != std::string_view::npos;
}

}  // namespace

Lines::Lines(std::string_view text) : begins_{0}, size_(text.size()) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    begins_.push_back(at + 1);
}

std::uint32_t Lines::LineOf(std::size_t offset) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return static_cast<std::uint32_t>(after - begins_.begin());
}

std::uint32_t Lines::ColumnOf(std::size_t offset) const {
  return static_cast<std::uint32_t>(offset - BeginOf(LineOf(offset)) + 1);
}

std::size_t Lines::BeginOf(std::uint32_t line) const {
  if (line == 0) return 0;
  return line <= begins_.size() ? begins_[line - 1] : size_;
}

std::optional<double> PlainNumber(std::string_view text) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const auto hex = ParseHex(text.substr(2));
    return hex ? std::optional(static_cast<double>(*hex)) : std::nullopt;
  }
  if (!IsDecimal(text)) return NotFinite(text);
  std::string digits(text);
  std::erase(digits, '_');
  return ParseNumber(digits);
}

void TypePlainYaml(Entry& entry) {
  constexpr std::array<std::string_view, 4> kYes = {"true", "yes", "on", ""};
  constexpr std::array<std::string_view, 4> kNo = {"false", "no", "off", ""};
  const std::string word = ToLower(entry.text);
  const bool mixed = word != entry.text && entry.text.size() > 1 &&
                     ToLower(entry.text.substr(1)) != entry.text.substr(1) &&
                     std::any_of(entry.text.begin(), entry.text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!word.empty() && !mixed && (IsIn(word, kYes) || IsIn(word, kNo))) {
    entry.kind = Kind::kTruth;
    entry.truth = IsIn(word, kYes);
    entry.differs_by_version = word != "true" && word != "false";
  } else if (const auto number = PlainNumber(entry.text)) {
    entry.kind = Kind::kNumber;
    entry.number = *number;
    entry.differs_by_version = IsTextInYaml11(entry.text);
  } else {
    entry.kind = Kind::kText;
  }
}

void TypePlainWord(Entry& entry) {
  const std::string word = ToLower(entry.text);
  entry.kind = Kind::kText;
  if (word == "true" || word == "false") {
    entry.kind = Kind::kTruth;
    entry.truth = word == "true";
  } else if (const auto number = PlainNumber(entry.text)) {
    entry.kind = Kind::kNumber;
    entry.number = *number;
  }
}

Open OpenIn(std::string_view text) {
  if (text.find("{{") != std::string_view::npos || text.find("{%") != std::string_view::npos) return Open::kTemplate;
  if (text.find("${") != std::string_view::npos || text.find("$(") != std::string_view::npos) return Open::kVariable;
  const bool name = text.size() > 1 && text[0] == '$' && text.find_first_of(" /") == std::string_view::npos;
  return name ? Open::kVariable : Open::kNo;
}

bool Collector::Add(Entry entry) {
  if (file_.entries.size() >= kMostEntries) {
    if (!full_)
      RemarkOnLine(RemarkKind::kPartly, entry.line, entry.column, {},
                   says::ConfigfileTooMany{.limit = static_cast<double>(kMostEntries)});
    full_ = true;
    return false;
  }
  if (entry.open == Open::kTemplate && entry.begin != 0 && HoldsTemplates(entry.path)) entry.open = Open::kNo;
  const auto [at, is_new] = by_path_.try_emplace(entry.path, file_.entries.size());
  if (!is_new) {
    const Entry& first = file_.entries[at->second];
    RemarkOnLine(RemarkKind::kDuplicate, entry.line, entry.column, entry.path,
                 says::ConfigfileDuplicate{.setting = entry.path, .line = static_cast<double>(first.line)});
    at->second = file_.entries.size();
    replaced_[entry.path] = file_.entries.size();
  }
  file_.entries.push_back(std::move(entry));
  return true;
}

void Collector::Remark(RemarkKind kind, std::size_t offset, std::string path, model::Statement says) {
  RemarkOnLine(kind, lines_.LineOf(offset), lines_.ColumnOf(offset), std::move(path), std::move(says));
}

void Collector::RemarkOnLine(RemarkKind kind, std::uint32_t line, std::uint32_t column, std::string path,
                             model::Statement says) {
  if (file_.remarks.size() >= kMostRemarks) return;
  file_.remarks.push_back({kind, std::move(path), line, column, std::move(says)});
}

void Collector::Place(Entry& entry) const {
  entry.line = lines_.LineOf(entry.begin);
  entry.column = lines_.ColumnOf(entry.begin);
}

bool Collector::IsReplaced(std::size_t index) const {
  std::string_view path = file_.entries[index].path;
  for (;;) {
    const auto at = replaced_.find(path);
    if (at != replaced_.end() && index < at->second) return true;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return false;
    path = path.substr(0, dot);
  }
}

void Collector::Finish() {
  if (!replaced_.empty()) {
    std::vector<Entry> kept;
    kept.reserve(file_.entries.size());
    for (std::size_t i = 0; i < file_.entries.size(); ++i) {
      if (!IsReplaced(i)) kept.push_back(std::move(file_.entries[i]));
    }
    file_.entries = std::move(kept);
  }
  for (const Entry& entry : file_.entries) {
    if (entry.open == Open::kNo || entry.open == Open::kSubstituted) continue;
    const model::Quote value(entry.text, file_.path, entry.line);
    model::Statement says = says::ConfigfileTemplate{.setting = entry.path, .value = value};
    if (entry.open == Open::kVariable) says = says::ConfigfileVariable{.setting = entry.path, .value = value};
    if (entry.open == Open::kInclude) says = says::ConfigfileInclude{.setting = entry.path, .value = value};
    RemarkOnLine(RemarkKind::kOpen, entry.line, entry.column, entry.path, std::move(says));
  }
}

std::string Kept(std::string_view value) { return Printable(value.substr(0, kLongestValue)); }

std::string Below(std::string_view above, std::string_view key) {
  std::string path(above);
  if (!path.empty()) path += '.';
  return path += Printable(key.substr(0, 256));
}

}  // namespace vigil::configfile
