// Running a program the way a person at a terminal would, for tests of what vigil prints.
#pragma once

#include <string>
#include <string_view>

namespace vigil::testing_support {

struct Outcome {
  std::string output;
  int code = 0;  // exit status, or 128 + the signal
};

// Runs a line of shell and returns what it wrote to its standard output.
Outcome RunShell(const std::string& command);
// The same for vigil with arguments quoted as for a shell. The environment is fixed, so that the size and colours of a
// terminal do not reach the output.
Outcome RunVigil(const std::string& program, const std::string& arguments);

std::string QuoteForShell(const std::string& text);
std::string ReplaceAll(std::string text, std::string_view from, std::string_view to);

}  // namespace vigil::testing_support
