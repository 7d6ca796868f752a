#include "textlog/field_names.h"

#include <array>

#include "base/base.h"
#include "textlog/fields.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestName = 64;

bool IsNameStart(char c) { return IsLetter(c) || c == '_'; }

// "loss[loss=2.8, over 640 frames], tot_loss[loss=4.3, ...]": a group in brackets repeats the end of its own name.
std::string_view GroupOf(std::string_view name) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos || open == 0) return name;
  const std::string_view group = name.substr(0, open);
  const std::string_view member = name.substr(open + 1);
  const bool repeats = !member.empty() && member.size() <= group.size() &&
                       EqualsIgnoringCase(group.substr(group.size() - member.size()), member);
  return repeats ? group : name;
}

}  // namespace

std::string_view LastWord(std::string_view name) {
  const std::size_t space = name.find_last_of(" [(");
  return space == std::string_view::npos ? name : name.substr(space + 1);
}

std::string_view NameIn(std::string_view text) {
  while (!text.empty() && !IsNameStart(text.front())) text.remove_prefix(1);
  const std::string_view with_sign = Trim(text.substr(0, text.find_last_not_of(" \t[(") + 1));
  const char sign = with_sign.empty() ? ' ' : with_sign.back();
  while (!text.empty() && std::string_view(" \t:=\"'[(~*`>#").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  // "train_loss -> 1.37": the sign is no part of the name.
  if (sign == '>' && text.ends_with('-')) text = Trim(text.substr(0, text.size() - 1));
  // "loss is: 2.3" names its value.
  constexpr std::string_view kVerb = " is";
  if (text.ends_with(kVerb) && (sign == ':' || sign == '=')) text.remove_suffix(kVerb.size());
  if (const std::size_t wide = text.rfind("  "); wide != std::string_view::npos) text = text.substr(wide + 2);
  while (!text.empty() && !IsNameStart(text.front())) text.remove_prefix(1);
  if (text.find('=') != std::string_view::npos || text.find(": ") != std::string_view::npos) text = LastWord(text);
  // "train.py] [120] loss=2.3": what stands before a closing bracket is no name of the number.
  if (const std::size_t bracket = text.rfind(']'); bracket != std::string_view::npos) {
    text = text.substr(bracket + 1);
    while (!text.empty() && !IsNameStart(text.front())) text.remove_prefix(1);
  }
  // "metric 'epoch_loss", "val_loss' reached": what is quoted is the name. "valid_0's l2" quotes nothing.
  if (const std::size_t quote = text.find('\''); quote != std::string_view::npos) {
    const std::string_view behind = text.substr(quote + 1);
    if (quote > 0 && behind.starts_with("s ")) return text.size() > kLongestName ? std::string_view() : text;
    text = !behind.empty() && IsNameStart(behind.front()) ? behind : text.substr(0, quote);
  }
  return text.size() > kLongestName ? std::string_view() : GroupOf(text);
}

std::string_view InsideBracket(std::string_view name) {
  const std::size_t open = name.find_last_of("[(");
  if (open == std::string_view::npos || open == 0 || name[open - 1] != ' ') return name;
  return name.find_first_of("])", open) == std::string_view::npos ? name.substr(open + 1) : name;
}

std::string_view WithoutVerb(std::string_view name) {
  constexpr std::array<std::string_view, 2> kEnds = {" is", " so far"};
  for (const std::string_view end : kEnds) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  return name == "is" ? std::string_view() : name;
}

}  // namespace vigil::textlog
