// The trackers whose tables are known, one function each.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "formats/sqlite/database.h"
#include "ingest/ingest.h"

namespace vigil::formats::sqlite {

// More runs than this in one database are not distinguished by anybody; the rest is left out with a note.
inline constexpr std::size_t kMostRuns = 100'000;

bool IsMlflow(Database& database);
void ReadMlflow(Database& database, ingest::PartBuilder& builder);

bool IsTrackio(Database& database);
void ReadTrackio(Database& database, ingest::PartBuilder& builder);

// Reports what ended a query early.
void ReportProblem(const Rows& rows, std::string_view table, ingest::PartBuilder& builder);

}  // namespace vigil::formats::sqlite
