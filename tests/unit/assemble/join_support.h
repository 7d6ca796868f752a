// What the tests of joining share: parts with curves that are known again, and the runs made of them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assemble/assemble.h"
#include "base/base.h"
#include "formats/formats.h"
#include "ingest/ingest.h"

namespace vigil::assemble {

// A curve that no other seed gives: it falls, with noise that depends on seed and step.
inline double LossAt(std::int64_t step, int seed = 1) {
  const double noise = std::sin(static_cast<double>(step) * 7919.0 + seed * 104729.0) * 0.1;
  return 3.0 / (1.0 + 0.01 * static_cast<double>(step)) + noise;
}

inline double AsPrinted(double value) { return *ParseNumber(fmt::format("{:.4g}", value)); }

class Part {
 public:
  Part(const std::string& path, const std::string& format) : builder_(path, format) {}

  Part& Loss(std::int64_t first, std::int64_t last, int seed = 1, bool printed = false) {
    return Points("loss", first, last, seed, printed);
  }
  Part& Points(std::string_view name, std::int64_t first, std::int64_t last, int seed = 1, bool printed = false) {
    const auto series = builder_.OpenSeries(name);
    for (std::int64_t step = first; step <= last; step += 10) {
      const double value = LossAt(step, seed);
      builder_.Add(series, step, printed ? AsPrinted(value) : value, model::kNoValue, static_cast<std::uint32_t>(step));
    }
    return *this;
  }
  Part& Point(std::string_view name, std::int64_t step, double value) {
    builder_.Add(builder_.OpenSeries(name), step, value);
    return *this;
  }
  Part& Rows(std::string_view name, const std::vector<double>& values) {
    const auto series = builder_.OpenSeries(name);
    builder_.series(series).axis = model::Axis::kRow;
    for (std::size_t i = 0; i < values.size(); ++i) builder_.Add(series, static_cast<std::int64_t>(i) + 1, values[i]);
    return *this;
  }
  Part& Crash(const std::string& message) {
    model::Event event;
    event.kind = model::EventKind::kException;
    event.text = message;
    event.place = {0, 12};
    builder_.AddEvent(event);
    return *this;
  }
  Part& Fact(std::string_view key, std::string_view value) {
    builder_.AddFact(key, value, 3);
    return *this;
  }
  operator model::Run() { return std::move(builder_.part()); }  // NOLINT: a part is a run

 private:
  ingest::PartBuilder builder_;
};

template <class... Parts>
std::vector<model::Run> Joined(Parts&&... parts) {
  std::vector<model::Run> all;
  (all.push_back(std::forward<Parts>(parts)), ...);
  return JoinParts(std::move(all), formats::Formats());
}

}  // namespace vigil::assemble
