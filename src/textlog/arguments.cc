#include "textlog/arguments.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "textlog/command_line.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kMostFacts = 1024;
constexpr std::size_t kLongestValue = 256;
constexpr std::size_t kLongestDump = 1000;  // lines
constexpr std::size_t kLargestJson = std::size_t{256} << 10U;
constexpr std::size_t kMostWords = 4096;

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

// A line of a document over several lines, and not one of another program: those of metrics are whole objects.
bool IsLineOfJson(std::string_view trimmed, int depth) {
  if (trimmed.empty()) return false;
  if (trimmed.starts_with("{\"") && trimmed.ends_with('}') && depth <= 1) return false;
  constexpr std::string_view kOpenings = "\"{}[]-0123456789tfn";
  return kOpenings.find(trimmed[0]) != std::string_view::npos && !trimmed.starts_with("{'");
}

// "learning_rate = 1e-3 # with baby networks": the value.
std::string_view AssignedValue(std::string_view text) { return Trim(text.substr(0, text.find(" #"))); }

}  // namespace

void JsonDepth::See(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text_ && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text_ = !in_text_;
    } else if (!in_text_ && (c == '{' || c == '[')) {
      ++depth_;
    } else if (!in_text_ && (c == '}' || c == ']')) {
      --depth_;
    }
  }
  in_text_ = false;  // no text of JSON goes over its line
}

void ArgumentReader::Open(Dump dump) {
  dump_ = dump;
  lines_open_ = 0;
}

bool ArgumentReader::Opens(std::string_view text, std::uint32_t line) {
  const std::string_view trimmed = Trim(text);
  first_line_ = line;
  if (OpensDump(text)) {
    Open(Dump::kCall);
  } else if (trimmed.ends_with("json = {")) {  // DeepSpeed
    Open(Dump::kJson);
    json_ = "{\n";
    depth_ = {};
    depth_.See(json_);
  } else if (trimmed.ends_with("config:")) {  // axolotl
    Open(Dump::kAwaitJson);
  } else if (trimmed.starts_with("Overriding config with ")) {  // nanoGPT
    Open(Dump::kAssignments);
  }
  return is_open();
}

bool ArgumentReader::Consume(std::string_view text, std::uint32_t line) {
  if (dump_ == Dump::kAwaitJson) {
    Open(Dump::kNone);
    if (Trim(text) == "{") {
      Open(Dump::kJson);
      json_.clear();
      depth_ = {};
    }
  }
  if (is_open()) return ConsumeOpen(text, line);
  if (Opens(text, line)) return true;
  if (constexpr std::string_view kOverriding = "Overriding: "; text.starts_with(kOverriding)) {
    Override(text.substr(kOverriding.size()), line);
    return true;
  }
  if (ReadCommand(text, line)) return false;  // what ended it may stand beside it
  return ReadStatements(text, line) || ReadDeepSpeed(text, line) || ReadDotted(text, line) || ReadOneLine(text, line);
}

bool ArgumentReader::ConsumeOpen(std::string_view text, std::uint32_t line) {
  if (++lines_open_ > kLongestDump) {
    Open(Dump::kNone);
    return false;
  }
  const std::string_view trimmed = Trim(text);
  if (dump_ == Dump::kJson) return ConsumeJson(trimmed);
  if (dump_ == Dump::kAssignments) return ConsumeAssignment(trimmed, line);
  if (dump_ == Dump::kCommand) {
    TakeWords(trimmed, line);
    return true;
  }
  return ConsumeCall(trimmed, line);
}

bool ArgumentReader::ConsumeCall(std::string_view trimmed, std::uint32_t line) {
  if (trimmed.starts_with(')')) {
    Open(Dump::kNone);
    return true;
  }
  const std::size_t equals = trimmed.find('=');
  const std::string_view key = trimmed.substr(0, equals);
  // Anything else than "key=value," inside is another line: of another rank, or the dump was cut.
  if (equals == std::string_view::npos || !IsName(key)) return false;
  State(key, Unquoted(trimmed.substr(equals + 1)), line);
  return true;
}

bool ArgumentReader::ConsumeJson(std::string_view trimmed) {
  if (!IsLineOfJson(trimmed, depth_.depth())) return false;
  json_ += trimmed;
  json_ += '\n';
  depth_.See(trimmed);
  if (depth_.depth() > 0 && json_.size() < kLargestJson) return true;
  Open(Dump::kNone);
  std::vector<hyperparams::Hyperparameter> hyperparameters = hyperparams::JsonHyperparameters(json_);
  for (hyperparams::Hyperparameter& hyperparameter : hyperparameters) hyperparameter.line += first_line_;
  StateKnown(std::move(hyperparameters));
  json_.clear();
  return true;
}

