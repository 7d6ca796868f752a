// Runs a fuzz target over kept inputs without libFuzzer, so that every compiler and every test run replays the corpora:
// each file as it is, and cut short, since a run that died leaves its files cut at any byte.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

// Cuts per input: enough to hit every record border of the small files that corpora hold.
constexpr std::size_t kMostCuts = 256;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Feed(const std::string& bytes, std::size_t size) {
  // A copy of exactly that size, so that the address sanitizer sees a read past its end.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

void Replay(const std::string& bytes) {
  Feed(bytes, bytes.size());
  const std::size_t stride = std::max<std::size_t>(1, bytes.size() / kMostCuts);
  for (std::size_t size = 0; size < bytes.size(); size += stride) Feed(bytes, size);
}

std::vector<fs::path> FilesAt(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t replayed = 0;
  for (int i = 1; i < count; ++i) {
    if (!fs::exists(arguments[i])) {
      fmt::print(stderr, "{}: no such corpus; put small inputs there, one a file\n", arguments[i]);
      return 1;
    }
    for (const fs::path& file : FilesAt(arguments[i])) {
      fmt::print("{}\n", file.string());
      std::fflush(stdout);  // the last name printed is the input that crashed
      Replay(ReadAll(file));
      ++replayed;
    }
  }
  fmt::print("{} inputs replayed, whole and cut\n", replayed);
  return replayed > 0 ? 0 : 1;
}
