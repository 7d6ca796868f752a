// Archives of tar: runs that were packed to be sent somewhere. Members are taken one after the other, as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vigil::ingest::tar {

// Whether a file begins with the header of a member whose checksum is right.
bool IsArchive(std::string_view head);

struct Member {
  std::string name;
  std::string_view bytes;
  bool is_cut = false;  // the archive ends within it, or it is larger than kLargestMember
};
// Members are held in memory one at a time; of a larger one the beginning is.
inline constexpr std::uint64_t kLargestMember = std::uint64_t{128} << 20U;
inline constexpr std::size_t kMostMembers = 100'000;

// Reads up to `capacity` bytes of the archive; 0 at its end.
using Source = std::function<std::size_t(char* into, std::size_t capacity)>;
// Calls `take` with each regular file, up to the end or to damage. `head` is what was read of the archive so far.
void Walk(const Source& source, std::string_view head, const std::function<void(const Member&)>& take);

}  // namespace vigil::ingest::tar
