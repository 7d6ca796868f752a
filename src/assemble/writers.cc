#include "assemble/writers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "assemble/place.h"
#include "base/base.h"
#include "catalogue/catalogue.h"
#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

// Where a file was written and by which process: "<folder above>" and "<host>.<process>" of
// events.out.tfevents.<time>.<host>.<process>.<number>.
using Mark = std::pair<std::string, std::string>;

std::string ProcessOf(std::string_view file) {
  constexpr std::string_view kWord = "tfevents.";
  const std::size_t word = file.find(kWord);
  if (word == std::string_view::npos) return {};
  std::string_view rest = file.substr(word + kWord.size());
  const std::size_t time_end = rest.find('.');
  const std::size_t number = rest.rfind('.');
  if (time_end == std::string_view::npos || number <= time_end) return {};
  return std::string(rest.substr(time_end + 1, number - time_end - 1));
}

struct Place {
  std::string folder;
  std::string above;
  std::string process;
};

Place PlaceOf(const model::Run& part, ingest::FormatTable formats) {
  if (part.sources.empty()) return {};
  const bool one_per_start =
      ingest::TraitsOf(formats, part.sources.front().format).files == ingest::RunFiles::kOnePerStart;
  if (!one_per_start) return {};
  const std::string_view path = ingest::WithoutCompression(part.sources.front().path);
  const std::string_view folder = ingest::FolderOf(path);
  return {std::string(folder), std::string(ingest::FolderOf(folder)), ProcessOf(ingest::FileOf(path))};
}

// The curve's own name where the folder is called "<tag>_<name>" and the file holds that tag alone.
std::string CurveIn(const model::Run& part, std::string_view folder) {
  if (part.series.size() != 1 || !part.facts.empty() || !part.events.empty()) return {};
  std::string tag = part.series.front().raw;
  std::replace(tag.begin(), tag.end(), '/', '_');
  const std::string_view name = ingest::FileOf(folder);
  if (name.size() < tag.size() + 2 || !name.starts_with(tag) || name[tag.size()] != '_') return {};
  return std::string(name.substr(tag.size() + 1));
}

void Rename(model::Series& series, const std::string& curve) {
  const auto before = catalogue::Interpret(series.raw);
  series.raw += "/" + curve;
  const auto meaning = catalogue::Interpret(series.raw);
  // Values were taken in the unit of the name that stood in the file.
  const bool same_unit = (before ? before->scale : 1) == (meaning ? meaning->scale : 1);
  series.signal = meaning && same_unit ? std::string(meaning->signal) : series.raw;
  if (meaning && same_unit) series.unit = std::string(meaning->unit);
}

// Settings and at most one value of each metric: what add_hparams leaves.
bool HoldsSettingsOnly(const model::Run& part) {
  return !part.facts.empty() && std::all_of(part.series.begin(), part.series.end(),
                                            [](const model::Series& series) { return series.size() <= 1; });
}

}  // namespace

std::vector<std::string> WriterFolders(std::vector<model::Run>& parts, ingest::FormatTable formats) {
  std::vector<Place> places;
  std::set<Mark> writers;        // folders that a process wrote into
  std::map<Mark, int> curves;    // folders of curves below one folder, by process
  std::map<Mark, int> settings;  // the same of settings
  std::vector<std::string> names;
  for (const model::Run& part : parts) {
    const Place& place = places.emplace_back(PlaceOf(part, formats));
    names.push_back(place.process.empty() ? std::string() : CurveIn(part, place.folder));
    if (place.process.empty()) continue;
    writers.emplace(place.folder, place.process);
    if (!names.back().empty()) ++curves[{place.above, place.process}];
    if (HoldsSettingsOnly(part)) ++settings[{place.above, place.process}];
  }
  std::vector<std::string> folders(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Mark above{places[i].above, places[i].process};
    const bool below_writer = writers.contains(above);
    if (!names[i].empty() && (below_writer || curves[above] > 1)) {
      Rename(parts[i].series.front(), names[i]);
      folders[i] = places[i].above;
    } else if (below_writer && settings[above] == 1 && HoldsSettingsOnly(parts[i])) {
      // Several are the trials of a search, each with settings of its own.
      folders[i] = places[i].above;
    }
  }
  return folders;
}

}  // namespace vigil::assemble
