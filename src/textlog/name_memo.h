// What the vocabulary knows names as, remembered: a log has the same few names in all its lines, and taking one apart
// costs more than reading the line.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vigil::textlog {

class NameMemo {
 public:
  struct Known {
    std::string_view signal;   // empty when it is no metric that the vocabulary knows
    bool is_weak = false;      // another name of the run that means the same is surer
    std::string_view setting;  // the key of the setting of that name; empty when there is none
  };
  Known Find(std::string_view name);
  std::string_view SignalOf(std::string_view name) { return Find(name).signal; }
  bool Knows(std::string_view name) { return !SignalOf(name).empty(); }

 private:
  // Names as they stand in the lines may hold numbers that differ from line to line; what is remembered is bounded.
  static constexpr std::size_t kMostNames = 4096;
  static constexpr std::size_t kLongestName = 128;

  // Found by a view of a line, without a copy of it.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Known, Hash, std::equal_to<>> names_;
};

}  // namespace vigil::textlog
