#include "assemble/copies.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace vigil::assemble {
namespace {

// Fewer different numbers may agree by chance.
constexpr std::size_t kFewestDistinct = 8;

bool HasEnoughValues(const Unit& unit) {
  std::set<double> distinct;
  for (const Curve& curve : unit.Curves()) {
    for (const double value : curve.values) {
      if (value == value) distinct.insert(value);
      if (distinct.size() >= kFewestDistinct) return true;
    }
  }
  return false;
}

void Mix(std::uint64_t& hash, std::uint64_t bits) { hash = (hash ^ bits) * 0x9E3779B97F4A7C15U + (hash >> 29U); }

std::uint64_t SizesOf(const model::Run& run) {
  std::uint64_t hash = run.series.size();
  for (const model::Series& series : run.series) Mix(hash, series.size());
  return hash;
}

std::uint64_t HashOf(const model::Run& run) {
  std::uint64_t hash = SizesOf(run);
  for (const model::Series& series : run.series) {
    for (const double value : series.values) Mix(hash, std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

// Bit by bit, so that NaN equals NaN.
bool SameValues(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double mine, double theirs) {
    return std::bit_cast<std::uint64_t>(mine) == std::bit_cast<std::uint64_t>(theirs);
  });
}

bool SameSeries(const model::Series& a, const model::Series& b) {
  return a.raw == b.raw && a.labels == b.labels && a.axis == b.axis && a.steps == b.steps && a.lines == b.lines &&
         SameValues(a.values, b.values) && SameValues(a.times, b.times);
}

bool SameEvents(const model::Event& a, const model::Event& b) {
  return model::SameWords(a, b) && a.place.line == b.place.line;
}

bool IsCopy(const model::Run& a, const model::Run& b) {
  return std::equal(a.series.begin(), a.series.end(), b.series.begin(), b.series.end(), SameSeries) &&
         std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(), SameEvents);
}

// Whether one stands in the folder of the other, or in one below it.
bool AreNested(const std::string& a, const std::string& b) {
  const std::string& outer = a.size() < b.size() ? a : b;
  const std::string& inner = a.size() < b.size() ? b : a;
  return outer == inner || (outer.empty() ? !inner.starts_with('/') : inner.starts_with(outer + "/"));
}

// The highest first, then as given.
bool IsHigher(const Unit* a, const Unit* b) {
  const auto depth = [](const Unit* unit) {
    return std::count(unit->run_directory.begin(), unit->run_directory.end(), '/');
  };
  return std::make_tuple(depth(a), a->order) < std::make_tuple(depth(b), b->order);
}

}  // namespace

void JoinCopies(std::vector<Unit>& units) {
  // Points are only looked at where another file has as many: a long one alone costs nothing.
  std::map<std::tuple<std::string, std::uint64_t>, std::vector<Unit*>> of_one_size;
  for (Unit& unit : units) {
    if (unit.merged_away || !unit.has_points) continue;
    // Runs of one database are what the tracker says they are.
    const bool apart = !unit.run.sources.front().run.empty() || unit.run.sources.size() > 1;
    if (!apart) of_one_size[{unit.format, SizesOf(unit.run)}].push_back(&unit);
  }
  std::map<std::tuple<std::string, std::uint64_t>, std::vector<Unit*>> groups;
  for (const auto& [key, members] : of_one_size) {
    for (Unit* const unit : members) {
      if (members.size() > 1) groups[{unit->format, HashOf(unit->run)}].push_back(unit);
    }
  }
  for (auto& [key, members] : groups) {
    if (members.size() < 2 || !HasEnoughValues(*members.front())) continue;
    std::stable_sort(members.begin(), members.end(), IsHigher);
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (!AreNested(members.front()->run_directory, members[i]->run_directory)) continue;
      if (!IsCopy(members.front()->run, members[i]->run)) continue;
      AbsorbByMerging(*members.front(), *members[i]);
    }
  }
}

}  // namespace vigil::assemble
