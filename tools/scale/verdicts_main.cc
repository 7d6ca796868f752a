// What vigil says about every run of a set of the gym at scale, one line of JSON a run.
//
// usage: scale_verdicts SET [--threads N] [--every N] [--json OUT] [--pick N]
//   SET          a folder of runs-*.jsonl.xz or .zst, or one of these files
//   --every N    only each N-th run
//   --json OUT   where the lines go; without it they are printed
//   --pick N     prints the ids of N runs to compare in other formats instead, by comma
#include <fmt/format.h>

#include <string_view>

#include "platform/files.h"
#include "scale/pick.h"
#include "scale/read_set.h"
#include "scale/verdict.h"

namespace vigil::scale {
namespace {

struct Options {
  std::string set;
  std::string out;
  std::size_t pick = 0;
  ReadOptions read;
};

int Complain(const std::string& message) {
  fmt::print(stderr, "scale_verdicts: {}\n", message);
  return 2;
}

std::optional<Options> ParseOptions(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    const auto number = ParseInteger(value);
    if (word == "--json" && !value.empty()) {
      options.out = value;
    } else if (word == "--threads" && number && *number > 0 && *number < 1024) {
      options.read.threads = static_cast<unsigned>(*number);
    } else if (word == "--pick" && number && *number > 0) {
      options.pick = static_cast<std::size_t>(*number);
    } else if (word == "--every" && number && *number > 0) {
      options.read.every = static_cast<std::size_t>(*number);
    } else if (!word.starts_with("--") && options.set.empty()) {
      options.set = word;
      continue;
    } else {
      return std::nullopt;
    }
    ++i;
  }
  return options.set.empty() ? std::nullopt : std::optional(options);
}

Result<std::string> LinesOf(const Options& options) {
  const catalogue::Thresholds thresholds;
  const auto lines = MapRecords<std::string>(options.set, options.read, [&](const Record& record) {
    return VerdictLine(record, Examine(record, thresholds)) + "\n";
  });
  if (!lines) return Fail(lines.error());
  return Join(*lines, "");
}

int PrintPicked(const Options& options) {
  const catalogue::Thresholds thresholds;
  const auto candidates = MapRecords<Candidate>(options.set, options.read, [&](const Record& record) {
    return Candidate{record.id, Examine(record, thresholds)};
  });
  if (!candidates) return Complain(candidates.error().Text());
  fmt::print("{}\n", Join(PickForTwins(*candidates, options.pick), ","));
  return 0;
}

int Main(const Options& options) {
  if (options.pick > 0) return PrintPicked(options);
  const auto lines = LinesOf(options);
  if (!lines) return Complain(lines.error().Text());
  if (options.out.empty()) {
    fmt::print("{}", *lines);
    return 0;
  }
  const Status written = platform::WriteFileAtomically(options.out, *lines);
  return written ? 0 : Complain(written.error().Text());
}

}  // namespace
}  // namespace vigil::scale

int main(int count, char** arguments) {
  const auto options = vigil::scale::ParseOptions(count, arguments);
  if (!options)
    return vigil::scale::Complain("usage: scale_verdicts SET [--threads N] [--every N] [--json OUT] [--pick N]");
  return vigil::scale::Main(*options);
}
