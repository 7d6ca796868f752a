#include "codec/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/base.h"
#include "codec/pickle_text.h"

namespace vigil::codec::pickle {
namespace {

constexpr std::size_t kMostSteps = 2'000'000;
constexpr std::size_t kMostValues = 1'000'000;
constexpr std::size_t kMostItems = 4'000'000;  // in all lists together
// Names are made of texts that may be used again and again: no module of python has a longer one.
constexpr std::size_t kLongestName = 1000;
constexpr std::size_t kMostNameBytes = std::size_t{64} << 20U;  // of all names and objects together

// Opcodes by their letter, as the pickle module names them.
enum Op : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kFloat = 'F',
  kInt = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kLong = 'L',
  kBinInt2 = 'M',
  kNoneOp = 'N',
  kPersId = 'P',
  kBinPersId = 'Q',
  kReduce = 'R',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kInst = 'i',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kObj = 'o',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  kProto = 0x80,
  kNewObj = 0x81,
  kExt1 = 0x82,
  kExt2 = 0x83,
  kExt4 = 0x84,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadOnlyBuffer = 0x98,
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Document Run() {
    std::size_t steps = 0;
    while (!stopped_ && document_.problem.empty()) {
      if (++steps > kMostSteps || document_.values.size() > kMostValues || items_ > kMostItems ||
          name_bytes_ > kMostNameBytes) {
        Break("larger than settings can be");
      } else if (at_ >= bytes_.size()) {
        Break("ends before its end mark");
      } else {
        Step(static_cast<unsigned char>(bytes_[at_++]));
      }
    }
    document_.size_bytes = at_;
    return std::move(document_);
  }

 private:
  static constexpr Index kMarkIndex = kNone - 1;  // on the stack: a mark

  void Break(std::string_view why) {
    if (document_.problem.empty()) document_.problem = fmt::format("byte {}: {}", at_, why);
  }

  // ---- bytes of an opcode's argument

  std::string_view Take(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      Break("ends inside a value");
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return taken;
  }

  std::uint64_t TakeNumber(std::size_t size) {
    std::uint64_t value = 0;
    const std::string_view digits = Take(size);
    for (std::size_t i = digits.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(digits[i]);
    return value;
  }

  std::string_view TakeLine() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) {
      Break("ends inside a line");
      return {};
    }
    const std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  // ---- values and the stack

  Index Add(Value value) {
    document_.values.push_back(std::move(value));
    return static_cast<Index>(document_.values.size() - 1);
  }
  void Push(Value value) { stack_.push_back(Add(std::move(value))); }
  void PushNothing() { Push({}); }
  void PushText(std::string_view text) {
    Value value;
    value.kind = Kind::kText;
    value.text = std::string(text);
    Push(std::move(value));
  }
  void PushWhole(std::int64_t whole) {
    Value value;
    value.kind = Kind::kWhole;
    value.whole = whole;
    Push(std::move(value));
  }
  void PushNumber(double number) {
    Value value;
    value.kind = Kind::kNumber;
    value.number = number;
    Push(std::move(value));
  }
  void PushTruth(bool truth) {
    Value value;
    value.kind = Kind::kTruth;
    value.truth = truth;
    Push(std::move(value));
  }
  void PushGroup(Kind kind, std::vector<Index> items) {
    items_ += items.size();
    Value value;
    value.kind = kind;
    value.items = std::move(items);
    Push(std::move(value));
  }
  void PushName(std::string_view module, std::string_view name) {
    if (module.size() + name.size() > kLongestName) return Break("imports by a name that is no name");
    Value value;
    value.kind = Kind::kName;
    value.text = fmt::format("{}.{}", module, name);
    name_bytes_ += value.text.size();
    if (document_.names.size() < 1000 && known_names_.insert(value.text).second) document_.names.push_back(value.text);
    Push(std::move(value));
  }

  // The value on top, taken off; a value that is not there is nothing.
  Index Pop() {
    if (stack_.empty() || stack_.back() == kMarkIndex) {
      Break("takes a value that is not there");
      return Add({});
    }
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Index Top() {
    const Index top = Pop();
    stack_.push_back(top);
    return top;
  }
  std::vector<Index> PopToMark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMarkIndex);
    if (mark == stack_.rend()) {
      Break("misses a mark");
      return {};
    }
    std::vector<Index> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }
  std::vector<Index> PopSome(std::size_t count) {
    std::vector<Index> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = Pop();
    return items;
  }

  void Extend(Index list, const std::vector<Index>& items) {
    items_ += items.size();
    auto& into = document_.values[list].items;
    into.insert(into.end(), items.begin(), items.end());
  }

  // A text that is called is no name, and may be as long as the file.
  bool IsCallable(Index callee) const {
    const Kind kind = document_.values[callee].kind;
    return kind == Kind::kName || kind == Kind::kObject;
  }

