#include "formats/metric_json/metric_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "codec/codec.h"
#include "formats/json/looks.h"
#include "tabular/column_roles.h"
#include "tabular/metric_table.h"
#include "tabular/step_policy.h"
#include "tabular/thinning.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kMostSeries = 20'000;

// Walks the document and gives `take` every number that belongs to a metric: name, step (kNoStep in a list), value.
// Depth says what a token is: 1 names of metrics, 2 steps or members of a metric, 3 steps below "values".
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
      } else if (token == JsonToken::kNull && in_list_ && scanner.depth() == 2) {
        take(name_, model::kNoStep, model::kNoValue);  // it has its place in the list
      } else if (const auto value = NumberOf(token, scanner)) {
        if (Belongs(scanner.depth())) take(name_, in_list_ ? model::kNoStep : step_, *value);
      }
    }
  }

 private:
  void SeeKey(const codec::JsonScanner& scanner) {
    if (scanner.depth() == 1) {
      name_ = Printable(codec::UnescapeJson(scanner.text().substr(0, 256)));
      in_list_ = false;
    }
    if (scanner.depth() == 2) in_values_ = scanner.text() == "values";
    step_ = scanner.depth() == 2 || (scanner.depth() == 3 && in_values_)
                ? ParseInteger(scanner.text()).value_or(model::kNoStep)
                : model::kNoStep;
  }

  static std::optional<double> NumberOf(JsonToken token, const codec::JsonScanner& scanner) {
    if (token == JsonToken::kNumber) return scanner.number();
    if (token == JsonToken::kString && scanner.text().size() <= 40) return ParseNumber(scanner.text());
    return std::nullopt;
  }

  bool Belongs(std::size_t depth) const {
    if (in_list_) return depth == 2;
    return step_ >= 0 && (depth == 2 || depth == 3);
  }

  std::string name_;
  std::int64_t step_ = model::kNoStep;
  bool in_values_ = false;
  bool in_list_ = false;
};

class MetricJsonReader : public ingest::Reader {
 public:
  explicit MetricJsonReader(ingest::PartBuilder& builder) : builder_(builder), thinning_(builder) {}

  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (over_) return bytes.size();
    scanner_.Continue(bytes, last);
    const JsonToken token = walk_.Advance(
        scanner_, [&](const std::string& name, std::int64_t step, double value) { Take(name, step, value); });
    taken_ += scanner_.consumed();
    thinning_.MakeRoom();
    over_ = token != JsonToken::kNeedMore;
    if (token == JsonToken::kBroken) {
      builder_.ReportDamage(fmt::format("line {} (byte {}): {}", scanner_.line(), taken_, scanner_.problem()));
    }
    if (over_) Conclude();
    return over_ ? bytes.size() : scanner_.consumed();
  }

 private:
  // Lists of one length beside a list of steps are the columns of one table.
  void Conclude() {
    thinning_.Finish();
    const model::Series* steps = nullptr;
    for (const model::Series& series : builder_.part().series) {
      const int priority = tabular::StepPriority(series.raw);
      if (priority == 0 || series.axis != model::Axis::kRow || !Rises(series)) continue;
      if (steps == nullptr || priority > tabular::StepPriority(steps->raw)) steps = &series;
    }
    if (steps != nullptr) CountBy(std::vector<double>(steps->values));
    for (model::Series& series : builder_.part().series) tabular::KeepLikelyGaps(series);
    if (thinning_.stride() > 1) builder_.AddNote(tabular::ThinnedNote(thinning_.stride()));
  }

  static bool Rises(const model::Series& series) {
    double before = -1;
    return std::all_of(series.values.begin(), series.values.end(), [&](double value) {
      return tabular::IsWholeStep(value) && value > std::exchange(before, value);
    });
  }

  void CountBy(const std::vector<double>& steps) {
    for (model::Series& series : builder_.part().series) {
      if (series.axis != model::Axis::kRow || series.size() != steps.size()) continue;
      series.axis = model::Axis::kStep;
      std::transform(steps.begin(), steps.end(), series.steps.begin(),
                     [](double s) { return static_cast<std::int64_t>(s); });
      if (tabular::StepPriority(series.raw) != 0) ClearPoints(series);
    }
  }

  static void ClearPoints(model::Series& series) {
    series.steps.clear();
    series.values.clear();
    series.lines.clear();
    series.segment_starts.clear();
  }

  void Take(const std::string& name, std::int64_t step, double value) {
    if (name != open_name_ || !is_open_) {
      if (builder_.part().series.size() >= kMostSeries) return;
      open_ = builder_.OpenSeries(name);
      open_name_ = name;
      is_open_ = true;
    }
    model::Series& series = builder_.series(open_);
    // Steps before the metric begins are filled with NaN (the second half of a resumed run, say).
    if (series.empty() && std::isnan(value)) return;
    if (step == model::kNoStep) series.axis = model::Axis::kRow;
    const bool by_rows = step == model::kNoStep;
    thinning_.Add(open_, by_rows ? static_cast<std::int64_t>(thinning_.Seen(open_)) : step, value, model::kNoValue,
                  scanner_.line());
  }

  ingest::PartBuilder& builder_;
  tabular::Thinning thinning_;
  codec::JsonScanner scanner_;
  MetricWalk walk_;
  bool over_ = false;
  std::uint64_t taken_ = 0;
  bool is_open_ = false;
  std::string open_name_;
  ingest::PartBuilder::SeriesId open_ = 0;
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
