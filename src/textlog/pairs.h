// Named numbers found in a line of text, and how numbers are spelled in logs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vigil::textlog {

struct NamedNumber {
  std::string_view name;
  double value = 0;
  bool weak = false;  // counts only under a name that the vocabulary knows: it may be no metric at all
  // How it was written, for lines of the same shape.
  bool thousands = false;        // 1,048,576
  std::uint32_t at = 0;          // where its digits begin in the line
  double unit_scale = 1;         // 5k: 1000
  double name_scale = 1;         // lr(1e-4): 1e-4
  double seconds = 0;            // 12.3ms: 1e-3; 0 where the value has no unit of time
  double gibibytes = 0;          // 512MiB: 1/1024; 0 where the value has no unit of memory
  bool percent = false;          // 81.2%
  bool is_part = false;          // 9831/10000, as a share
  bool evaluation = false;       // "[valid] loss=0.6" in a line that is of the training too
  bool missing = false;          // null or None: perhaps a NaN that the writer's format cannot spell
  std::string_view at_cut = {};  // its text, where the line ends with it unfinished: digits may be missing
};

// Numbers of one line, at most kMostNumbers of them.
using NamedNumbers = std::vector<NamedNumber>;
inline constexpr std::size_t kMostNumbers = 512;

// The number at the front of `text`: plain, non-finite, or wrapped as Python's repr does, np.float64(2.5),
// tensor(2.5, device='cuda:0') and Array(2.5, dtype=float32). `used` is the length with the wrapping.
std::optional<double> ReadNumber(std::string_view text, std::size_t& used);

// The length of "np.float64(", "tensor(", "Array(" at the front of `text`, 0 when nothing of the kind stands there.
std::size_t WrapperLength(std::string_view text);

}  // namespace vigil::textlog