  // What a call would make: kept by the name of what is called.
  void PushObject(Index callee, Index arguments) {
    Value value;
    value.kind = Kind::kObject;
    if (IsCallable(callee)) value.text = document_.values[callee].text;
    name_bytes_ += value.text.size();
    if (document_.values[arguments].kind == Kind::kList) value.items = document_.values[arguments].items;
    items_ += value.items.size();
    Push(std::move(value));
  }

  void Remember(std::uint64_t slot) { memo_[slot] = Top(); }
  void Recall(std::uint64_t slot) {
    const auto at = memo_.find(slot);
    if (at == memo_.end()) {
      Break("recalls what was not kept");
    } else {
      stack_.push_back(at->second);
    }
  }

  void PushLong(std::string_view digits) {
    if (digits.size() > 8) return PushNothing();
    std::uint64_t value = 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(digits[i]);
    const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0;
    if (negative && digits.size() < 8) value |= ~std::uint64_t{0} << (8 * digits.size());
    PushWhole(static_cast<std::int64_t>(value));
  }

  // A whole number in a line. Protocol 0 has no truth values: INT writes them as 00 and 01, which no number is.
  void PushWholeLine(bool may_be_truth) {
    const std::string_view line = TakeLine();
    if (may_be_truth && (line == "01" || line == "00")) return PushTruth(line == "01");
    const auto value = ParseInteger(line.ends_with('L') ? line.substr(0, line.size() - 1) : line);
    return value ? PushWhole(*value) : PushNothing();
  }

  void PushNumberLine() {
    const auto value = ParseNumber(TakeLine());
    return value ? PushNumber(*value) : PushNothing();
  }

  void PushBigEndianDouble() {
    std::uint64_t bits = 0;
    for (const char c : Take(8)) bits = (bits << 8U) | static_cast<unsigned char>(c);
    PushNumber(std::bit_cast<double>(bits));
  }

  void Step(unsigned char op) {
    if (!StepText(op) && !StepPlain(op) && !StepGroup(op) && !StepName(op) && !StepObject(op) && !StepOutside(op) &&
        !StepMemo(op))
      Break(fmt::format("opcode {:#x} is none of a pickle", op));
  }

  bool StepText(unsigned char op) {
    switch (op) {
      case kString:
        return PushText(FromQuoted(TakeLine())), true;
      case kUnicode:
        return PushText(FromRawUnicodeEscape(TakeLine())), true;
      case kShortBinString:
      case kShortBinBytes:
      case kShortBinUnicode:
        return PushText(Take(TakeNumber(1))), true;
      case kBinString:
      case kBinBytes:
      case kBinUnicode:
        return PushText(Take(TakeNumber(4))), true;
      case kBinUnicode8:
      case kBinBytes8:
      case kByteArray8:
        return PushText(Take(TakeNumber(8))), true;
      default:
        return false;
    }
  }

  bool StepPlain(unsigned char op) {
    switch (op) {
      case kNoneOp:
        return PushNothing(), true;
      case kNewTrue:
      case kNewFalse:
        return PushTruth(op == kNewTrue), true;
      case kInt:
      case kLong:
        return PushWholeLine(op == kInt), true;
      case kFloat:
        return PushNumberLine(), true;
      case kBinInt1:
        return PushWhole(static_cast<std::int64_t>(TakeNumber(1))), true;
      case kBinInt2:
        return PushWhole(static_cast<std::int64_t>(TakeNumber(2))), true;
      case kBinInt:
        return PushWhole(static_cast<std::int32_t>(TakeNumber(4))), true;
      case kLong1:
        return PushLong(Take(TakeNumber(1))), true;
      case kLong4:
        return PushLong(Take(TakeNumber(4))), true;
      case kBinFloat:
        return PushBigEndianDouble(), true;
      case kProto:
        return Take(1), true;
      case kFrame:
        return Take(8), true;
      case kNextBuffer:
        return PushNothing(), true;
      case kReadOnlyBuffer:
        return true;
      default:
        return false;
    }
  }

  bool StepGroup(unsigned char op) {
    switch (op) {
      case kMark:
        return stack_.push_back(kMarkIndex), true;
      case kPop:
        if (!stack_.empty()) stack_.pop_back();
        return true;
      case kPopMark:
        return PopToMark(), true;
      case kDup:
        return stack_.push_back(Top()), true;
      case kEmptyList:
      case kEmptyTuple:
      case kEmptySet:
        return PushGroup(Kind::kList, {}), true;
      case kEmptyDict:
        return PushGroup(Kind::kDict, {}), true;
      case kList:
      case kTuple:
      case kFrozenSet:
        return PushGroup(Kind::kList, PopToMark()), true;
      case kDict:
        return PushGroup(Kind::kDict, PopToMark()), true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return PushGroup(Kind::kList, PopSome(1U + op - kTuple1)), true;
      case kAppend:
        return ExtendTop(PopSome(1)), true;
      case kSetItem:
        return ExtendTop(PopSome(2)), true;
      case kAppends:
      case kAddItems:
      case kSetItems:
        return ExtendTop(PopToMark()), true;
      default:
        return false;
    }
  }

