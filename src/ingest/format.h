// ingest/format: what a source format is to the code that opens, recognises and feeds files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ingest/part_builder.h"

namespace vigil::ingest {

enum class Growth : std::uint8_t {
  kByRecords,     // records are appended, and the points of each stay as they are
  kSettlesAtEnd,  // records are appended, but later ones may move the points of earlier ones: read again as it grows
  kRewritten,     // a document: each version replaces the one before
};

// Turns the bytes of one source into a part. Bytes come in pieces, so that a growing file can be followed: Consume
// takes whole records from the front of `bytes` and returns how many bytes it took; the rest is offered again with more
// behind it. With `last` nothing more will come (for now): whole records are taken, a cut record is reported as damage.
// Never throws, whatever the bytes; memory beyond the part is bounded.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::size_t Consume(std::string_view bytes, bool last) = 0;
  // Whether a record may span the whole file (a JSON document): the driver then hands over the file in one piece.
  virtual bool NeedsWholeFile() const { return false; }
  // Brings the part up to date in what depends on all records so far (how an event went on, which of two kinds of lines
  // counts). Called whenever the bytes at hand end and more may come; Consume does it by itself with `last`. With
  // `paused` nothing came for a while: records that wait for what comes behind them are placed without it.
  virtual void Settle(bool /*paused*/) {}
  // Whether records wait for what comes behind them.
  virtual bool waits() const { return false; }
  // How such a file changes while it is written, for those who follow it. May change with what is read.
  virtual Growth growth() const { return Growth::kByRecords; }
  // Whether nothing more can be had from this source, whatever follows (damage that cannot be passed).
  virtual bool IsOver() const { return false; }
  // A file beside this one that is part of it, by what its name has more ("-wal"); empty when there is none. Where it
  // exists its bytes come first.
  virtual std::string_view CompanionSuffix() const { return {}; }
  virtual void TakeCompanion(std::string_view /*bytes*/) {}
};

// The beginning of a file, to recognise it by.
struct Probe {
  std::string_view path;
  std::string_view head;  // up to 64 KiB
  std::uint64_t size_bytes = 0;
  // It was asked for by its own name, or nothing else was found: its ending is no reason to leave it aside.
  bool is_wanted = false;
};

// How the files of a format make up a run.
enum class RunFiles : std::uint8_t {
  kOne,            // nothing can be said: values and places decide
  kWholeHistory,   // every file holds the history so far, so that the longest holds the others
  kOnePerStart,    // each start of the process opens another file in the same directory
  kNumberedParts,  // each says which run, which rank and which part of it it is (kJournalRun ...)
  kOnePerMetric,   // a directory of files with a metric each
  kTracker,        // a tracker's record of the run, with what the run printed in `files` beside it
};

// What code outside a format's own folder needs to know of it. No other code asks for a format by its id.
struct FormatTraits {
  int digits = 4;  // significant digits of a number: what was printed has few, whole doubles 16 and more
  RunFiles files = RunFiles::kOne;
  bool names_runs = false;                          // its own name for a run says more than the directory's
  bool is_config = false;                           // holds settings as a user writes them
  bool has_messages = false;                        // holds what the program printed, error messages among it
  std::span<const std::string_view> variants = {};  // other ids that its sources may carry
};

// A source format: one row of a table that is given in.
struct Format {
  std::string_view id;     // "tfevents"
  std::string_view title;  // "TensorBoard event file"
  // How sure the content looks like this format, 0 (not) to 100 (cannot be anything else). By content; the name may
  // break ties.
  int (*recognise)(const Probe& probe);
  std::unique_ptr<Reader> (*open)(PartBuilder& builder);
  FormatTraits traits = {};
};
// The rows of a table; the table outlives whoever was given it.
using FormatTable = std::span<const Format>;
// The format that is surest of the content; of equally sure ones the first. Null when none is.
const Format* Recognise(FormatTable formats, const Probe& probe);
// The traits of the format of that id or variant; those of an unknown one when there is none.
FormatTraits TraitsOf(FormatTable formats, std::string_view id);

}  // namespace vigil::ingest
