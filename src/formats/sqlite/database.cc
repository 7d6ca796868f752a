#include "formats/sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace vigil::formats::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
// Virtual-machine steps per byte of the image: a row of a few bytes costs some ten steps. A table that claims more rows
// than its bytes can hold (pages that point at each other) ends there.
constexpr std::uint64_t kStepsPerByte = 4;
constexpr std::uint64_t kLeastSteps = 100'000;
constexpr int kStepsBetweenCalls = 1000;
constexpr int kLongestText = 1 << 24;

// Reading columns of tables, and nothing else: no function, no recursion, no pragma, no other database.
int Permit(void* /*context*/, int action, const char* /*a*/, const char* /*b*/, const char* /*c*/, const char* /*d*/) {
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

int SpendSteps(void* context) {
  auto& left = *static_cast<std::uint64_t*>(context);
  left -= std::min<std::uint64_t>(left, kStepsBetweenCalls);
  return left == 0 ? 1 : 0;
}

// A name as SQL text. Ours hold neither quotes nor zero bytes; a column of an unrecognised table is never put into SQL.
std::string Quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

// No tracker computes columns; a schema that does could make any row expensive.
bool ComputesColumns(std::string_view create) {
  const std::string lower = ToLower(create);
  return lower.find(" as ") != std::string::npos || lower.find(" as(") != std::string::npos;
}

std::string Complaint(sqlite3* connection, int code) {
  if (code == SQLITE_INTERRUPT) return "more work than a sound database of this size can make";
  // SQLite's own words for one and the same damage vary from one reading to the next.
  constexpr int kPrimaryCode = 0xFF;
  if ((code & kPrimaryCode) == SQLITE_CORRUPT) return "database disk image is malformed";
  return sqlite3_errmsg(connection);
}

}  // namespace

void Rows::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

bool Rows::Next() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) problem_ = Complaint(sqlite3_db_handle(statement_.get()), code);
  statement_.reset();
  return false;
}

bool Rows::IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
std::int64_t Rows::Integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Rows::Number(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Rows::Text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Database::IsImage(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<Database> Database::Open(std::string image) {
  constexpr std::size_t kHeaderBytes = 100;
  if (!IsImage(image) || image.size() < kHeaderBytes) return Fail(ErrorCode::kNoData, "no SQLite database");
  // The log was laid over it; without this SQLite would look for one, which memory does not have.
  image[18] = 1;
  image[19] = 1;
  Database database;
  database.image_ = std::make_unique<std::string>(std::move(image));
  database.budget_ = std::make_unique<Budget>();
  std::string& bytes = *database.image_;
  database.budget_->steps_left = kLeastSteps + kStepsPerByte * bytes.size();
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database.connection_.reset(opened);
  if (code != SQLITE_OK) return Fail(ErrorCode::kLimit, "not enough memory to open the database");
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  auto* const data = reinterpret_cast<unsigned char*>(bytes.data());
  if (sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    return Fail(ErrorCode::kNoData, fmt::format("the database cannot be opened: {}", sqlite3_errmsg(opened)));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_limit(opened, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  // Without it SQLite reads cells that run past their page, and shows whatever memory holds there.
  sqlite3_exec(opened, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(opened, Permit, nullptr);
  sqlite3_progress_handler(opened, kStepsBetweenCalls, SpendSteps, &database.budget_->steps_left);
  return database;
}

Rows Database::Prepare(const std::string& sql) {
  Rows rows;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr);
  rows.statement_.reset(statement);
  if (code != SQLITE_OK) rows.problem_ = Complaint(connection_.get(), code);
  return rows;
}

// Columns of a plain table; none when there is no such table. Views and virtual tables have no page of their own.
std::vector<std::string> Database::ColumnsOf(std::string_view table) {
  std::vector<std::string> columns;
  Rows known = Prepare(
      fmt::format("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '{}' AND rootpage > 0", table));
  const bool found = known.Next() && !ComputesColumns(known.Text(0));
  if (!known.problem().empty()) problem_ = known.problem();
  if (!found) return columns;
  const Rows rows = Prepare(fmt::format("SELECT * FROM {} LIMIT 0", Quoted(table)));
  if (!rows.problem().empty()) problem_ = rows.problem();
  const int count = rows.statement_ == nullptr ? 0 : sqlite3_column_count(rows.statement_.get());
  for (int i = 0; i < count; ++i) {
    const char* const name = sqlite3_column_name(rows.statement_.get(), i);
    columns.emplace_back(name == nullptr ? "" : name);
  }
  return columns;
}

bool Database::Has(std::string_view table, const std::vector<std::string_view>& columns) {
  const std::vector<std::string> present = ColumnsOf(table);
  return !present.empty() && std::all_of(columns.begin(), columns.end(), [&](std::string_view column) {
    return std::find(present.begin(), present.end(), column) != present.end();
  });
}

Rows Database::Select(std::string_view table, const std::vector<std::string_view>& columns) {
  const std::vector<std::string> present = ColumnsOf(table);
  std::vector<std::string> wanted;
  for (std::string_view column : columns) {
    const bool optional = column.starts_with('?');
    if (optional) column.remove_prefix(1);
    const bool missing = optional && std::find(present.begin(), present.end(), column) == present.end();
    wanted.push_back(missing ? "NULL" : Quoted(column));
  }
  // An index would give the rows in its own order, and be read beside damage in the table.
  return Prepare(fmt::format("SELECT {} FROM {} NOT INDEXED", Join(wanted, ", "), Quoted(table)));
}

}  // namespace vigil::formats::sqlite
