// What was measured of a finding or a cause, and a real case, for its page.
#pragma once

#include <string>

#include "catalogue/figures.h"
#include "report/catalogue_page.h"
#include "report/screen.h"

namespace vigil::report {

// How often it was right, silent, late or wrong on labelled runs.
void AddFindingFigures(CataloguePage& page);
void AddCauseFigures(CataloguePage& page);
// The curve of a labelled run that shows it, or that none does.
void AddExample(CataloguePage& page);

// "tests/fixtures/runs/hf/bad-sample-s1 (bad-sample): loss, found at step 57".
std::string ExampleTitle(const catalogue::ExampleRow& example);
void DrawExample(Screen& screen, const catalogue::ExampleRow& example);

}  // namespace vigil::report
