// The line that no parser took and that holds the most measurements: the example in the message when nothing was read
// from a log, so that its owner sees what a line would need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/statement.h"

namespace vigil::textlog {

class UnrecognisedLine {
 public:
  void Observe(std::string_view text, std::uint32_t line);
  // Empty when no line held a measurement.
  model::Statement Note() const;

 private:
  std::string text_;
  std::uint32_t line_ = 0;
  std::size_t closeness_ = 0;
};

}  // namespace vigil::textlog
