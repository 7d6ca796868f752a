// Archives: every member within bounds, the same whatever the pieces; UTF-16 to UTF-8 the same way.
#include "ingest/bytes/archive.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "ingest/bytes/utf16.h"
#include "pieces.h"

namespace {

class Pieces : public vigil::ingest::ByteStream {
 public:
  Pieces(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}
  vigil::Result<std::size_t> Read(char* into, std::size_t capacity) override {
    const std::size_t size = std::min({piece_, capacity, bytes_.size()});
    bytes_.copy(into, size);
    bytes_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view bytes_;
  std::size_t piece_;
};

// So much of a member is enough to see whether pieces matter.
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

// The bytes as a file, which formats that seek need (7z).
class InMemory {
 public:
  explicit InMemory(std::string_view bytes) : descriptor_(::memfd_create("archive", 0)) {
    vigil::fuzz::Require(
        descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
        "a file in memory");
  }
  ~InMemory() { ::close(descriptor_); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string Members(std::string_view bytes, std::size_t piece, const vigil::platform::File* file) {
  std::string out;
  std::string content(4096, '\0');
  vigil::ingest::UnpackBudget budget(bytes.size());
  vigil::ingest::archive::Members members(std::make_unique<Pieces>(bytes, piece), file, "archive", budget);
  for (;;) {
    const auto member = members.Next();
    if (!member || !*member) return out;
    out += (*member)->name + '\n';
    const auto stream = members.Open();
    for (std::size_t total = 0; total < kMostBytes;) {
      const auto count = stream->Read(content.data(), content.size());
      if (!count || *count == 0) break;
      out.append(content, 0, *count);
      total += *count;
    }
  }
}

std::string Decoded(std::string_view bytes, std::size_t piece) {
  std::string out;
  auto stream = vigil::ingest::Utf16Stream::ForContent(bytes, false);
  if (!stream) return out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    stream->Decode(bytes.substr(0, piece), false, out);
  stream->Decode({}, true, out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  vigil::fuzz::Require(Members(bytes, 1, nullptr) == Members(bytes, 100, nullptr),
                       "the same members whatever the pieces");
  const InMemory in_memory(bytes);
  const auto file = vigil::platform::File::Open(in_memory.path());
  vigil::fuzz::Require(file.has_value(), "a file in memory can be opened");
  vigil::fuzz::Require(Members(bytes, 1, &*file) == Members(bytes, 1, &*file), "the same members each time");
  vigil::fuzz::Require(Decoded(bytes, size + 1) == Decoded(bytes, 3), "the same text whatever the pieces");
  return 0;
}
