#include "scale/make_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "assemble/assemble.h"
#include "formats/formats.h"
#include "identify/identify.h"
#include "scale/render.h"

namespace vigil::scale {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;  // what ingest recognises a file by

void ReadParts(const std::string& path, const std::string& text, std::vector<model::Run>& parts) {
  const std::string_view head = std::string_view(text).substr(0, kHeadBytes);
  const ingest::Format* format = formats::Recognise({path, head, text.size()});
  if (format == nullptr) return;
  auto read = ingest::ReadRunsInBytes(path, text, *format);
  if (read) std::move(read->begin(), read->end(), std::back_inserter(parts));
}

std::size_t PointsOf(const model::Run& run) {
  std::size_t count = 0;
  for (const model::Series& series : run.series) count += series.size();
  return count;
}

}  // namespace

std::vector<model::Run> MakeRuns(const StoredRun& stored) {
  std::vector<model::Run> parts;
  for (const RenderedFile& file : RenderJsonLines(stored))
    ReadParts(stored.record.id + "/jsonl/" + file.name, file.text, parts);
  std::vector<model::Run> runs = assemble::JoinParts(std::move(parts), formats::Formats());
  for (model::Run& run : runs) {
    identify::Classify(run);
    identify::LearnAxes(run);
  }
  return runs;
}

Result<Record> MakeRecord(StoredRun stored) {
  std::vector<model::Run> runs = MakeRuns(stored);
  if (runs.empty()) return Fail(ErrorCode::kNoData, stored.record.id, "no run came out of its files");
  const auto most = std::max_element(
      runs.begin(), runs.end(), [](const model::Run& a, const model::Run& b) { return PointsOf(a) < PointsOf(b); });
  std::iter_swap(runs.begin(), most);
  stored.record.run = std::move(runs.front());
  stored.record.others.assign(std::make_move_iterator(runs.begin() + 1), std::make_move_iterator(runs.end()));
  return std::move(stored.record);
}

}  // namespace vigil::scale
