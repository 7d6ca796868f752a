#include "configfile/shell_words.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace vigil::configfile {
namespace {

constexpr std::size_t kMostWords = 20'000;

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Variable {
  std::string value;
  std::uint32_t line = 0;
  bool is_known = true;  // set once, to a plain value
};

class Splitter {
 public:
  explicit Splitter(std::string_view script) : script_(script) {}

  std::vector<ShellCommand> Run() {
    while (at_ < script_.size() && count_ < kMostWords) Step();
    EndCommand();
    return std::move(commands_);
  }

 private:
  void Step() {
    const char c = script_[at_];
    if (c == '\\' && at_ + 1 < script_.size() && (script_[at_ + 1] == '\n' || script_.substr(at_ + 1, 2) == "\r\n")) {
      at_ = script_.find('\n', at_) + 1;
      ++line_;
    } else if (c == '\n' || c == ';' || c == '|' || (c == '&' && !InRedirect())) {
      EndCommand();
      line_ += c == '\n' ? 1U : 0U;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(script_.find('\n', at_), script_.size());
    } else {
      TakeWord();
    }
  }

  bool InRedirect() const { return at_ > 0 && script_[at_ - 1] == '>'; }

  void EndCommand() {
    if (!command_.words.empty()) commands_.push_back(std::move(command_));
    command_ = {};
  }

  void TakeWord() {
    Word word;
    word.begin = at_;
    word.quoted = script_[at_] == '"' || script_[at_] == '\'';
    while (at_ < script_.size() && !EndsWord(script_[at_])) TakePart(word);
    word.end = at_;
    ++count_;
    if (!Assign(word)) command_.words.push_back(std::move(word));
  }

  static bool EndsWord(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';' || c == '|' || c == '&';
  }

  void TakePart(Word& word) {
    const char c = script_[at_];
    if (c == '\'') return TakeSingleQuoted(word);
    if (c == '"') return TakeDoubleQuoted(word);
    if (c == '$') return TakeVariable(word);
    if (c == '\\' && at_ + 1 < script_.size()) {
      ++at_;
      if (script_[at_] == '\n') {
        ++line_;
        ++at_;
        return;
      }
    }
    word.text += script_[at_++];
  }

  void TakeSingleQuoted(Word& word) {
    const std::size_t close = std::min(script_.find('\'', at_ + 1), script_.size());
    const std::string_view inner = script_.substr(at_ + 1, close - at_ - 1);
    word.text += inner;
    line_ += static_cast<std::uint32_t>(std::count(inner.begin(), inner.end(), '\n'));
    at_ = std::min(close + 1, script_.size());
  }

  void TakeDoubleQuoted(Word& word) {
    ++at_;
    while (at_ < script_.size() && script_[at_] != '"') {
      if (script_[at_] == '$') {
        TakeVariable(word);
        continue;
      }
      if (script_[at_] == '\\' && at_ + 1 < script_.size()) ++at_;
      line_ += script_[at_] == '\n' ? 1U : 0U;
      word.text += script_[at_++];
    }
    at_ = std::min(at_ + 1, script_.size());
  }

  // $NAME, ${NAME}, ${NAME:-default}, $(command).
  void TakeVariable(Word& word) {
    const std::size_t begin = at_++;
    std::string name;
    if (at_ < script_.size() && (script_[at_] == '{' || script_[at_] == '(')) {
      const char close = script_[at_] == '{' ? '}' : ')';
      const std::size_t end = script_.find(close, at_);
      const std::size_t line_end = std::min(script_.find('\n', at_), script_.size());
      if (end == std::string_view::npos || end > line_end) {
        word.text += '$';
        word.has_variable = true;
        return;
      }
      if (close == '}') name = script_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    } else {
      while (at_ < script_.size() && IsNameChar(script_[at_])) name += script_[at_++];
    }
    const auto known = variables_.find(name);
    if (known != variables_.end() && known->second.is_known) {
      word.text += known->second.value;
      word.set_on_line = known->second.line;
    } else {
      word.text += script_.substr(begin, at_ - begin);
      word.has_variable = true;
    }
  }

  // NAME=value before a command is a variable; one that is set twice, or to what is not plain, is not known.
  bool Assign(const Word& word) {
    const bool is_first = command_.words.empty() || command_.words.front().text == "export";
    const std::size_t equals = word.text.find('=');
    if (!is_first || equals == std::string::npos || equals == 0) return false;
    const std::string name = word.text.substr(0, equals);
    if (!std::all_of(name.begin(), name.end(), IsNameChar)) return false;
    const auto [at, is_new] =
        variables_.try_emplace(name, Variable{word.text.substr(equals + 1), line_, !word.has_variable});
    if (!is_new) at->second.is_known = false;
    return true;
  }

  std::string_view script_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t count_ = 0;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::map<std::string, Variable> variables_;
};

}  // namespace

std::vector<ShellCommand> ShellCommands(std::string_view script) { return Splitter(script).Run(); }

}  // namespace vigil::configfile
