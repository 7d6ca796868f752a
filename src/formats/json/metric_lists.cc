#include "formats/json/metric_lists.h"

#include "base/base.h"
#include "catalogue/says.h"

namespace vigil::formats {
namespace {

constexpr std::size_t kMostSeries = 20'000;
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kLongestNumber = 40;

}  // namespace

std::string MetricName(const codec::JsonScanner& scanner) {
  return Printable(codec::UnescapeJson(scanner.text().substr(0, kLongestName)));
}

std::optional<double> NumberIn(codec::JsonToken token, const codec::JsonScanner& scanner) {
  if (token == codec::JsonToken::kNumber) return scanner.number();
  if (token == codec::JsonToken::kString && scanner.text().size() <= kLongestNumber) return ParseNumber(scanner.text());
  return std::nullopt;
}

std::optional<ingest::PartBuilder::SeriesId> NamedSeries::Of(const std::string& name) {
  // Numbers of one metric stand together: looking a name up once is enough.
  if (open_ && name == open_name_) return open_;
  if (builder_.part().series.size() >= kMostSeries) return std::nullopt;
  open_ = builder_.OpenSeries(name);
  open_name_ = name;
  return open_;
}

std::size_t DocumentReader::Consume(std::string_view bytes, bool last) {
  if (over_) return bytes.size();
  scanner_.Continue(bytes, last);
  const codec::JsonToken token = Advance(scanner_);
  taken_ += scanner_.consumed();
  over_ = token != codec::JsonToken::kNeedMore;
  if (token == codec::JsonToken::kBroken)
    builder_.ReportDamage(
        says::DamageJsonDocument{.line = scanner_.line(), .byte = taken_, .message = scanner_.problem()});
  if (over_) Conclude();
  return over_ ? bytes.size() : scanner_.consumed();
}

}  // namespace vigil::formats
