#include "formats/metric_json/metric_json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "codec/codec.h"
#include "formats/json/looks.h"
#include "formats/json/metric_lists.h"
#include "tabular/column_roles.h"
#include "tabular/metric_table.h"
#include "tabular/step_policy.h"
#include "tabular/thinning.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

// Walks the document and gives `take` every number that belongs to a metric: name, step (kNoStep in a list), value.
// Depth says what a token is: 1 names of metrics, 2 steps or members of a metric, 3 steps below "values", or the
// entries of the lists "steps" and "values" that a metric has side by side.
class MetricWalk {
 public:
  template <class Take>
  JsonToken Advance(codec::JsonScanner& scanner, Take&& take) {
    for (;;) {
      const JsonToken token = scanner.Next();
      if (token >= JsonToken::kNeedMore) return token;
      if (token == JsonToken::kKey) {
        SeeKey(scanner);
      } else if (token == JsonToken::kArrayBegin) {
        in_list_ = in_list_ || scanner.depth() == 2;
        in_member_list_ = scanner.depth() == 3 && !in_list_;
      } else if (token == JsonToken::kNull && in_list_ && scanner.depth() == 2) {
        take(name_, model::kNoStep, model::kNoValue);  // it has its place in the list
      } else if (scanner.depth() == 3 && in_member_list_) {
        TakeListed(token, scanner, take);
      } else if (const auto value = NumberIn(token, scanner)) {
        if (Belongs(scanner.depth())) take(name_, in_list_ ? model::kNoStep : step_, *value);
      }
    }
  }

  // Whether the number stood in a list beside that of its steps: such a list holds what was measured, and no filling.
  bool is_listed() const { return in_member_list_; }

 private:
  // A run has fewer points of one metric; what comes beyond is left out.
  static constexpr std::size_t kMostListed = 1'000'000;

  void SeeKey(const codec::JsonScanner& scanner) {
    if (scanner.depth() == 1) {
      name_ = MetricName(scanner);
      in_list_ = false;
      listed_steps_.clear();
      listed_values_ = 0;
    }
    if (scanner.depth() == 2) {
      in_values_ = scanner.text() == "values";
      in_steps_ = scanner.text() == "steps";
      in_member_list_ = false;
    }
    step_ = scanner.depth() == 2 || (scanner.depth() == 3 && in_values_)
                ? ParseInteger(scanner.text()).value_or(model::kNoStep)
                : model::kNoStep;
  }

  // {"steps": [10, 20], "timestamps": [...], "values": [2.3, 2.1]}, as Sacred writes them: a value has the step of the
  // same place.
  template <class Take>
  void TakeListed(JsonToken token, const codec::JsonScanner& scanner, Take&& take) {
    const auto value = token == JsonToken::kNull ? std::optional(model::kNoValue) : NumberIn(token, scanner);
    if (!value) return;
    if (in_steps_ && listed_steps_.size() < kMostListed)
      listed_steps_.push_back(tabular::IsWholeStep(*value) ? static_cast<std::int64_t>(*value) : model::kNoStep);
    if (!in_values_) return;
    const std::size_t place = listed_values_++;
    if (place < listed_steps_.size() && listed_steps_[place] >= 0) take(name_, listed_steps_[place], *value);
  }

  bool Belongs(std::size_t depth) const {
    if (in_list_) return depth == 2;
    return step_ >= 0 && (depth == 2 || depth == 3);
  }

  std::string name_;
  std::int64_t step_ = model::kNoStep;
  bool in_values_ = false;
  bool in_steps_ = false;
  bool in_list_ = false;
  bool in_member_list_ = false;
  std::vector<std::int64_t> listed_steps_;
  std::size_t listed_values_ = 0;
};

class MetricJsonReader : public DocumentReader {
 public:
  explicit MetricJsonReader(ingest::PartBuilder& part) : DocumentReader(part), thinning_(part), series_(part) {}

 private:
  JsonToken Advance(codec::JsonScanner& scanner) override {
    const JsonToken token = walk_.Advance(scanner, [&](const std::string& name, std::int64_t step, double value) {
      Take(name, step, value, scanner.line());
    });
    thinning_.MakeRoom();
    return token;
  }

  // Lists of one length beside a list of steps are the columns of one table.
  void Conclude() override {
    thinning_.Finish();
    const model::Series* steps = nullptr;
    for (const model::Series& series : builder().part().series) {
      const int priority = tabular::StepPriority(series.raw);
      if (priority == 0 || series.axis != model::Axis::kRow || !Rises(series)) continue;
      if (steps == nullptr || priority > tabular::StepPriority(steps->raw)) steps = &series;
    }
    if (steps != nullptr) CountBy(model::Column<double>(steps->values));
    for (model::Series& series : builder().part().series) tabular::KeepLikelyGaps(series);
    if (thinning_.stride() > 1) builder().AddNote(tabular::ThinnedNote(thinning_.stride()));
  }

  static bool Rises(const model::Series& series) {
    double before = -1;
    return std::all_of(series.values.begin(), series.values.end(), [&](double value) {
      return tabular::IsWholeStep(value) && value > std::exchange(before, value);
    });
  }

  void CountBy(const model::Column<double>& steps) {
    for (model::Series& series : builder().part().series) {
      if (series.axis != model::Axis::kRow || series.size() != steps.size()) continue;
      series.axis = model::Axis::kStep;
      std::transform(steps.begin(), steps.end(), series.steps.Mutable().begin(),
                     [](double s) { return static_cast<std::int64_t>(s); });
      if (tabular::StepPriority(series.raw) != 0) series.ClearPoints();
    }
  }

  void Take(const std::string& name, std::int64_t step, double value, std::uint32_t line) {
    const auto id = series_.Of(name);
    if (!id) return;
    model::Series& series = builder().series(*id);
    // Steps before the metric begins are filled with NaN (the second half of a resumed run, say).
    if (series.empty() && std::isnan(value) && !walk_.is_listed()) return;
    const bool by_rows = step == model::kNoStep;
    if (by_rows) series.axis = model::Axis::kRow;
    thinning_.Add(*id, by_rows ? static_cast<std::int64_t>(thinning_.Seen(*id)) : step, value, model::kNoValue, line);
  }

  tabular::Thinning thinning_;
  NamedSeries series_;
  MetricWalk walk_;
};

}  // namespace

int RecogniseMetricJson(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{')) return 0;
  codec::JsonScanner scanner;
  scanner.Continue(text, false);
  std::size_t known = 0;
  MetricWalk().Advance(scanner, [&](const std::string& name, std::int64_t, double) {
    known += known < 3 && catalogue::Interpret(name) ? 1 : 0;
  });
  return known >= 3 ? 80 : 0;
}

std::unique_ptr<ingest::Reader> OpenMetricJson(ingest::PartBuilder& builder) {
  return std::make_unique<MetricJsonReader>(builder);
}

}  // namespace vigil::formats
