// tabular/json_rows: a JSON object as a flat row: the keys of nested objects joined by '/', values as numbers. What the
// readers of state files and of JSON lines share.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/codec.h"
#include "tabular/column_roles.h"
#include "tabular/row.h"

namespace vigil::tabular {

// The names met so far, as a tree of keys. Loggers write the same keys in the same order again and again, so the key
// that followed last time is tried first, and a row costs neither scanning of keys nor lookups.
class Columns {
 public:
  using Id = ColumnId;
  static constexpr Id kRoot = 0;
  static constexpr Id kNone = kNoColumn;
  static constexpr std::size_t kMostColumns = 20'000;
  static constexpr std::size_t kLongestKey = 256;

  Columns();
  // The column of `key` (as written, escapes and all) below `parent`; kNone for a key that is too long, and for a new
  // one when there are too many.
  Id Find(Id parent, std::string_view key);
  // Takes the next key of the scanner when it is, to the letter, the one that followed last time; else kNone.
  Id TakeFollower(codec::JsonScanner& scanner, Id parent);
  // The key that the scanner has just returned is the one found last: next time it is tried first.
  void LearnFollower(const codec::JsonScanner& scanner);
  // The same without a trace in the order of keys: for a name that stands in a value.
  Id FindAside(std::string_view name);
  const std::string& name(Id column) const { return nodes_[column].name; }
  // By its name; of the parts of the long form ({"name": "loss", "value": 2.5, "step": 3}) only at the top of a row.
  ColumnRole role(Id column) const { return nodes_[column].role; }
  std::size_t size() const { return nodes_.size(); }
  bool full() const { return full_; }

 private:
  struct Node {
    std::string key;
    std::string name;
    Id parent = kNone;
    Id follower = kNone;  // the column that came after this one last time
    codec::JsonKeyText follower_text;
    ColumnRole role = ColumnRole::kMetric;
  };

  Id Move(Id to);
  Id Add(Id parent, std::string_view key, std::string index);

  std::vector<Node> nodes_;
  std::unordered_map<std::string, Id> ids_;
  Id latest_ = kRoot;
  Id before_latest_ = kRoot;
  bool full_ = false;
};

// Reads one object at a time. Numbers, numbers in quotes ("nan" too) and nulls become cells; arrays, booleans, other
// strings but hashes of data and what is nested deeper than kMaxNesting are passed over. A row that names its metric
// in a value (ClearML and others: "metric", "variant", "value") has the cell of that metric.
class RowReader {
 public:
  static constexpr std::size_t kMaxNesting = 4;

  explicit RowReader(Columns& columns) : columns_(columns) {}

  // Call when the scanner has returned kObjectBegin: the row begins. The scanner's text stands behind `lines_before`
  // lines of the file.
  void Begin(std::uint32_t lines_before = 0);
  // Reads on. kObjectEnd: the row is whole. kNeedMore: call again when the scanner has more. kBroken: given up.
  codec::JsonToken Read(codec::JsonScanner& scanner);
  const std::vector<Cell>& cells() const { return cells_; }
  // A number that stands beside the object: the step of a row in a database.
  void AddNumber(std::string_view name, double value);
  // The row as the table of metrics takes it; valid until the next one begins.
  Row row() const;
  // Characters of text (prompts, completions, names) passed over in the row.
  std::size_t text_bytes() const { return text_bytes_; }

 private:
  void FindColumn(const codec::JsonScanner& scanner);
  void AddCell(const codec::JsonScanner& scanner, bool is_null, double value);
  void TakeString(const codec::JsonScanner& scanner);
  void NameValue();
  void EnterObject(const codec::JsonScanner& scanner);

  Columns& columns_;
  std::vector<Cell> cells_;
  std::vector<Columns::Id> path_;
  Columns::Id column_ = Columns::kNone;
  std::size_t skip_to_depth_ = kNotSkipping;
  std::optional<std::uint64_t> fingerprint_;
  std::size_t text_bytes_ = 0;
  bool is_evaluation_ = false;
  bool is_long_ = false;
  std::string long_name_;  // as the row spells it, empty in most
  std::string long_variant_;
  std::uint32_t lines_before_ = 0;

  static constexpr std::size_t kNotSkipping = std::numeric_limits<std::size_t>::max();
};

}  // namespace vigil::tabular
