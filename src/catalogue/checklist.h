// catalogue/checklist: what is to be checked before a training that fails is called understood, as rows.
#pragma once

#include <span>
#include <string_view>

namespace vigil::catalogue {

// One item, in the order in which to go about it.
struct ChecklistRow {
  std::string_view id;     // "checklist/<item>"
  std::string_view stage;  // reproduce, data, instrument, isolate, numerics, rate, safety, distributed, recover
  std::string_view title;
  std::string_view why;
  std::string_view how;   // what to do where it is not done
  std::string_view test;  // name of the code that answers for a run
};
std::span<const ChecklistRow> Checklist();
const ChecklistRow* FindChecklistItem(std::string_view id);

}  // namespace vigil::catalogue