// A file of assignments, printed as it is.
bool ArgumentReader::ConsumeAssignment(std::string_view trimmed, std::uint32_t line) {
  if (trimmed.empty() || trimmed.starts_with('#')) return true;
  const std::size_t equals = trimmed.find(" = ");
  const std::string_view key = trimmed.substr(0, equals);
  if (equals == std::string_view::npos || !IsName(key)) {
    Open(Dump::kNone);
    return Consume(trimmed, line);
  }
  State(key, Unquoted(AssignedValue(trimmed.substr(equals + 3))), line);
  return true;
}

// "learning_rate = 0.001" of the command line, which holds over what a file said before.
void ArgumentReader::Override(std::string_view assignment, std::uint32_t line) {
  const std::size_t equals = assignment.find(" = ");
  const std::string_view key = Trim(assignment.substr(0, equals));
  if (equals == std::string_view::npos || !IsName(key)) return;
  const std::string_view value = Unquoted(assignment.substr(equals + 3));
  if (!stated_.contains(std::string(key))) return State(key, value, line);
  for (model::Fact& fact : builder_.part().facts) {
    if (fact.raw_key == key && value.size() <= kLongestValue) fact.value = Printable(value);
  }
}

// "[2023-04-28 06:59:46,878] [INFO] [config.py:964:print]   train_micro_batch_size_per_gpu  4"
bool ArgumentReader::ReadDeepSpeed(std::string_view text, std::uint32_t line) {
  constexpr std::string_view kPrinted = ":print]";
  const std::size_t at = text.find(kPrinted);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = Trim(text.substr(at + kPrinted.size()));
  const std::size_t space = rest.find(' ');
  const std::string_view key = rest.substr(0, space);
  if (space == std::string_view::npos || !IsName(key)) return false;
  const std::size_t value = rest.find_first_not_of(" .", space);
  if (value == std::string_view::npos) return false;
  State(key == "train_batch_size" ? "global_batch_size" : key, Unquoted(rest.substr(value)), line);
  return true;
}

bool ArgumentReader::ReadCommand(std::string_view text, std::uint32_t line) {
  const std::size_t at = FindCommand(text);
  if (at == std::string_view::npos) return false;
  words_.clear();
  first_line_ = line;
  Open(Dump::kCommand);
  TakeWords(Trim(text.substr(at)), line);
  return true;
}

// The words of one line of a command; a backslash at its end says that more follow.
void ArgumentReader::TakeWords(std::string_view text, std::uint32_t /*line*/) {
  const bool goes_on = text.ends_with('\\');
  if (goes_on) text.remove_suffix(1);
  SplitWords(text, words_);
  if (goes_on && words_.size() < kMostWords) return;
  Open(Dump::kNone);
  StateKnown(hyperparams::CommandHyperparameters(words_, first_line_));
  StateCommand();
}

// How the run was started: what it is started again with. Every rank prints its own; the first stands.
void ArgumentReader::StateCommand() {
  constexpr std::size_t kLongestCommand = 2000;
  std::string command;
  for (const std::string& word : words_) {
    const bool plain = word.find_first_of(" '\"") == std::string::npos;
    command += (command.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  if (command.size() <= kLongestCommand && stated_.insert("command_line").second)
    builder_.AddFact("command_line", command, first_line_);
}

void ArgumentReader::StateKnown(std::vector<hyperparams::Hyperparameter> hyperparameters) {
  // Every rank prints its own; the first statement of a key stands.
  std::erase_if(hyperparameters, [&](const hyperparams::Hyperparameter& hyperparameter) {
    return stated_.size() >= kMostFacts || !stated_.insert(hyperparameter.path).second;
  });
  hyperparams::StateHyperparameters(hyperparameters, builder_);
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
  if (!stated_.insert(std::string(key)).second) return;
  builder_.AddFact(key, Printable(value), line);
  // The samples of TRL's trainers; other dumps than those of arguments do not come here.
  constexpr double kOfGenerations = 20;
  if (key == "max_length" && ParseNumber(value).value_or(0) > kOfGenerations)
    builder_.part().facts.back().key = "sequence_length";
}

}  // namespace vigil::textlog
