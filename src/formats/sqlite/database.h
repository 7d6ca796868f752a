// A SQLite database in memory, opened to look at a few tables. The file itself is never touched: no lock is taken, no
// journal is rolled back, a writer is not disturbed. Whatever the schema says, only plain tables are read, no function
// is called, and the work is bounded by the size of the image.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

struct sqlite3;
struct sqlite3_stmt;

namespace vigil::formats::sqlite {

// Lays the committed pages of a write-ahead log (`bytes`) over the image of its database, as SQLite would. Frames of
// another generation, with a wrong checksum, or behind the last commit do not count. Returns how many frames were used.
std::uint64_t ApplyLog(std::string& image, std::string_view bytes);

// The rows of one query, in the order of the table.
class Rows {
 public:
  // Moves to the next row; false at the end, and where the database is damaged.
  bool Next();
  bool IsNull(int column) const;
  std::int64_t Integer(int column) const;
  double Number(int column) const;
  // Valid until the next call of Next.
  std::string_view Text(int column) const;
  // What went wrong; empty when the end was reached.
  const std::string& problem() const { return problem_; }

 private:
  friend class Database;
  struct Close {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Close> statement_;
  std::string problem_;
};

class Database {
 public:
  static bool IsImage(std::string_view bytes);
  // `image` is a whole file. An Error when it is no database at all.
  static Result<Database> Open(std::string image);

  // Whether there is a plain table of that name with all these columns.
  bool Has(std::string_view table, const std::vector<std::string_view>& columns);
  // The table's columns, in that order; a column that starts with '?' may be missing, and is null then.
  Rows Select(std::string_view table, const std::vector<std::string_view>& columns);
  // What went wrong when tables were looked up; empty when nothing did.
  const std::string& problem() const { return problem_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Budget {
    std::uint64_t steps_left = 0;
  };

  Database() = default;
  Rows Prepare(const std::string& sql);
  std::vector<std::string> ColumnsOf(std::string_view table);

  std::unique_ptr<std::string> image_;  // outlives the connection, which borrows it
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<sqlite3, Close> connection_;
  std::string problem_;
};

}  // namespace vigil::formats::sqlite
