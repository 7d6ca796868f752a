// Text in UTF-16 on its way to readers that know UTF-8: what PowerShell writes, with or without a mark in front, or
// appends to a file that another program began in ASCII.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ingest/bytes/encoding.h"

namespace vigil::ingest {

class Utf16Stream {
 public:
  // For a file that begins with `head`; empty when nothing in it is UTF-16. `marked`: only a byte-order mark counts.
  static std::optional<Utf16Stream> ForContent(std::string_view head, bool marked);

  // Appends the UTF-8 of what can be decoded so far to `text`; with `last` of everything.
  void Decode(std::string_view bytes, bool last, std::string& text);

 private:
  Utf16Stream(Encoding encoding, bool mixed, std::size_t mark) : encoding_(encoding), mixed_(mixed), mark_(mark) {}
  std::size_t DecodeMixed(std::string_view bytes, bool last, std::string& text);

  Encoding encoding_;
  bool mixed_;            // characters of one and of two bytes, in stretches
  std::size_t mark_;      // bytes of a mark that are still to be passed
  bool is_wide_ = false;  // of a mixed one: in a stretch of two
  std::string rest_;      // read, and not decoded yet
};

}  // namespace vigil::ingest
