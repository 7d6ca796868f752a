// JSON that vigil wrote, read by another's parser.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <string_view>

namespace vigil::report {

// Owns the parser, without which its elements are not valid. Refuses what is no valid JSON or no valid UTF-8.
class Parsed {
 public:
  explicit Parsed(std::string_view json) {
    const auto problem = parser_.parse(json.data(), json.size()).get(root_);
    EXPECT_EQ(problem, simdjson::SUCCESS) << simdjson::error_message(problem) << "\n" << json;
  }
  // The element at a JSON pointer such as /runs/0/name; a test failure when there is none.
  simdjson::dom::element At(std::string_view pointer) const {
    simdjson::dom::element element;
    const auto problem = root_.at_pointer(pointer).get(element);
    EXPECT_EQ(problem, simdjson::SUCCESS) << pointer << ": " << simdjson::error_message(problem);
    return element;
  }
  std::string Text(std::string_view pointer) const {
    std::string_view text;
    EXPECT_EQ(At(pointer).get(text), simdjson::SUCCESS) << pointer;
    return std::string(text);
  }
  std::size_t Size(std::string_view pointer) const {
    simdjson::dom::array array;
    EXPECT_EQ(At(pointer).get(array), simdjson::SUCCESS) << pointer;
    return array.size();
  }
  double Number(std::string_view pointer) const {
    double number = 0;
    EXPECT_EQ(At(pointer).get(number), simdjson::SUCCESS) << pointer;
    return number;
  }
  bool IsNull(std::string_view pointer) const { return At(pointer).is_null(); }
  simdjson::dom::element root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace vigil::report
