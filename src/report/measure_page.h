// The page of a measure: its levels, and what the fitted weights make of each.
#pragma once

#include "catalogue/catalogue.h"
#include "report/catalogue_page.h"

namespace vigil::report {

CataloguePage PageOfMeasure(const catalogue::MeasureRow& row);

}  // namespace vigil::report
