// What vigil's readers make of many inputs, for a script that has another reader for each (differential.py): one
// long-lived process. On standard input, again and again, a line "KIND BYTES" and so many bytes; on standard output a
// line of JSON for each. Texts are in hexadecimal and numbers are strings, so that nothing is lost on the way.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "codec/codec.h"
#include "codec/pickle.h"
#include "formats/csv/row.h"
#include "formats/formats.h"
#include "formats/sqlite/database.h"
#include "ingest/ingest.h"

namespace {

using namespace vigil;

std::string Hex(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out + '"';
}

std::string Number(double value) { return fmt::format("\"{}\"", FormatExact(value)); }

// [a, b, c] of texts that are JSON already.
std::string List(const std::vector<std::string>& items) { return "[" + Join(items, ",") + "]"; }

// ---- JSON: the tokens

std::string TokenOf(const codec::JsonScanner& scanner, codec::JsonToken token) {
  switch (token) {
    case codec::JsonToken::kObjectBegin:
      return "\"{\"";
    case codec::JsonToken::kObjectEnd:
      return "\"}\"";
    case codec::JsonToken::kArrayBegin:
      return "\"[\"";
    case codec::JsonToken::kArrayEnd:
      return "\"]\"";
    case codec::JsonToken::kKey:
      return List({"\"key\"", Hex(codec::UnescapeJson(scanner.text()))});
    case codec::JsonToken::kString:
      return List({"\"text\"", Hex(codec::UnescapeJson(scanner.text()))});
    case codec::JsonToken::kNumber:
      return List({"\"number\"", Number(scanner.number())});
    case codec::JsonToken::kTrue:
      return "true";
    case codec::JsonToken::kFalse:
      return "false";
    default:
      return "null";
  }
}

std::string DumpJson(std::string_view bytes) {
  codec::JsonScanner scanner(bytes);
  std::vector<std::string> tokens;
  for (;;) {
    const codec::JsonToken token = scanner.Next();
    const bool ends =
        token == codec::JsonToken::kEnd || token == codec::JsonToken::kBroken || token == codec::JsonToken::kNeedMore;
    if (!ends) tokens.push_back(TokenOf(scanner, token));
    if (ends) return fmt::format(R"({{"whole":{},"tokens":{}}})", token == codec::JsonToken::kEnd, List(tokens));
  }
}

// ---- tables: the cells of each row

std::string DumpCsv(std::string_view bytes) {
  std::string text(bytes);
  if (!text.ends_with('\n')) text += '\n';
  formats::csv::RowParser parser(',');
  std::vector<std::string> rows;
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  while (at != end) {
    at = parser.Parse(at, end);
    if (at == nullptr) break;  // a quote that does not close
    std::vector<std::string> cells;
    for (const formats::csv::Cell& cell : parser.cells())
      cells.push_back(List({Hex(cell.text), cell.is_number ? Number(cell.number) : "null"}));
    rows.push_back(List(cells));
  }
  return fmt::format(R"({{"rows":{},"open":{}}})", List(rows), at == nullptr);
}

// ---- pickles: values by index, as values may hold themselves

std::string ValueOf(const codec::pickle::Value& value) {
  using codec::pickle::Kind;
  std::vector<std::string> items;
  for (const codec::pickle::Index item : value.items) items.push_back(fmt::format("{}", item));
  switch (value.kind) {
    case Kind::kNothing:
      return R"(["none"])";
    case Kind::kTruth:
      return fmt::format(R"(["truth",{}])", value.truth);
    case Kind::kWhole:
      return fmt::format(R"(["whole","{}"])", value.whole);
    case Kind::kNumber:
      return fmt::format(R"(["number",{}])", Number(value.number));
    case Kind::kText:
      return fmt::format(R"(["text",{}])", Hex(value.text));
    case Kind::kList:
      return fmt::format(R"(["list",{}])", List(items));
    case Kind::kDict:
      return fmt::format(R"(["dict",{}])", List(items));
    case Kind::kName:
      return fmt::format(R"(["name",{}])", Hex(value.text));
    case Kind::kObject:
      return R"(["object"])";
  }
  return "null";
}

std::string DumpPickle(std::string_view bytes) {
  const codec::pickle::Document document = codec::pickle::Parse(bytes);
  std::vector<std::string> values;
  for (const codec::pickle::Value& value : document.values) values.push_back(ValueOf(value));
  return fmt::format(R"({{"problem":{},"root":{},"bytes":{},"values":{}}})", Hex(document.problem),
                     document.root == codec::pickle::kNone ? -1 : static_cast<std::int64_t>(document.root),
                     document.size_bytes, List(values));
}

// ---- event files: the points of each series

std::string PointsOf(const model::Series& series) {
  std::vector<std::string> points;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double time = series.times.empty() ? model::kNoValue : series.times[i];
    points.push_back(List({fmt::format("\"{}\"", series.steps[i]), Number(time), Number(series.values[i])}));
  }
  return List({Hex(series.raw), List(points)});
}

