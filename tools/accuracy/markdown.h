// Tables and generated parts of a Markdown page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vigil::accuracy {

using Cells = std::vector<std::string>;
std::string Row(const Cells& cells);
// The row of names and the line below it.
std::string Header(const Cells& names);
// Text from files and labels that must not break the table.
std::string Cell(const std::string& text);

// "7 of 9", or a dash where nothing could be counted.
std::string Of(int part, int whole);
// "78%", or a dash for NaN.
std::string Share(double share);
// "78.2% (7 of 9)", or a dash where nothing could be counted.
std::string ShareOf(int part, int whole);

// The page with the part between `<!-- begin NAME -->` and `<!-- end NAME -->` replaced; the page itself when it has
// no such part.
std::string ReplacePart(const std::string& page, const std::string& name, const std::string& content);
// That part, empty when there is none.
std::string PartOf(const std::string& page, const std::string& name);
// A part with this content and the marks around it.
std::string MarkedPart(const std::string& name, const std::string& content = "");

}  // namespace vigil::accuracy
