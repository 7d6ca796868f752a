// The parsers of lines as a table: each row is one kind of line, and the order of the rows is the order in which a line
// is tried. A new kind of line is a class with a Parse function, a row here, and rows in line_parsers_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "textlog/log_line.h"
#include "textlog/log_state.h"

namespace vigil::textlog {

class LineParser {
 public:
  virtual ~LineParser() = default;
  // May shorten line.text to what other parsers are to see.
  virtual Outcome Parse(LogLine& line) = 0;
  // Inside something that spans lines: the next line is wanted whatever it holds.
  virtual bool is_open() const { return false; }
  // The log is at its end, and the steps of all rows are known.
  virtual void Finish() {}
  // Whether Finish decides what the rows are.
  virtual bool decides_at_end() const { return false; }
};

// Which lines a parser is given.
enum class Asked : std::uint8_t {
  kByHint,       // those with one of its hints, and all while it is open
  kByHintOrRow,  // the same, and all while a row of metrics spans lines
  kByWord,       // as kByHintOrRow, where the text itself holds a word of metric lines
  kAlways,
};

struct LineParserRow {
  std::string_view name;
  int priority;              // lines are tried in rising order
  std::string_view matches;  // an example of the lines it takes
  std::string_view reason;   // why it stands here: what would go wrong behind or before its neighbours
  Asked asked;
  std::uint32_t hints;  // bits of HintBits
  bool spans_lines;     // it can be open
  std::unique_ptr<LineParser> (*make)(LogState& state);
};

// All of them, in the order in which they are tried.
std::span<const LineParserRow> LineParserTable();

// The parsers of one log.
class LineParsers {
 public:
  explicit LineParsers(LogState& state);

  // Gives the line to the parsers until one takes it. Returns that one's row, null when none did.
  const LineParserRow* Parse(LogLine& line);
  // Whether a parser is open.
  bool WantsEveryLine() const { return is_any_open_; }
  void Finish();
  // Whether one of them decides at the end what its rows are.
  bool DecideAtEnd() const;
  // For tests: the parser of that name alone.
  LineParser& Get(std::string_view name);

 private:
  const LineParserRow* FindTaker(LogLine& line, bool& asked_spanning);
  bool IsAnyOpen() const;
  bool IsWantedByOpenRow(std::size_t i) const;
  bool IsRowOpen() const;

  LogState& state_;
  std::vector<std::unique_ptr<LineParser>> parsers_;  // as many as rows of the table
  std::vector<const LineParser*> spanning_;           // those that can be open
  std::vector<const LineParser*> rows_;               // those of them that read rows of metrics
  bool is_any_open_ = false;
};

}  // namespace vigil::textlog
