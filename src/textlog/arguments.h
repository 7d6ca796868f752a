// Settings that a log states: the repr of a trainer's arguments, "***** Running training *****" and its kin, Megatron's
// dotted list, one-line dumps ("Namespace(lr=0.1, ...)", "config: lr=0.1 clip=1"), configs printed as JSON, nanoGPT's
// overrides, and the command that started the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "hyperparams/hyperparams.h"
#include "ingest/ingest.h"

namespace vigil::textlog {

// How deep a document is in its objects and lists, fed line by line.
class JsonDepth {
 public:
  void See(std::string_view text);
  int depth() const { return depth_; }

 private:
  int depth_ = 0;
  bool in_text_ = false;
};

class ArgumentReader {
 public:
  explicit ArgumentReader(ingest::PartBuilder& builder) : builder_(builder) {}
  // Takes what the line states. True when it was part of a dump and nothing else.
  bool Consume(std::string_view text, std::uint32_t line);
  // Inside a dump over several lines: every line is wanted.
  bool is_open() const { return dump_ != Dump::kNone; }

 private:
  // What the lines at hand belong to. kAwaitJson: announced, its first line is the next one.
  enum class Dump : std::uint8_t { kNone, kCall, kAwaitJson, kJson, kAssignments, kCommand };

  bool ConsumeOpen(std::string_view text, std::uint32_t line);
  bool Opens(std::string_view text, std::uint32_t line);
  void Open(Dump dump);
  bool ConsumeCall(std::string_view trimmed, std::uint32_t line);
  bool ConsumeJson(std::string_view trimmed);
  bool ConsumeAssignment(std::string_view trimmed, std::uint32_t line);
  bool ReadDeepSpeed(std::string_view text, std::uint32_t line);
  bool ReadCommand(std::string_view text, std::uint32_t line);
  void TakeWords(std::string_view text, std::uint32_t line);
  void StateKnown(std::vector<hyperparams::Hyperparameter> hyperparameters);
  void StateCommand();
  void Override(std::string_view assignment, std::uint32_t line);
  bool ReadStatements(std::string_view text, std::uint32_t line);
  bool ReadDotted(std::string_view text, std::uint32_t line);
  bool ReadOneLine(std::string_view text, std::uint32_t line);
  void ReadList(std::string_view list, char separator, std::uint32_t line);
  void State(std::string_view key, std::string_view value, std::uint32_t line);

  ingest::PartBuilder& builder_;
  std::unordered_set<std::string> stated_;
  Dump dump_ = Dump::kNone;
  std::size_t lines_open_ = 0;
  std::uint32_t first_line_ = 0;  // of the dump
  std::string json_;              // as far as it has come
  JsonDepth depth_;
  std::vector<std::string> words_;  // of a command over several lines
};

}  // namespace vigil::textlog
