// What the tests of the journal share: a folder that goes away, a visitor that keeps everything, journals as bytes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace vigil::journal {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vigil_journal_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> JournalsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".vigil") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

struct Point {
  std::int64_t step = 0;
  std::uint64_t bits = 0;
  std::uint64_t time_ms = 0;
  bool operator==(const Point&) const = default;
};

// Everything that a journal holds.
struct Kept : Visitor {
  std::vector<Begin> begins;
  std::map<std::uint32_t, Definition> definitions;
  std::map<std::uint32_t, std::vector<Point>> points;
  std::vector<Event> events;
  std::vector<Hyperparameter> settings;
  std::vector<Batch> batches;
  std::vector<Artifact> artifacts;
  std::vector<DroppedRecords> dropped;
  std::vector<ClockPair> clocks;
  std::vector<End> ends;
  std::vector<std::string> damages;
  std::vector<std::uint64_t> cuts;
  std::uint64_t missing = 0;
  std::string refused;

  void OnBegin(const Begin& it) override { begins.push_back(it); }
  void OnDefinition(const Definition& it) override { definitions[it.id] = it; }
  void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps, std::span<const std::uint64_t> times,
                 std::span<const double> values) override {
    for (std::size_t i = 0; i < steps.size(); ++i)
      points[series].push_back({steps[i], std::bit_cast<std::uint64_t>(values[i]), times[i]});
  }
  void OnEvent(const Event& it) override { events.push_back(it); }
  void OnHyperparameter(const Hyperparameter& it) override { settings.push_back(it); }
  void OnBatch(const Batch& it) override { batches.push_back(it); }
  void OnArtifact(const Artifact& it) override { artifacts.push_back(it); }
  void OnDropped(const DroppedRecords& it) override { dropped.push_back(it); }
  void OnClock(const ClockPair& it) override { clocks.push_back(it); }
  void OnEnd(const End& it) override { ends.push_back(it); }
  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t blocks, std::string_view reason) override {
    damages.push_back(fmt::format("{}-{}: {}", offset, resumed, reason));
    missing += blocks;
  }
  void OnCut(std::uint64_t offset) override { cuts.push_back(offset); }
  void OnRefused(std::string_view reason) override { refused = reason; }

  std::size_t size() const {
    std::size_t count = 0;
    for (const auto& [series, column] : points) count += column.size();
    return count;
  }
};

inline Kept Decode(std::string_view bytes, std::size_t piece = 0) {
  Kept kept;
  Decoder decoder(kept);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (bool last = false; !last;) {
    end = piece == 0 ? bytes.size() : std::min(bytes.size(), end + piece);
    last = end == bytes.size();
    begin += decoder.Consume(bytes.substr(begin, end - begin), last);
  }
  return kept;
}

inline Begin SampleBegin() {
  Begin begin;
  begin.run = "run-1";
  begin.name = "test";
  begin.rank = 3;
  begin.world = 8;
  begin.host = "host";
  begin.ring_id = "ring";
  return begin;
}

inline Definition SampleDefinition(std::uint32_t id) {
  Definition definition;
  definition.id = id;
  definition.name = fmt::format("series-{}", id);
  definition.unit = "nats";
  definition.labels = {{"layer", std::to_string(id)}};
  definition.aggregation = model::Aggregation::kMean;
  return definition;
}

// A journal of some blocks, and where each block begins.
struct Sample {
  std::string bytes;
  std::vector<std::size_t> starts;
};

inline Sample MakeSample(int blocks, int steps_per_block) {
  Sample sample;
  sample.bytes = FileHeader();
  BlockBuilder builder;
  builder.AddBegin(SampleBegin());
  builder.SetClock({1'000'000'000, 1'700'000'000'000'000'000});
  for (std::uint32_t id = 0; id < 3; ++id) builder.AddEntry(Section::kDefinitions, EncodeEntry(SampleDefinition(id)));
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < steps_per_block; ++i) {
      const int step = block * steps_per_block + i;
      for (std::uint32_t id = 0; id < 3; ++id)
        builder.Add(id, step, 1.0 / (1 + step + static_cast<int>(id)), static_cast<std::uint64_t>(1000 + step));
    }
    Event event;
    event.step = block;
    event.name = "note";
    event.text = fmt::format("block {}", block);
    builder.AddEntry(Section::kEvents, EncodeEntry(event));
    sample.starts.push_back(sample.bytes.size());
    builder.Finish(static_cast<std::uint32_t>(block), sample.bytes);
  }
  return sample;
}

}  // namespace vigil::journal
