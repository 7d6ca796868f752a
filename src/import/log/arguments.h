// Settings that a log states: the repr of a trainer's arguments, "***** Running training *****" and its kin, Megatron's
// dotted list, and one-line dumps ("Namespace(lr=0.1, ...)", "config: lr=0.1 clip=1").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "import/import.h"

namespace vigil::import::log {

class ArgumentReader {
 public:
  explicit ArgumentReader(PartBuilder& builder) : builder_(builder) {}
  // Takes what the line states. True when it was part of a dump and nothing else.
  bool Consume(std::string_view text, std::uint32_t line);
  // Inside a dump over several lines: every line is wanted.
  bool is_open() const { return is_open_; }

 private:
  bool ConsumeOpen(std::string_view text, std::uint32_t line);
  bool ReadStatements(std::string_view text, std::uint32_t line);
  bool ReadDotted(std::string_view text, std::uint32_t line);
  bool ReadOneLine(std::string_view text, std::uint32_t line);
  void ReadList(std::string_view list, char separator, std::uint32_t line);
  void State(std::string_view key, std::string_view value, std::uint32_t line);

  PartBuilder& builder_;
  std::unordered_set<std::string> stated_;
  bool is_open_ = false;
  std::size_t lines_open_ = 0;
};

}  // namespace vigil::import::log
