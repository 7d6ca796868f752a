// The safetensors format as far as float32 tensors and string metadata need it: a length, a JSON header, the numbers.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

namespace vigil::gym {

struct NamedFloats {
  std::string name;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const float> values;
};
std::string WriteSafetensors(const std::map<std::string, std::string>& metadata,
                             const std::vector<NamedFloats>& tensors);

// A file taken apart. Tensors are where the header says, checked against the size of the file.
struct Safetensors {
  std::string content;
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string_view> tensors;  // bytes, borrowed from `content`

  Status CopyTo(const std::string& name, std::span<float> into, const std::string& origin) const;
};
Result<Safetensors> ReadSafetensors(std::string content, const std::string& origin);

}  // namespace vigil::gym
