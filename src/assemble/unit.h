// A run in the making, while its parts are joined.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assemble/compare.h"
#include "assemble/place.h"
#include "ingest/ingest.h"
#include "model/run.h"

namespace vigil::assemble {

// A run in the making: one part at first, then all parts found to belong to it.
struct Unit {
  model::Run run;
  std::string run_directory;
  std::string folder;
  std::string file;
  std::string format;             // of the first part
  std::set<std::string> formats;  // of all
  ingest::FormatTraits traits;    // of `format`
  std::size_t order = 0;          // of the first part, as given
  bool has_points = false;
  bool of_other_folder = false;  // an event file that another folder's writer opened
  bool merged_away = false;      // its parts are in another unit now
  std::int32_t attempt = -1;     // of a launcher that starts the training again
  RankedName rank;               // of the file's name, or of the folder that a launcher gives each rank

  // The curves of the run by which it is compared with others: made when they are asked for, since most files of most
  // folders are placed by their paths.
  const std::vector<Curve>& Curves() const;
  // The points of the run are others now.
  void ForgetCurves() { curves_.reset(); }

 private:
  mutable std::optional<std::vector<Curve>> curves_;
};

// The unit of a part. `writer_folder` is where the writer of an event file stands, empty where that is the file's own.
Unit MakeUnit(model::Run part, const std::string& writer_folder, std::size_t order, ingest::FormatTable formats);

// The values of both were compared: what came of it is kept with the sources of `from`.
void KeepComparison(Unit& from, const Comparison& comparison);
// What `from` held is in the run of `into` already: takes over what else is known of it.
void Absorb(Unit& into, Unit& from);
// Both tell the same training.
void AbsorbByMerging(Unit& into, Unit& from);
// All of them do.
void AbsorbAll(Unit& into, std::span<Unit* const> others);

// The value of a fact, empty when it is not stated.
std::string FactOf(const Unit& unit, std::string_view key);

}  // namespace vigil::assemble
