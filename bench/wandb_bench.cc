// Reading of W&B transaction logs, from file to series, checksums checked: as the client of today writes them (each row
// of the history said before in a summary) and as the older one did; against the checksums alone, and Python's reader.
#include <zlib.h>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kBlock = std::size_t{32} << 10U;

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

std::string Field(std::uint32_t number, std::string_view content) {
  std::string out;
  PutVarint(out, (std::uint64_t{number} << 3U) | 2U);
  PutVarint(out, content.size());
  return out.append(content);
}

// Records in blocks, as LevelDB's log has them.
class Log {
 public:
  Log() : bytes_("\x3A\x57\x26\x42\xE1\xBE\x00", 7) {}

  void Add(std::string_view record) {
    bool first = true;
    do {
      std::size_t left = kBlock - bytes_.size() % kBlock;
      if (left < 7) {
        bytes_.append(left, '\0');
        left = kBlock;
      }
      const std::string_view piece = record.substr(0, left - 7);
      record.remove_prefix(piece.size());
      Put(static_cast<char>(first && record.empty() ? 1 : first ? 2 : record.empty() ? 4 : 3), piece);
      first = false;
    } while (!record.empty());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Put(char type, std::string_view piece) {
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(&type), 1);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    for (unsigned shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>((crc >> shift) & 0xffU);
    for (unsigned shift = 0; shift < 16; shift += 8) bytes_ += static_cast<char>((piece.size() >> shift) & 0xffU);
    bytes_ += type;
    bytes_ += piece;
  }

  std::string bytes_;
};

std::string Item(std::string_view key, std::string_view json) { return Field(1, Field(2, key) + Field(16, json)); }

std::string Row(int step) {
  std::string row = Item("_step", std::to_string(step)) + Item("_timestamp", fmt::format("{:.7e}", 1.79e9 + step)) +
                    Item("_runtime", fmt::format("{:.6f}", step * 0.25)) +
                    Item("train/global_step", std::to_string(step * 10));
  for (int i = 0; i < 12; ++i)
    row += Item(fmt::format("train/metric_{}", i), fmt::format("{:.16g}", 3.0 / (1 + 0.001 * step) + i));
  return row;
}

std::string MakeLog(bool with_summaries, int rows) {
  Log log;
  for (int step = 0; step < rows; ++step) {
    const std::string row = Row(step);
    if (with_summaries) log.Add(Field(3, row));
    log.Add(Field(2, row));
    if (step % 4 == 0) log.Add(Field(13, Field(3, fmt::format("step {}: loss {:.4f}\n", step, 3.0 / (1 + step)))));
  }
  return log.bytes();
}

void Measure(const char* what, const std::string& bytes, int rows) {
  const TemporaryFile file("wandb.wandb", bytes);
  std::size_t points = 0;
  const double seconds = BestSeconds(5, [&] {
    const auto run = formats::ReadFile(file.path());
    points = 0;
    for (const auto& series : run->series) points += series.size();
  });
  const double checksums = BestSeconds(5, [&] {
    volatile uLong crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    static_cast<void>(crc);
  });
  fmt::print("{}: {:.1f} MB, {} rows, {} points\n", what, Megabytes(bytes.size()), rows, points);
  PrintRate("vigil, to series", bytes.size(), seconds, points, "point");
  PrintRate("zlib's checksum of the bytes alone", bytes.size(), checksums, points, "point");
  fmt::print("  budget of 300 MB/s: {:.2f} times\n", Megabytes(bytes.size()) / seconds / 300);
  ComparePeer("wandb_reader.py", file.path(), bytes.size(), seconds / static_cast<double>(bytes.size()));
}

}  // namespace
}  // namespace vigil::bench

int main() {
  using namespace vigil::bench;
  constexpr int kRows = 60'000;
  Measure("history and summaries", MakeLog(true, kRows), kRows);
  Measure("history alone", MakeLog(false, kRows), kRows);
  return 0;
}
