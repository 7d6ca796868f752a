// ingest/time: times as text.
#pragma once

#include <string_view>

namespace vigil::ingest {

// Unix seconds of an ISO 8601 time ("2026-08-22T15:22:22.5+02:00", a blank for the T, no zone meaning UTC);
// model::kNoValue for anything else.
double ParseUnixTime(std::string_view text);

}  // namespace vigil::ingest
