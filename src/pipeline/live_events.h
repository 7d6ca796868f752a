// The events of one growing part, and where they are in its run. Private to pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"

namespace vigil::pipeline {

class LiveEvents {
 public:
  // Those of the part as they are now, as source `place` of the run.
  void Take(const ingest::PartBuilder& builder, std::uint32_t place);
  // Looks for them in the joined run: they can only be added to where they are one behind the other, as they are.
  void Find(const model::Run& run);

  // Whether the part has the same events as when they were taken.
  bool IsUnchanged(const model::Run& part) const;
  // Whether those of the part can be put into the run without joining. Of two files that report the same event the join
  // keeps one, and unless the run has `all_points` from this part, a restart is placed by what the other file holds.
  bool CanUpdate(const model::Run& part, const model::Run& run, bool all_points) const;
  // Puts those that are new or other ones now into the run. How many more the run has behind `end()` as it was before.
  std::ptrdiff_t Update(const model::Run& part, model::Run& run);

  // The events of others in the run have moved by so many.
  void MoveBy(std::ptrdiff_t places) {
    first_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(first_) + places);
  }
  std::size_t first() const { return first_; }
  std::size_t end() const { return first_ + taken_.size(); }

 private:
  std::vector<model::Event> taken_;  // as the join hands them on
  std::uint32_t place_ = 0;
  bool are_together_ = false;  // in the run, from first_ on
  std::size_t first_ = 0;
};

}  // namespace vigil::pipeline
