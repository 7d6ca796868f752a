// Reading of TensorBoard event files with both checksums, against copying the bytes, reading the file, and the loaders
// of the tensorboard package.
#include "codec/codec.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

template <class Number>
void PutRaw(std::string& out, Number value) {
  std::array<char, sizeof(Number)> raw = {};
  std::memcpy(raw.data(), &value, sizeof(value));
  out.append(raw.data(), raw.size());
}

void PutBytes(std::string& out, char key, std::string_view bytes) {
  out += key;
  PutVarint(out, bytes.size());
  out += bytes;
}

void PutRecord(std::string& out, std::string_view payload) {
  std::string length;
  PutRaw(length, static_cast<std::uint64_t>(payload.size()));
  out += length;
  PutRaw(out, codec::MaskCrc(codec::Crc32c(length)));
  out += payload;
  PutRaw(out, codec::MaskCrc(codec::Crc32c(payload)));
}

void PutScalar(std::string& out, double time, std::int64_t step, std::string_view tag, float value) {
  std::string inner;
  PutBytes(inner, '\x0a', tag);
  inner += '\x15';
  PutRaw(inner, value);
  std::string summary;
  PutBytes(summary, '\x0a', inner);
  std::string event = "\x09";
  PutRaw(event, time);
  event += '\x10';
  PutVarint(event, static_cast<std::uint64_t>(step));
  PutBytes(event, '\x2a', summary);
  PutRecord(out, event);
}

// What a trainer with eight scalars a step leaves, one event a scalar, as torch's SummaryWriter writes them.
std::string MakeFile(std::size_t records) {
  constexpr std::array<std::string_view, 8> kTags = {"train/loss",        "train/grad_norm", "train/learning_rate",
                                                     "train/epoch",       "train/entropy",   "train/num_tokens",
                                                     "train/mean_length", "train/step_time"};
  std::string out;
  for (std::size_t i = 0; i < records; ++i) {
    const double time = 1.7e9 + static_cast<double>(i) * 0.01;
    const float value = 1.0F / static_cast<float>(1 + i % 1000);
    PutScalar(out, time, static_cast<std::int64_t>(i / kTags.size()), kTags[i % kTags.size()], value);
  }
  return out;
}

std::size_t Points(const Result<model::Run>& part) {
  std::size_t points = 0;
  for (const model::Series& series : part->series) points += series.size();
  return points;
}

int Main() {
  constexpr std::size_t kRecords = 4'000'000;
  const std::string content = MakeFile(kRecords);
  const TemporaryFile file("events.out.tfevents.1", content);
  fmt::print("event file of scalars: {} records, {:.0f} MB, {:.1f} bytes a record\n", kRecords,
             Megabytes(content.size()), static_cast<double>(content.size()) / kRecords);
  std::size_t points = 0;
  const double seconds = BestSeconds(7, [&] { points = Points(formats::ReadFile(file.path())); });
  if (points != kRecords) {
    fmt::print("  FAILED: read {} of {} values\n", points, kRecords);
    return 1;
  }
  const Limits limits = MeasureLimits(file.path(), content);
  PrintRate("vigil, file to columns, both checksums", content.size(), seconds, kRecords, "record");
  PrintRate("reading the bytes (page cache)", content.size(), limits.read_seconds, kRecords, "record");
  PrintRate("copying the bytes (memcpy)", content.size(), limits.copy_seconds, kRecords, "record");
  fmt::print("  {:.1f} times the time of reading, {:.1f} times that of copying\n", seconds / limits.read_seconds,
             seconds / limits.copy_seconds);
  // The peer is a thousand times slower: it gets the beginning of the same file.
  constexpr std::size_t kPeerRecords = 40'000;
  const std::string peer_content = MakeFile(kPeerRecords);
  const TemporaryFile peer_file("peer.tfevents.1", peer_content);
  ComparePeer("tensorboard_loader.py", peer_file.path(), peer_content.size(),
              seconds / static_cast<double>(content.size()));
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
