// Words above lines of nothing but numbers: "   year  month  value", printed by what prints a table of data. They name
// the columns, so that none of them is taken for a loss by the way it goes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace vigil::textlog {

class PlainHeader {
 public:
  // Keeps a line that begins with a letter; the latest one counts.
  void Note(std::string_view text, std::uint32_t line);

  // The names of the `count` columns behind the first one, where the line that was kept stands right above line `first`
  // and has a word for each of them, with or without one for the first. Empty otherwise.
  std::deque<std::string> NamesOf(std::uint32_t first, std::size_t count) const;

 private:
  std::string text_;
  std::uint32_t line_ = 0;
};

}  // namespace vigil::textlog
