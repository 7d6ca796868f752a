// What the fuzz targets of the readers share: a part must not depend on the pieces it arrives in.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "import/import.h"

namespace vigil::fuzz {

inline bool SameNumber(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

inline bool SamePart(const Result<model::Run>& a, const Result<model::Run>& b) {
  if (!a || !b) return !a && !b;
  if (a->series.size() != b->series.size() || a->facts.size() != b->facts.size()) return false;
  for (std::size_t i = 0; i < a->series.size(); ++i) {
    const model::Series& mine = a->series[i];
    const model::Series& theirs = b->series[i];
    if (mine.raw != theirs.raw || mine.steps != theirs.steps || mine.lines != theirs.lines) return false;
    for (std::size_t j = 0; j < mine.size(); ++j) {
      if (!SameNumber(mine.values[j], theirs.values[j])) return false;
    }
  }
  return a->sources.front().note == b->sources.front().note;
}

// Aborts when the reader of that format makes something else of the bytes in pieces than of the whole.
inline void ReadInPieces(std::string_view id, const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const import::Format& format : import::Formats()) {
    if (format.id != id) continue;
    const auto whole = import::ReadBytes("fuzz", bytes, format);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
      if (!SamePart(import::ReadBytes("fuzz", bytes, format, piece), whole)) std::abort();
    }
  }
  import::Recognise({"fuzz", bytes, bytes.size()});
}

}  // namespace vigil::fuzz
