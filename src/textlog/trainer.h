// Which trainer wrote a log, by marks that only it leaves: the names of its loggers, and the form of its lines.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/run.h"

namespace vigil::textlog {

class TrainerMarks {
 public:
  // Whole lines of the log, which begin `offset` bytes into it. Only the beginning of a log is looked at.
  void Observe(std::string_view lines, std::uint64_t offset);
  // The framework's name as remedies know it, empty when no mark was found. `part` is what the log gave.
  std::string_view Name(const model::Run& part) const;

 private:
  std::uint32_t seen_ = 0;  // bits of the marks
};

}  // namespace vigil::textlog
