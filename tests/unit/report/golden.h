// Compares a text with a file under tests/unit/report/golden; with VIGIL_REWRITE set, writes it instead.
#pragma once

#include <string>
#include <string_view>

namespace vigil::report {

void ExpectGolden(const std::string& name, std::string_view text);

}  // namespace vigil::report
