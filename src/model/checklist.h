// model/checklist: what a person is to have checked before a training that fails is called understood, filled in for
// one run, as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/statement.h"

namespace vigil::model {

enum class CheckState : std::uint8_t {
  kDone,         // the files of the run show that it was
  kNotDone,      // they show that it was not
  kNotPossible,  // they cannot show it, or there is nothing to check
};
std::string_view Name(CheckState state);  // "done", "not_done", "not_possible"

// One item. The words of the check itself stand in the row of that id.
struct CheckedItem {
  std::string id;
  CheckState state = CheckState::kNotPossible;
  Statement reason;  // what of this run shows it, or why nothing can
  std::string path;  // the file that shows it, or empty
  std::uint32_t line = 0;
  std::string command;  // what would do it; empty where it is done or no command can
  std::string change;   // a setting or line of code to change before the command, or empty
};

}  // namespace vigil::model
