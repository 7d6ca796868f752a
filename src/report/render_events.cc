// Findings as a TensorBoard event file, to stand beside the run's own.
#include <fmt/format.h>

#include <bit>

#include "codec/codec.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

std::string LittleEndian(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
  return out;
}

std::string Framed(std::string_view payload) {
  const std::string length = LittleEndian(payload.size(), 8);
  const auto checksum = [](std::string_view bytes) { return LittleEndian(codec::MaskCrc(codec::Crc32c(bytes)), 4); };
  return length + checksum(length) + std::string(payload) + checksum(payload);
}

// ---- protobuf, as much of it as events need

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  return out + static_cast<char>(value);
}
std::string WholeField(std::uint32_t number, std::uint64_t value) {
  return Varint(codec::FieldKey(number, codec::WireType::kVarint)) + Varint(value);
}
std::string BytesField(std::uint32_t number, std::string_view bytes) {
  return Varint(codec::FieldKey(number, codec::WireType::kBytes)) + Varint(bytes.size()) + std::string(bytes);
}
std::string DoubleField(std::uint32_t number, double value) {
  return Varint(codec::FieldKey(number, codec::WireType::kFixed64)) +
         LittleEndian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string FloatField(std::uint32_t number, float value) {
  return Varint(codec::FieldKey(number, codec::WireType::kFixed32)) +
         LittleEndian(std::bit_cast<std::uint32_t>(value), 4);
}

std::string Event(double time, std::int64_t step, std::string_view what) {
  const std::uint64_t at = step < 0 ? 0 : static_cast<std::uint64_t>(step);
  return Framed(DoubleField(1, time) + (at == 0 ? "" : WholeField(2, at)) + std::string(what));
}

std::string Summary(std::string_view value) { return BytesField(5, BytesField(1, value)); }

std::string Scalar(std::string_view tag, float value) { return Summary(BytesField(1, tag) + FloatField(2, value)); }

std::string Text(std::string_view tag, std::string_view markdown) {
  constexpr std::uint64_t kString = 7;
  const std::string shape = BytesField(2, BytesField(2, WholeField(1, 1)));
  const std::string tensor = WholeField(1, kString) + shape + BytesField(8, markdown);
  const std::string metadata = BytesField(1, BytesField(1, "text"));
  return Summary(BytesField(1, tag) + BytesField(8, tensor) + BytesField(9, metadata));
}

// In a cell of a Markdown table.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text)) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string FindingsTable(const model::RunReport& run) {
  std::string out = "|finding|severity|where|what|\n|---|---|---|---|\n";
  for (const model::Finding& finding : run.findings)
    out += fmt::format("|{}|{}|{}|{}|\n", finding.id, model::Name(finding.severity),
                       RangeText({finding.first, finding.last}), Cell(MessageText(finding)));
  return out;
}

std::string CausesText(const model::RunReport& run) {
  const Verdict verdict = VerdictOf(run);
  std::string out = fmt::format("{}\n\n", verdict.headline);
  for (const VerdictLine& line : verdict.lines) out += fmt::format("* **{}**: {}\n", Label(line.kind), line.text);
  return out;
}

}  // namespace

std::string RenderEvents(const model::RunReport& run, double unix_time) {
  std::string out = Event(unix_time, 0, BytesField(3, "brain.Event:2"));
  out += Event(unix_time, 0, Text("vigil/verdict", CausesText(run)));
  out += Event(unix_time, 0, Text("vigil/findings", FindingsTable(run)));
  const model::Axis axis = model::MainAxis(run.run);
  for (const model::Finding& finding : run.findings) {
    // On the axis of the run's own curves, beside which it stands in TensorBoard.
    const auto first = CountOn(run.run, axis, finding.first);
    const auto last = CountOn(run.run, axis, finding.last);
    if (!first) continue;
    const std::string tag = "vigil/" + finding.id;
    const auto severity = 1 + static_cast<float>(finding.severity);
    out += Event(unix_time, *first, Scalar(tag, severity));
    if (last && *last > *first) out += Event(unix_time, *last, Scalar(tag, severity));
  }
  return out;
}

}  // namespace vigil::report
