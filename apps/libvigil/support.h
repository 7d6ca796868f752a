// What the two halves of the C ABI share.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "record/record.h"

namespace vigil::capi {

using record::Code;

inline int ToInt(Code code) { return static_cast<int>(code); }

inline std::string_view OrEmpty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Why the last opening of this thread failed.
void KeepError(std::string_view message);
// Hands the code of an opening back: one that failed without a reason of its own has that of its code.
int Explained(int code);

// No exception crosses the border.
template <class Work>
int Guarded(Work&& work) noexcept {
  try {
    return ToInt(work());
  } catch (...) {
    return ToInt(Code::kNoMemory);
  }
}

// The caller's struct may be that of an older version: what it does not have stays as it is by default.
template <class Struct>
bool CopyGiven(const Struct* given, Struct& into) {
  if (given == nullptr || given->size < sizeof(given->size)) return false;
  std::memcpy(&into, given, std::min<std::size_t>(given->size, sizeof(Struct)));
  return true;
}

template <class Enum>
bool IsWithin(std::int32_t value, Enum last) {
  return value >= 0 && value <= static_cast<std::int32_t>(last);
}

}  // namespace vigil::capi
