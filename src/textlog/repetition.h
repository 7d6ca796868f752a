// Lines of trainers that no rule was written for. A loop prints the same words around other numbers for every step; so
// a line whose names the vocabulary does not know, or that is a sentence, is believed when it came several times with
// rising steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "textlog/metric_line.h"
#include "textlog/name_memo.h"

namespace vigil::textlog {

struct LearnedRow {
  struct Number {
    std::string name;
    NamedNumber number;  // its name is no longer there
  };
  std::int64_t step = -1;
  std::uint32_t line = 0;
  std::int32_t rank = -1;
  bool unplaced = false;  // nothing in it says where the training is: `step` counts the lines of its shape
  bool is_sure = false;   // it names several metrics that are known
  std::vector<Number> numbers;
};

class Repetition {
 public:
  // A line that names a step, or counts something, beside other numbers; or nothing but a loss. `parsed`: as
  // ParseMetricLine took it apart, with `placed` saying whether it found where the training is. Returns the rows to
  // believe now: none, this one, or this one and those before it.
  const std::vector<LearnedRow>& Take(std::string_view text, const MetricLine& parsed, bool placed, std::int32_t rank,
                                      std::uint32_t line);

 private:
  struct Shape {
    std::uint32_t seen = 0;
    std::int64_t last_step = -1;
    std::int64_t lines = 0;
    std::vector<LearnedRow> held_back;
  };
  bool ReadParsed(const MetricLine& parsed, LearnedRow& row);
  bool ReadSentence(std::string_view text, LearnedRow& row);
  bool ReadCounted(std::string_view text, const MetricLine& parsed, LearnedRow& row);
  bool ReadUnplaced(const MetricLine& parsed, LearnedRow& row);
  // How many lines of the shape make the row believed; 0 when it is none.
  std::uint32_t Read(std::string_view text, const MetricLine& parsed, bool placed, LearnedRow& row);

  std::unordered_map<std::string, Shape> shapes_;
  std::vector<LearnedRow> believed_;
  NamedNumbers numbers_;
  NameMemo names_;
  std::string key_;
  std::int64_t latest_counted_ = -1;  // of the rows that a count without a name opens and that are believed
};

}  // namespace vigil::textlog
