#include "import/log/arguments.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "import/log/line.h"

namespace vigil::import::log {
namespace {

constexpr std::size_t kMostFacts = 1024;
constexpr std::size_t kLongestValue = 256;
constexpr std::size_t kLongestDump = 1000;  // lines

// Words of announcements ("  Num Epochs = 3") and the settings they state.
struct Statement {
  std::string_view words;
  std::string_view key;
};
constexpr std::array<Statement, 9> kStatements = {{
    {"num examples", "num_examples"},
    {"num epochs", "num_train_epochs"},
    {"instantaneous batch size per device", "per_device_train_batch_size"},
    {"batch size per device", "per_device_train_batch_size"},
    {"gradient accumulation steps", "gradient_accumulation_steps"},
    {"total optimization steps", "max_steps"},
    {"total steps", "max_steps"},
    {"number of trainable parameters", "trainable_parameters"},
    {"trainable parameters", "trainable_parameters"},
}};

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && (IsLetter(text[0]) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-'; });
}

std::string_view Unquoted(std::string_view value) {
  value = Trim(value);
  if (value.ends_with(',')) value.remove_suffix(1);
  const bool quoted = value.size() >= 2 && (value[0] == '\'' || value[0] == '"') && value.back() == value[0];
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// "TrainingArguments(" and its kin at the end of a line.
bool OpensDump(std::string_view text) {
  text = Trim(text);
  if (!text.ends_with('(')) return false;
  text.remove_suffix(1);
  const bool named = text.ends_with("Arguments") || text.ends_with("Config") || text.ends_with("Args");
  return named && text.find('=') == std::string_view::npos;
}

}  // namespace

bool ArgumentReader::Consume(std::string_view text, std::uint32_t line) {
  if (is_open_) return ConsumeOpen(text, line);
  if (OpensDump(text)) {
    is_open_ = true;
    lines_open_ = 0;
    return true;
  }
  return ReadStatements(text, line) || ReadDotted(text, line) || ReadOneLine(text, line);
}

bool ArgumentReader::ConsumeOpen(std::string_view text, std::uint32_t line) {
  const std::string_view trimmed = Trim(text);
  if (trimmed.starts_with(')') || ++lines_open_ > kLongestDump) {
    is_open_ = false;
    return true;
  }
  const std::size_t equals = trimmed.find('=');
  const std::string_view key = trimmed.substr(0, equals);
  // Anything else than "key=value," inside belongs to somebody else: another rank, or the dump was cut.
  if (equals == std::string_view::npos || !IsName(key)) return false;
  State(key, Unquoted(trimmed.substr(equals + 1)), line);
  return true;
}

// "  Num examples = 80 | Num Epochs = 4 | Total steps = 250"
bool ArgumentReader::ReadStatements(std::string_view text, std::uint32_t line) {
  if (text.find(" = ") == std::string_view::npos) return false;
  bool any = false;
  for (const std::string_view part : Split(text, '|')) {
    const std::size_t equals = part.find(" = ");
    if (equals == std::string_view::npos) continue;
    const std::string_view words = Trim(part.substr(0, equals));
    const auto at = std::find_if(kStatements.begin(), kStatements.end(), [&](const Statement& statement) {
      return words.size() >= statement.words.size() &&
             EqualsIgnoringCase(words.substr(words.size() - statement.words.size()), statement.words);
    });
    if (at == kStatements.end()) continue;
    const std::string_view value = Trim(part.substr(equals + 3));
    const std::string_view number = value.substr(0, value.find(' '));
    if (const auto count = ParseNumber(number)) {
      State(at->key, FormatExact(*count), line);
      any = true;
    }
  }
  return any;
}

// "  lr .............................................. 0.0003"
bool ArgumentReader::ReadDotted(std::string_view text, std::uint32_t line) {
  const std::size_t dots = text.find(" .....");
  if (dots == std::string_view::npos) return false;
  const std::string_view key = Trim(text.substr(0, dots));
  const std::size_t value = text.find_first_not_of('.', dots + 1);
  // "forward-backward ......: (123.4, 130.1)" is a timer.
  if (!IsName(key) || value == std::string_view::npos || text[value] == ':') return false;
  State(key, Unquoted(text.substr(value)), line);
  return true;
}

bool ArgumentReader::ReadOneLine(std::string_view text, std::uint32_t line) {
  constexpr std::array<std::string_view, 4> kCalls = {"Namespace(", "Arguments(", "Config(", "Args("};
  for (const std::string_view call : kCalls) {
    const std::size_t at = text.find(call);
    if (at == std::string_view::npos || text.find('=', at) == std::string_view::npos) continue;
    std::string_view list = text.substr(at + call.size());
    if (const std::size_t close = list.rfind(')'); close != std::string_view::npos) list = list.substr(0, close);
    ReadList(list, ',', line);
    return true;
  }
  if (!StartsWithIgnoringCase(text, "config: ")) return false;
  ReadList(text.substr(text.find(' ')), ' ', line);
  return true;
}

void ArgumentReader::ReadList(std::string_view list, char separator, std::uint32_t line) {
  for (const std::string_view part : Split(list, separator)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = Trim(part.substr(0, equals));
    if (IsName(key)) State(key, Unquoted(part.substr(equals + 1)), line);
  }
}

void ArgumentReader::State(std::string_view key, std::string_view value, std::uint32_t line) {
  value = Trim(value);
  if (value.empty() || value.size() > kLongestValue || stated_.size() >= kMostFacts) return;
  // Every rank prints its arguments; the first statement of a key stands.
  if (stated_.insert(std::string(key)).second) builder_.AddFact(key, Printable(value), line);
}

}  // namespace vigil::import::log
