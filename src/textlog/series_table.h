// The series that a log's names belong to. Lines repeat their names in the same order, so each name remembers which one
// came behind it: finding the series of the next number costs one comparison.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/ingest.h"
#include "tabular/thinning.h"
#include "textlog/row_place.h"

namespace vigil::textlog {

class SeriesTable {
 public:
  static constexpr std::uint64_t kMostPoints = tabular::kMostPoints;
  explicit SeriesTable(ingest::PartBuilder& builder, std::uint64_t most_points = tabular::kMostPoints);

  // A name as a rank's lines use it. `known`: the vocabulary has it.
  struct Entry {
    std::string name;
    std::int32_t rank = -1;
    Origin origin = Origin::kLine;
    bool known = false;
    bool is_metric = false;  // known, and says how training goes (not the epoch)
    bool is_loss = false;    // the training loss
    bool is_weak = false;    // "cost" is the loss where nothing else is
    bool is_grad_norm = false;
    bool in_seconds = false;
    bool in_gibibytes = false;
    bool is_share = false;  // of one, unless the value says per cent
    bool is_open = false;
    ingest::PartBuilder::SeriesId series = 0;
    std::int64_t last_step = -1;
    std::uint32_t last_start = 0;
    std::uint32_t successor = 0;
  };

  // The place of that name in the table, 0 when it has none. A name that the vocabulary does not know gets one only
  // when `keep_unknown` says that the line is worth it. Some thousand names have room, and as many ranks as use them;
  // what has none is noted.
  std::uint32_t Find(std::string_view name, std::int32_t rank, Origin origin, bool keep_unknown);
  bool empty() const { return entries_.size() == 1; }
  bool HasOpenLoss() const;
  const Entry& entry(std::uint32_t index) const { return entries_[index]; }
  // Appends a point. A step that comes twice (ranks that print the same line) is kept once, unless steps went back
  // between, or the place says that the later value counts.
  void Add(std::uint32_t index, double value, const RowPlace& place);
  // A log of hundreds of millions of points is thinned as it is read, evenly, so that memory stays bounded: every
  // stride-th point of a series is kept, and those that leave the level of the one before (spikes, the first of NaN).
  std::uint64_t stride() const { return thinning_.stride(); }
  // Where several kinds of lines use a name, the kind with most points keeps it; the others are left out, and so are
  // losses of lines that did not say where the training was when others did. May be called at any time.
  void Settle();
  // Nothing more comes: every series ends with its last point. Before Settle.
  void Finish();

 private:
  void AddAgain(const Entry& entry, double value, const RowPlace& place);
  void MakeRoom();
  std::uint32_t FindSlowly(std::string_view name, std::int32_t rank, Origin origin, bool keep_unknown);

  ingest::PartBuilder& builder_;
  tabular::Thinning thinning_;
  std::vector<Entry> entries_;  // the first one is no name: the beginning of the chain
  std::unordered_map<std::string, std::uint32_t> index_;
  std::unordered_set<std::string> names_;  // of the entries, whatever their rank
  bool left_out_ = false;                  // there was no room for another
  std::uint32_t previous_ = 0;
  std::int64_t latest_step_ = -1;
  std::uint32_t start_ = 0;  // how often steps went back
  std::uint64_t most_points_;
  std::uint64_t points_ = 0;
};

}  // namespace vigil::textlog
