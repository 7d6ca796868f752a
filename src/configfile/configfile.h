// configfile: a configuration file as a flat list of settings, each with its path of keys, its typed value and the
// place where it stands, whatever the notation; and the same text with one setting changed. Pure and bounded: nothing
// of a file is executed, followed or expanded beyond kMostEntries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "model/run.h"
#include "model/statement.h"

namespace vigil::configfile {

inline constexpr std::size_t kMostEntries = 20'000;
inline constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kDeepest = 32;        // maps and lists inside each other
inline constexpr std::size_t kLongestValue = 512;  // bytes of a value that are kept

enum class Notation : std::uint8_t {
  kYaml,
  kJson,
  kToml,
  kCommand,  // a command line or a shell script with "--flag value"
  kPickle,   // training_args.bin: no lines
};

// By the name of the file, then by its first bytes; nothing when it is none of them.
std::optional<Notation> NotationOf(std::string_view path, std::string_view head);

enum class Kind : std::uint8_t { kNull, kTruth, kNumber, kText, kMap, kList };

// Why the value of a setting is not known before the program runs.
enum class Open : std::uint8_t {
  kNo,
  kTemplate,     // {{ lr }}, {% if %}
  kVariable,     // ${LR}, $LR, oc.env
  kInclude,      // !include other.yaml
  kSubstituted,  // a variable that the same script sets once; `text` has its value, `alias_line` where it is set
};

struct Entry {
  std::string path;  // keys joined by '.', items of lists by their index: "datasets.0.path"
  Kind kind = Kind::kNull;
  std::string text;                 // of a plain value, as it stands, without quotes and escapes
  double number = model::kNoValue;  // of a number
  bool truth = false;
  bool quoted = false;
  // Plain YAML that YAML 1.1 (PyYAML) and YAML 1.2 read as different types: 1e-4 is text to the first, and `no` is
  // text to the second. `kind` is what a person means: a number, a truth.
  bool differs_by_version = false;
  Open open = Open::kNo;
  std::uint32_t line = 0;  // of the value, from 1; 0 in a notation without lines
  std::uint32_t column = 0;
  std::uint32_t alias_line = 0;  // where an alias, a merge key or a variable brings it in; 0 when it stands there
  std::uint32_t items = 0;       // of a map or a list
  bool has_key = false;          // it is no item of a list
  std::size_t key_begin = 0;     // bytes of the text, of the key and of the value
  std::size_t begin = 0;
  std::size_t end = 0;   // as `begin` where the value goes over several lines or stands elsewhere
  bool is_flow = false;  // a map or a list in brackets
};

enum class RemarkKind : std::uint8_t {
  kBroken,     // no setting was read from here on
  kDuplicate,  // a key a second time: the later value counts, as parsers have it
  kOpen,       // a template, a variable or an include: the value is not known
  kPartly,     // a limit, another document behind the first: the rest was not looked at
};

struct Remark {
  RemarkKind kind = RemarkKind::kBroken;
  std::string path;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  model::Statement says;
};

struct File {
  std::string path;
  Notation notation = Notation::kYaml;
  std::string text;
  std::vector<Entry> entries;  // in the order of the text; of a repeated key only the one that counts
  std::vector<Remark> remarks;
  std::string made_by;  // the class that a pickle is an object of ("trl.trainer.sft_config.SFTConfig"), or empty

  const Entry* Find(std::string_view entry_path) const;
  // The entry is a map, or there are entries below it.
  bool HasSection(std::string_view section) const;
};

// All that can be read of the text; what cannot is a remark. Never fails and never throws.
File Parse(std::string path, std::string text, Notation notation);

// A value to write.
struct NewValue {
  Kind kind = Kind::kText;  // no map and no list
  std::string text;         // numbers as base::FormatExact writes them
  static NewValue Number(double value);
  static NewValue Truth(bool value);
  static NewValue Text(std::string value);
};

// The text with that one setting changed, or added where it is missing: in its section, beside the settings whose names
// begin alike, else behind the last one. Comments, order and layout of all else stay. The result is parsed and compared
// before it is handed out: where anything else would change it is an error instead (a value over several lines, an
// alias, a list, a command line that does not have the flag, a pickle).
Result<std::string> SetValue(const File& file, std::string_view path, const NewValue& value);
// The text without that setting, under the same promise.
Result<std::string> RemoveValue(const File& file, std::string_view path);

}  // namespace vigil::configfile
