// Reports made by hand: what detectors and diagnosis would hand over for runs that everybody has seen. Ids that begin
// with "sample" are in no row, so that expected outputs do not change with the words of the catalogue. For the same
// reason their statements name no template: such a statement reads as its id.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"

namespace vigil::report::samples {

model::RunReport DivergedRun();
model::RunReport HiddenNanRun();
model::RunReport HealthyRun();
model::RunReport UndecidedRun();
model::RunReport RlRun();         // no loss, a reward that stays flat, several signals
model::RunReport RestartedRun();  // goes back from step 200 to 101
model::RunReport OnePointRun();
model::RunReport AllNanRun();
model::RunReport ConstantRun();
model::RunReport EmptyRun();    // nothing was logged
model::RunReport HostileRun();  // names and texts that try to break out of terminal and page

model::RunReport EpochRun();  // a table by epochs, with a plan in steps

// A statement that reads as `text`, with arguments for the report to reason with.
model::Statement Said(std::string text, std::vector<model::Argument::Value> arguments = {});
model::Position Step(std::int64_t count);
model::Position Epoch(std::int64_t count);

model::Report One(model::RunReport run);
model::Report Several();

// `count` points of noise around 2, one spike of one point at `spike_at`, one NaN at `nan_at`.
model::Series LongSeries(std::size_t count, std::size_t spike_at, std::size_t nan_at);

}  // namespace vigil::report::samples
