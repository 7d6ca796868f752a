#include "catalogue/says.h"
#include "formats/sqlite/sqlite.h"
#include "formats/sqlite/trackers.h"

namespace vigil::formats {
namespace sqlite {

void ReportProblem(const Rows& rows, std::string_view table, ingest::PartBuilder& builder) {
  if (!rows.problem().empty()) builder.ReportDamage(says::DamageTable{.table = table, .message = rows.problem()});
}

}  // namespace sqlite

namespace {

class SqliteReader : public ingest::Reader {
 public:
  explicit SqliteReader(ingest::PartBuilder& builder) : builder_(builder) {}

  bool NeedsWholeFile() const override { return true; }
  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }
  std::string_view CompanionSuffix() const override { return "-wal"; }
  void TakeCompanion(std::string_view bytes) override { log_ = bytes; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    std::string image(bytes);
    // A database is created in its log: the file itself may hold a page only, or none that is current.
    const std::uint64_t frames = sqlite::ApplyLog(image, log_);
    if (frames != 0) builder_.AddNote(says::NoteWriteAheadLog{.pages = frames});
    auto database = sqlite::Database::Open(std::move(image));
    if (!database) {
      builder_.ReportDamage(database.error());
    } else {
      ReadTables(*database);
    }
    return bytes.size();
  }

 private:
  void ReadTables(sqlite::Database& database) {
    model::Source& source = builder_.part().sources.front();
    if (sqlite::IsMlflow(database)) {
      source.format = "mlflow-db";
      sqlite::ReadMlflow(database, builder_);
    } else if (sqlite::IsTrackio(database)) {
      source.format = "trackio-db";
      sqlite::ReadTrackio(database, builder_);
    }
    if (!database.problem().empty()) builder_.ReportDamage(says::DamageError{.message = database.problem()});
  }

  ingest::PartBuilder& builder_;
  std::string log_;
};

}  // namespace

int RecogniseSqlite(const ingest::Probe& probe) { return sqlite::Database::IsImage(probe.head) ? 100 : 0; }
std::unique_ptr<ingest::Reader> OpenSqlite(ingest::PartBuilder& builder) {
  return std::make_unique<SqliteReader>(builder);
}

}  // namespace vigil::formats
