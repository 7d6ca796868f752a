// Names of metrics taken apart by the words of rows/name_parts.toml.
#include <algorithm>
#include <unordered_map>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

// No name of a metric is longer; a sentence is none.
constexpr std::size_t kMostWords = 12;

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// '@' and '%' are part of words: "acc@1", "mfu(%)".
bool IsOfWord(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c) || c == '@' || c == '%'; }

// "GradNorm" is two words, "LR" one: a capital begins a word behind a small letter, and before one.
bool BeginsWord(std::string_view text, std::size_t at) {
  if (!IsUpper(text[at]) || at == 0) return false;
  if (text[at] == 'B' && text[at - 1] == 'i') return false;  // "GiB"
  if (IsLower(text[at - 1])) return true;
  return IsUpper(text[at - 1]) && at + 1 < text.size() && IsLower(text[at + 1]);
}

// "training's l2": the s of a possessive.
bool IsPossessive(std::string_view text, std::size_t at) {
  return text[at] == 's' && at > 1 && text[at - 1] == '\'' && (at + 1 == text.size() || !IsOfWord(text[at + 1]));
}

std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!IsOfWord(name[i]) || IsPossessive(name, i)) {
      inside = false;
      continue;
    }
    if (!inside || BeginsWord(name, i)) words.emplace_back();
    inside = true;
    words.back() += IsUpper(name[i]) ? static_cast<char>(name[i] | 0x20) : name[i];
  }
  return words;
}

// Built once, from constant rows, and never changed.
const NamePartRow* FindPart(std::string_view word) {
  static const auto parts = [] {
    std::unordered_map<std::string_view, const NamePartRow*> built;
    for (const NamePartRow& row : NameParts()) {
      for (const std::string_view one : row.words) built.emplace(one, &row);
    }
    return built;
  }();
  const auto at = parts.find(word);
  return at == parts.end() ? nullptr : at->second;
}

bool IsKind(std::string_view word, std::string_view kind) {
  const NamePartRow* const part = FindPart(word);
  return part != nullptr && part->kind == kind;
}

std::string JoinWords(const std::vector<std::string>& words) { return Join(words, "_"); }

void AddStem(const std::vector<std::string>& words, SplitName& split) {
  std::string stem = JoinWords(words);
  if (!stem.empty() && std::find(split.stems.begin(), split.stems.end(), stem) == split.stems.end())
    split.stems.push_back(std::move(stem));
}

void Drop(std::string_view kind, std::vector<std::string>& words) {
  std::erase_if(words, [&](const std::string& word) { return IsKind(word, kind); });
}

// "valid_1's l2", "validation_0-rmse": which of several data sets it was. A number that is all that is left stays.
void DropNumberOfSplit(std::size_t at, std::vector<std::string>& words) {
  if (at + 1 >= words.size() || !std::all_of(words[at].begin(), words[at].end(), IsDigit)) return;
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
}

void TakeSplit(std::vector<std::string>& words, SplitName& split) {
  const auto take = [&](const std::string& word) {
    const NamePartRow* const part = FindPart(word);
    if (part == nullptr || part->kind != "split") return false;
    (part->id == "eval" ? split.is_eval : split.is_train) = true;
    return true;
  };
  // At either end: "train/loss", "Loss/val". Behind a place, too: "metrics/val/loss", "val/metrics/eval/loss".
  for (std::size_t front = 0; front < words.size();) {
    if (IsKind(words[front], "place")) {
      ++front;
      continue;
    }
    if (!take(words[front])) break;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(front));
    DropNumberOfSplit(front, words);
  }
  // "Loss/val/mean": what was averaged stands behind the split.
  std::size_t back = words.size();
  while (back > 0 && (IsKind(words[back - 1], "average") || IsKind(words[back - 1], "interval"))) --back;
  for (; back > 1 && take(words[back - 1]); --back) words.erase(words.begin() + static_cast<std::ptrdiff_t>(back) - 1);
}

void TakeUnit(std::vector<std::string>& words, SplitName& split) {
  if (words.empty()) return;
  const NamePartRow* const part = FindPart(words.back());
  if (part == nullptr || part->kind != "unit") return;
  // A column named "sec" holds times; one letter alone may be anything.
  const bool names_time = part->id == "s" && words.back().size() > 1;
  if (words.size() == 1 && !names_time) return;
  split.quantity = part->quantity;
  split.unit_factor = part->factor;
  words.pop_back();
  if (words.size() > 1 && words.back() == "in") words.pop_back();
}

void TakeQuantity(std::vector<std::string>& words, SplitName& split) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    const NamePartRow* const part = FindPart(*word);
    if (part == nullptr || part->kind != "quantity" || (!split.quantity.empty() && split.quantity != part->id))
      continue;
    split.quantity = part->id;
    words.erase(word);
    return;
  }
}

}  // namespace

SplitName TakeApart(std::string_view raw_name) {
  SplitName split;
  std::vector<std::string> words = WordsOf(raw_name);
  // "eval__loss": something is missing between the parts, and what it was decides.
  const bool has_gap = raw_name.find("__") != std::string_view::npos;
  if (words.empty() || words.size() > kMostWords || has_gap) return split;
  TakeSplit(words, split);
  TakeUnit(words, split);
  TakeQuantity(words, split);
  // A word may be part of the stem in one name and say nothing in another: all of them first, then fewer.
  AddStem(words, split);
  Drop("place", words);
  AddStem(words, split);
  Drop("average", words);
  AddStem(words, split);
  Drop("interval", words);
  AddStem(words, split);
  // Nothing is left of "time": the quantity itself is the name.
  // "train_time" is mostly that of the whole training.
  if (split.stems.empty() && !split.quantity.empty() && !split.is_train) split.stems.push_back(split.quantity);
  return split;
}

}  // namespace vigil::catalogue
