// A page of text as a terminal shows it: lines that fit the width, in colour or plain, in Unicode or ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace vigil::report {

enum class Ink : std::uint8_t { kPlain, kBold, kDim, kRed, kYellow, kGreen, kCyan };

// `text` broken at blanks into lines of at most `width` columns; a longer word is cut.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);
// `text` cut to `width` columns, the cut shown by `ellipsis`.
std::string Fit(std::string_view text, std::size_t width, std::string_view ellipsis);
// The same with the cut in the middle: names differ at their ends.
std::string FitMiddle(std::string_view text, std::size_t width, std::string_view ellipsis);
// `text` in plain ASCII: arrows, dashes and the like spelled out, the rest as '?'.
std::string ToAscii(std::string_view text);

class Screen {
 public:
  explicit Screen(const TextOptions& options);

  std::size_t width() const { return width_; }
  bool unicode() const { return unicode_; }
  // The Unicode text, or what stands for it in ASCII.
  std::string_view Glyph(std::string_view unicode, std::string_view ascii) const { return unicode_ ? unicode : ascii; }
  std::string Paint(std::string_view text, Ink ink) const;
  // Text from a file or the catalogue, safe to print here.
  std::string Clean(std::string_view text) const;
  std::string Cut(std::string_view text, std::size_t columns) const { return Fit(text, columns, Glyph("…", "...")); }

  std::string CutMiddle(std::string_view text, std::size_t columns) const {
    return FitMiddle(text, columns, Glyph("…", "..."));
  }

  // A finished line; it is the caller's to make it fit.
  void Raw(std::string_view line);
  void Blank();
  void Heading(std::string_view text);
  // `lead` and then `text` wrapped beside it, `indent` columns in.
  void Item(std::size_t indent, std::string_view lead, std::string_view text, Ink lead_ink = Ink::kPlain,
            Ink text_ink = Ink::kPlain);
  // The same on one line, cut where it does not fit.
  void Short(std::size_t indent, std::string_view lead, std::string_view text, Ink lead_ink = Ink::kPlain,
             Ink text_ink = Ink::kPlain);

  std::string Take() { return std::move(out_); }

 private:
  std::size_t width_;
  bool colour_;
  bool unicode_;
  std::string out_;
};

// `text` and blanks up to `width` columns.
std::string PadRight(std::string_view text, std::size_t width);
std::string PadLeft(std::string_view text, std::size_t width);

}  // namespace vigil::report