  void ExtendTop(const std::vector<Index>& items) { Extend(Top(), items); }

  // What names a class or a function.
  bool StepName(unsigned char op) {
    switch (op) {
      case kGlobal: {
        const std::string_view module = TakeLine();
        return PushName(module, TakeLine()), true;
      }
      case kStackGlobal: {
        const auto words = PopSome(2);
        const std::string module = document_.values[words[0]].text;
        const std::string name = document_.values[words[1]].text;
        return PushName(module, name), true;
      }
      case kInst: {
        const std::string_view module = TakeLine();
        PushName(module, TakeLine());
        const Index callee = Pop();
        PushGroup(Kind::kList, PopToMark());
        return PushObject(callee, Pop()), true;
      }
      default:
        return false;
    }
  }

  // What would make an object of it.
  bool StepObject(unsigned char op) {
    switch (op) {
      case kReduce:
      case kNewObj: {
        const Index arguments = Pop();
        return PushObject(Pop(), arguments), true;
      }
      case kNewObjEx: {
        Pop();
        const Index arguments = Pop();
        return PushObject(Pop(), arguments), true;
      }
      case kObj: {
        auto items = PopToMark();
        if (items.empty()) return Break("misses a class"), true;
        const Index callee = items.front();
        items.erase(items.begin());
        PushGroup(Kind::kList, std::move(items));
        return PushObject(callee, Pop()), true;
      }
      case kBuild: {
        const Index state = Pop();
        document_.values[Top()].state = state;
        return true;
      }
      default:
        return false;
    }
  }

  // What stands for something outside, and the end.
  bool StepOutside(unsigned char op) {
    switch (op) {
      case kPersId:
        return TakeLine(), PushNothing(), true;
      case kBinPersId:
        return Pop(), PushNothing(), true;
      case kExt1:
        return Take(1), PushNothing(), true;
      case kExt2:
        return Take(2), PushNothing(), true;
      case kExt4:
        return Take(4), PushNothing(), true;
      case kStop:
        document_.root = Pop();
        stopped_ = true;
        return true;
      default:
        return false;
    }
  }

  bool StepMemo(unsigned char op) {
    switch (op) {
      case kPut:
      case kGet: {
        const auto slot = ParseInteger(TakeLine());
        if (!slot || *slot < 0) return Break("has a slot that is no number"), true;
        op == kPut ? Remember(static_cast<std::uint64_t>(*slot)) : Recall(static_cast<std::uint64_t>(*slot));
        return true;
      }
      case kBinPut:
        return Remember(TakeNumber(1)), true;
      case kLongBinPut:
        return Remember(TakeNumber(4)), true;
      case kMemoize:
        return Remember(memo_.size()), true;
      case kBinGet:
        return Recall(TakeNumber(1)), true;
      case kLongBinGet:
        return Recall(TakeNumber(4)), true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  std::size_t items_ = 0;
  std::size_t name_bytes_ = 0;
  std::unordered_set<std::string> known_names_;
  Document document_;
  std::vector<Index> stack_;
  std::unordered_map<std::uint64_t, Index> memo_;
};

}  // namespace

Document Parse(std::string_view bytes) { return Machine(bytes).Run(); }

bool IsDangerous(std::string_view name) {
  constexpr std::array<std::string_view, 22> kModules = {
      "os",   "posix",  "nt",  "subprocess", "sys", "socket", "shutil",   "pty",     "runpy", "importlib", "ctypes",
      "code", "timeit", "pdb", "webbrowser", "bdb", "pip",    "commands", "asyncio", "http",  "urllib",    "requests"};
  constexpr std::array<std::string_view, 12> kBuiltins = {"eval",       "exec",    "compile", "open",
                                                          "__import__", "getattr", "setattr", "globals",
                                                          "locals",     "vars",    "input",   "breakpoint"};
  const std::string_view package = name.substr(0, name.find('.'));
  const std::string_view rest = name.substr(std::min(name.size(), package.size() + 1));
  if (package == "builtins" || package == "__builtin__")
    return std::find(kBuiltins.begin(), kBuiltins.end(), rest) != kBuiltins.end();
  return std::find(kModules.begin(), kModules.end(), package) != kModules.end();
}

}  // namespace vigil::codec::pickle
