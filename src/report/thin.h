// Thinning of long curves for a page: the points that a picture needs, and every kind of trouble.
#pragma once

#include <cstddef>
#include <vector>

#include "model/run.h"

namespace vigil::report {

// Indices, rising, of about `most` points that draw the same picture: of each stretch the smallest and the largest
// value, the first and the last non-finite one; the ends of the series. All indices when there are no more than `most`.
// One pass.
std::vector<std::size_t> Thin(const model::Series& series, std::size_t most);

}  // namespace vigil::report
