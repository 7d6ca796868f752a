// Whether a file is still the one that was read: what it holds at the beginning and where the last look ended. A file
// that only grows keeps both; one that was rewritten, even larger than before, hardly ever does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vigil::ingest {

class Marks {
 public:
  // Of the first `size_bytes` bytes of the file; nothing when they cannot be read.
  static std::optional<Marks> Of(const std::string& path, std::uint64_t size_bytes);
  // Whether they stand in the file of that path now. Reads some kilobytes.
  bool Hold(const std::string& path) const;

 private:
  std::uint64_t size_bytes_ = 0;
  std::string beginning_;
  std::string end_;
};

}  // namespace vigil::ingest
