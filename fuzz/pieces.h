// What holds for every reader and any bytes: the part keeps the shape that the model promises, and it is the same
// whether the bytes come at once or in pieces.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "ingest/ingest.h"

namespace vigil::fuzz {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline bool SameBits(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

inline void RequireShape(const model::Series& series) {
  const std::size_t size = series.steps.size();
  Require(size != 0, "a series that is handed on has points");
  Require(series.values.size() == size, "as many values as steps");
  Require(series.times.empty() || series.times.size() == size, "times for all points or none");
  Require(series.lines.empty() || series.lines.size() == size, "lines for all points or none");
  Require(!series.segment_starts.empty() && series.segment_starts.front() == 0, "the first segment begins at 0");
  std::size_t next = 1;
  for (std::size_t i = 1; i < size; ++i) {
    const bool starts = next < series.segment_starts.size() && series.segment_starts[next] == i;
    next += starts ? 1 : 0;
    Require(starts || series.steps[i] > series.steps[i - 1], "steps rise within a segment");
  }
  Require(next == series.segment_starts.size(), "segments begin at points, in order");
}

inline void RequireSame(const model::Run& a, const model::Run& b) {
  const model::Source& source = a.sources[0];
  const model::Source& again = b.sources[0];
  Require(std::equal(source.notes.begin(), source.notes.end(), again.notes.begin(), again.notes.end(),
                     model::SameStatement),
          "same notes");
  Require(source.state == again.state, "same state");
  Require(a.events.size() == b.events.size(), "same events");
  Require(a.facts.size() == b.facts.size(), "same facts");
  Require(a.series.size() == b.series.size(), "same series");
  for (std::size_t i = 0; i < a.series.size(); ++i) {
    const model::Series& one = a.series[i];
    const model::Series& other = b.series[i];
    Require(one.raw == other.raw && one.signal == other.signal && one.axis == other.axis, "same names and axes");
    Require(one.steps == other.steps && one.lines == other.lines, "same steps and lines");
    Require(SameBits(one.values, other.values) && SameBits(one.times, other.times), "same values and times");
    Require(one.segment_starts == other.segment_starts, "same segments");
  }
}

// Sizes of pieces for an input of that size. What a reader did not take is offered again with each piece, so that the
// work is quadratic in their number: large inputs come in larger ones.
inline std::vector<std::size_t> PiecesFor(std::size_t size) {
  if (size <= 2000) return {1, 7, 1000};
  if (size <= std::size_t{64} << 10U) return {7, 1000};
  return {size / 300, std::size_t{64} << 10U};
}

// Small files that unfold to much: reading them once more for every size of pieces would be most of the time.
inline bool HoldsMuch(const model::Run& run) {
  std::size_t points = run.events.size();
  for (const model::Series& series : run.series) points += series.size();
  return points > 5000;
}

// Reads `bytes` whole and in pieces of several sizes.
inline void CheckReader(const ingest::Format& format, const std::string& path, std::string_view bytes) {
  format.recognise({path, bytes.substr(0, std::size_t{64} << 10U), bytes.size()});
  const auto whole = ingest::ReadBytes(path, bytes, format);
  if (whole) {
    for (const model::Series& series : whole->series) RequireShape(series);
  }
  std::vector<std::size_t> sizes = PiecesFor(bytes.size());
  if (whole && HoldsMuch(*whole)) sizes.resize(1);
  for (const std::size_t piece : sizes) {
    const auto pieces = ingest::ReadBytes(path, bytes, format, piece);
    Require(pieces.has_value() == whole.has_value(), "read in both ways or in none");
    if (whole) {
      RequireSame(*whole, *pieces);
    } else {
      if (pieces.error().Text() != whole.error().Text())
        std::fprintf(stderr, "whole:  %s\npieces: %s\n", whole.error().Text().c_str(), pieces.error().Text().c_str());
      Require(pieces.error().Text() == whole.error().Text(), "same reason");
    }
  }
}

// The same for the format of that id, over the bytes of a fuzz target.
inline void CheckFormat(std::string_view id, const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const ingest::Format& format : formats::Formats()) {
    if (format.id == id) return CheckReader(format, "fuzz", bytes);
  }
  Require(false, "the format of the target is in the table");
}

}  // namespace vigil::fuzz
