// doc/accuracy.md: what stands around its generated parts.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace vigil::accuracy {

// The generated parts, in the order of the page.
inline constexpr std::array<std::string_view, 9> kParts = {"held-out", "scale", "shipped", "twins",   "fixtures",
                                                           "gym",      "made",  "corpus",  "remedies"};

// The page before anything was measured: each part says that it was not run.
std::string EmptyPage();
// The new page, with the parts that were not computed now as the old page has them.
std::string KeepParts(std::string page, const std::string& old_page,
                      const std::array<bool, kParts.size()>& is_computed);

}  // namespace vigil::accuracy
