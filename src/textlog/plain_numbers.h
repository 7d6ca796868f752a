// Lines of nothing but numbers, as short scripts print them: "12: 2.345", "99 2151.2", "| 20 | 7.85 | 0.0003 |". They
// are believed when many come in a row and the first number of each counts on evenly, or the first two do together:
// "(3, 42, 0.23)" is an epoch and a batch of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vigil::textlog {

class PlainNumbers {
 public:
  static constexpr std::size_t kMostValues = 32;
  struct Row {
    std::int64_t step = 0;
    std::uint32_t line = 0;
    std::size_t count = 0;
    std::array<double, kMostValues> values = {};
  };

  // Takes a line. Returns the rows to believe now: none, this one, or this one and those before it.
  const std::vector<Row>& Take(std::string_view text, std::uint32_t line);
  bool is_believed() const { return believed_; }

 private:
  static bool Read(std::string_view text, Row& row);
  bool CountsOn() const;
  void TakePair(const Row& row);

  std::vector<Row> rows_;
  std::vector<Row> held_back_;
  bool believed_ = false;
  std::size_t width_ = 0;  // numbers in a line
  std::int64_t last_step_ = -1;
  // Of rows that two numbers count.
  std::vector<Row> pairs_;
  bool pairs_believed_ = false;
  std::int64_t pairs_taken_ = 0;
};

}  // namespace vigil::textlog