std::string DumpEvents(std::string_view bytes) {
  const ingest::Format* const format = formats::Find("tfevents");
  const auto run = ingest::ReadBytes("events.out.tfevents.1", bytes, *format);
  std::vector<std::string> series;
  if (run) {
    for (const model::Series& one : run->series) series.push_back(PointsOf(one));
  }
  return fmt::format(R"({{"series":{}}})", List(series));
}

// ---- logs of W&B: the records

std::string DumpWandb(std::string_view bytes) {
  constexpr std::size_t kFileHeaderBytes = 7;
  std::vector<std::string> records;
  codec::LogBlocks blocks(kFileHeaderBytes);
  const std::string_view body = bytes.substr(std::min(bytes.size(), kFileHeaderBytes));
  codec::LogRecord record = blocks.Next(body);
  // Up to the first damage: other readers go no further.
  for (; record.state == codec::LogState::kRecord; record = blocks.Next(body)) records.push_back(Hex(record.payload));
  return fmt::format(R"({{"damaged":{},"records":{}}})", record.state == codec::LogState::kDamaged, List(records));
}

// ---- databases: the rows of the tables that trackers keep metrics in. Behind the image stands its write-ahead log:
// the first four bytes of the input, in little-endian order, say where that begins.

std::string RowsOf(formats::sqlite::Database& database, const std::vector<std::string_view>& columns) {
  std::vector<std::string> rows;
  formats::sqlite::Rows selected = database.Select("metrics", columns);
  while (selected.Next()) {
    std::vector<std::string> cells;
    for (int i = 0; i < static_cast<int>(columns.size()); ++i)
      cells.push_back(
          List({Hex(selected.Text(i)), Number(selected.Number(i)), fmt::format("\"{}\"", selected.Integer(i))}));
    rows.push_back(List(cells));
  }
  return fmt::format(R"({{"rows":{},"problem":{}}})", List(rows), Hex(selected.problem()));
}

std::string DumpDatabase(std::string_view bytes) {
  std::uint32_t image_bytes = 0;
  if (bytes.size() < sizeof(image_bytes)) return "null";
  std::memcpy(&image_bytes, bytes.data(), sizeof(image_bytes));
  bytes.remove_prefix(sizeof(image_bytes));
  std::string image(bytes.substr(0, image_bytes));
  if (bytes.size() > image_bytes) formats::sqlite::ApplyLog(image, bytes.substr(image_bytes));
  auto database = formats::sqlite::Database::Open(std::move(image));
  if (!database) return "null";
  const std::vector<std::string_view> mlflow = {"key", "value", "step", "is_nan"};
  const std::vector<std::string_view> trackio = {"run_name", "step", "timestamp", "metrics"};
  if (database->Has("metrics", mlflow)) return RowsOf(*database, mlflow);
  if (database->Has("metrics", trackio)) return RowsOf(*database, trackio);
  if (database->problem().empty()) return "null";
  return fmt::format(R"({{"rows":[],"problem":{}}})", Hex(database->problem()));
}

// ----

struct Kind {
  std::string_view name;
  std::string (*dump)(std::string_view bytes);
};
constexpr std::array<Kind, 6> kKinds = {{{"json", DumpJson},
                                         {"csv", DumpCsv},
                                         {"pickle", DumpPickle},
                                         {"tfevents", DumpEvents},
                                         {"wandb", DumpWandb},
                                         {"sqlite", DumpDatabase}}};

}  // namespace

int main() {
  std::string kind;
  std::size_t size = 0;
  while (std::cin >> kind >> size) {
    std::cin.get();  // the end of the line
    std::string bytes(size, '\0');
    std::cin.read(bytes.data(), static_cast<std::streamsize>(size));
    for (const Kind& known : kKinds) {
      if (known.name == kind) fmt::print("{}\n", known.dump(bytes));
    }
    std::fflush(stdout);
  }
  return 0;
}
