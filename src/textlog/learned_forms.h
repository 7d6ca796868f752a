// Lines of a form that nobody wrote a rule for: "(finetune) s4 ce=2.19", "t=40 bce 0.70 dev-acc 0.48", or a line that
// counts above lines with one number each. A form is what a line is without its numbers. It is believed when it came
// several times and one of its numbers, or that of the line above, counts on; names are the words before the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vigil::textlog {

class LearnedForms {
 public:
  struct Row {
    std::int64_t step = 0;
    std::uint32_t line = 0;
    std::vector<std::string> names;
    std::vector<double> values;
  };

  // Takes a line. Returns the rows to believe now: none, this one, or this one and those before it.
  const std::vector<Row>& Take(std::string_view text, std::uint32_t line);
  bool is_believed() const { return believed_; }
  // "120: 4.44, 4.51 avg, 0.001 rate, 32 images": a number opens the line, the next one has no word before it, and a
  // word ends the line, so that each name stands behind its number.
  static bool NamesStandBehind(std::string_view text);

 private:
  struct Number {
    std::string name;
    double value = 0;
    std::size_t begin = 0;  // in the line
    std::size_t end = 0;
    bool is_whole = false;
    bool is_joined = false;  // to a letter before it: "s4", or "l2" where it never changes
  };
  struct Held {
    std::uint32_t line = 0;
    std::int64_t header = -1;  // the count of the line above
    std::vector<Number> numbers;
  };
  enum class State : std::uint8_t { kOpen, kCounted, kBelow, kHeader, kRefused };
  struct Form {
    State state = State::kOpen;
    std::size_t count_at = 0;  // which number counts
    std::int64_t last = -1;
    std::vector<bool> kept;  // which of the others are measured
    std::vector<Held> held;
  };

  static void NameFromBehind(std::string_view text, std::vector<Number>& numbers);
  static bool ReadNumbers(std::string_view text, std::string& form, std::vector<Number>& numbers);
  void Decide(Form& form);
  bool Place(Form& form, const Held& held, Row& row) const;
  void Believe(Form& form);

  std::unordered_map<std::string, Form> forms_;
  std::vector<Row> rows_;
  std::string form_;
  std::vector<Number> numbers_;
  std::int64_t header_ = -1;  // the latest count of a line that holds nothing else
  bool believed_ = false;
};

}  // namespace vigil::textlog
