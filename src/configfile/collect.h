// What the parsers of all notations share: where a byte stands, what type a plain word has, and the list that takes
// entries and remarks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "configfile/configfile.h"

namespace vigil::configfile {

// Lines of a text, to find the place of a byte.
class Lines {
 public:
  explicit Lines(std::string_view text);
  std::uint32_t LineOf(std::size_t offset) const;    // from 1
  std::uint32_t ColumnOf(std::size_t offset) const;  // from 1, in bytes
  // The byte that a line (from 1) begins with; the size of the text behind the last one.
  std::size_t BeginOf(std::uint32_t line) const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(begins_.size()); }

 private:
  std::vector<std::size_t> begins_;
  std::size_t size_;
};

// A number as any of the notations has it: 3, -1.5, 1e-4, 0x10, 1_000, .inf. Thousands are no number.
std::optional<double> PlainNumber(std::string_view text);
// Sets kind, number, truth and differs_by_version of a plain YAML word from its text.
void TypePlainYaml(Entry& entry);
// The same for a word of a command line: true and false in any case, numbers.
void TypePlainWord(Entry& entry);
// Whether a text leaves its value to a template or a variable.
Open OpenIn(std::string_view text);

// Takes entries in the order of the text. A path that comes again takes the place of the first one and all below it.
class Collector {
 public:
  explicit Collector(File& file) : file_(file), lines_(file.text) {}

  // False when there is no room for more: the caller stops.
  bool Add(Entry entry);
  void Remark(RemarkKind kind, std::size_t offset, std::string path, model::Statement says);
  void RemarkOnLine(RemarkKind kind, std::uint32_t line, std::uint32_t column, std::string path, model::Statement says);
  // Drops what was replaced and remarks on what is left open. The last call.
  void Finish();
  const Lines& lines() const { return lines_; }
  // Sets line and column of an entry from its first byte.
  void Place(Entry& entry) const;
  bool full() const { return full_; }

 private:
  bool IsReplaced(std::size_t index) const;

  File& file_;
  Lines lines_;
  std::map<std::string, std::size_t, std::less<>> by_path_;
  std::map<std::string, std::size_t, std::less<>> replaced_;  // path to the first entry that counts
  bool full_ = false;
};

// `value` cut to what is kept, safe to print.
std::string Kept(std::string_view value);
// "a.b" below "x" is "x.a.b".
std::string Below(std::string_view above, std::string_view key);

void ParseYaml(File& file, Collector& collector);
void ParseJson(File& file, Collector& collector);
void ParseToml(File& file, Collector& collector);
void ParseCommand(File& file, Collector& collector);
void ParsePickle(File& file, Collector& collector);

}  // namespace vigil::configfile
