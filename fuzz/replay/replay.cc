// Runs a fuzz target over kept inputs without libFuzzer, so that every compiler and every test run replays the corpora:
// each file as it is, cut short, since a run that died leaves its files cut at any byte, and changed by the target's
// own mutator where it has one.
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

// Null where a target leaves mutating to libFuzzer.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                                     std::size_t most_bytes, unsigned seed);

// What libFuzzer offers to custom mutators, in short: one byte is changed. Where and how follows from the bytes alone.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most_bytes);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most_bytes) {
  if (size == 0) return 0;
  std::size_t sum = size;
  for (std::size_t i = 0; i < size; ++i) sum = sum * 31 + data[i];
  data[sum % size] = static_cast<std::uint8_t>(data[sum % size] ^ (1U << (sum / size % 8)));
  return std::min(size, most_bytes);
}

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

void ReplayMutated(const std::string& bytes) {
  constexpr unsigned kMutations = 32;
  constexpr std::size_t kMostBytes = std::size_t{128} << 10U;
  if (LLVMFuzzerCustomMutator == nullptr) return;
  std::vector<std::uint8_t> input(kMostBytes);
  std::size_t size = std::min(bytes.size(), kMostBytes);
  std::copy_n(bytes.begin(), size, input.begin());
  for (unsigned seed = 0; seed < kMutations; ++seed) {
    size = LLVMFuzzerCustomMutator(input.data(), size, kMostBytes, seed);
    Feed({input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)}, size);
  }
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
      ReplayMutated(ReadAll(file));
      ++replayed;
    }
  }
  fmt::print("{} inputs replayed, whole, cut and changed\n", replayed);
  return replayed > 0 ? 0 : 1;
}
