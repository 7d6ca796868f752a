#include "formats/metric_json/metric_json.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "catalogue/catalogue.h"
#include "codec/codec.h"
#include "formats/json/looks.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kMostSeries = 20'000;

// Walks the document and tells `take` of every number that belongs to a metric: name, step (kNoStep in a list), value.
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
  explicit MetricJsonReader(ingest::PartBuilder& builder) : builder_(builder) {}

  ingest::Growth growth() const override { return ingest::Growth::kWrittenAnew; }
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (over_) return bytes.size();
    scanner_.Continue(bytes, last);
    const JsonToken token = walk_.Advance(
        scanner_, [&](const std::string& name, std::int64_t step, double value) { Take(name, step, value); });
    taken_ += scanner_.consumed();
    over_ = token != JsonToken::kNeedMore;
    if (token == JsonToken::kBroken) {
      builder_.ReportDamage(fmt::format("line {} (byte {}): {}", scanner_.line(), taken_, scanner_.problem()));
    }
    return over_ ? bytes.size() : scanner_.consumed();
  }

 private:
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
    builder_.Add(open_, step == model::kNoStep ? static_cast<std::int64_t>(series.size()) + 1 : step, value,
                 model::kNoValue, scanner_.line());
  }

  ingest::PartBuilder& builder_;
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
