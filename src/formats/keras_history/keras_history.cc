#include "formats/keras_history/keras_history.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "codec/codec.h"
#include "formats/json/looks.h"
#include "tabular/metric_table.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kMostSeries = 20'000;
constexpr std::size_t kLongestName = 256;

// Walks the lists of an object; `take` gets the name and the value of each number. False from `take` ends the walk.
class ListWalk {
 public:
  template <class Take>
  JsonToken Advance(codec::JsonScanner& scanner, Take&& take) {
    for (;;) {
      const JsonToken token = scanner.Next();
      if (token >= JsonToken::kNeedMore) return token;
      if (token == JsonToken::kKey && scanner.depth() == 1)
        name_ = Printable(codec::UnescapeJson(scanner.text().substr(0, kLongestName)));
      // Depth 2 is inside a list of the outermost object, or inside an object there, which Keras never writes.
      other_content_ |= token == JsonToken::kObjectBegin && scanner.depth() > 1;
      other_content_ |= scanner.depth() == 1 && (token == JsonToken::kNumber || token == JsonToken::kString);
      if (scanner.depth() != 2) continue;
      if (const auto value = NumberOf(token, scanner)) take(name_, *value);
    }
  }
  bool has_other_content() const { return other_content_; }

 private:
  static std::optional<double> NumberOf(JsonToken token, const codec::JsonScanner& scanner) {
    if (token == JsonToken::kNumber) return scanner.number();
    if (token == JsonToken::kNull) return model::kNoValue;                                        // as some write a NaN
    if (token == JsonToken::kString) return ParseNumber(scanner.text().substr(0, kLongestName));  // default=str
    return std::nullopt;
  }

  std::string name_;
  bool other_content_ = false;
};

class KerasHistoryReader : public ingest::Reader {
 public:
  explicit KerasHistoryReader(ingest::PartBuilder& builder) : builder_(builder) { builder_.part().framework = "keras"; }

  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (over_) return bytes.size();
    scanner_.Continue(bytes, last);
    const JsonToken token = walk_.Advance(scanner_, [&](const std::string& name, double value) { Take(name, value); });
    taken_ += scanner_.consumed();
    over_ = token != JsonToken::kNeedMore;
    if (over_) SettleGaps();
    if (token == JsonToken::kBroken)
      builder_.ReportDamage(fmt::format("line {} (byte {}): {}", scanner_.line(), taken_, scanner_.problem()));
    return over_ ? bytes.size() : scanner_.consumed();
  }

 private:
  // A metric that is not measured in every epoch is null in the others; one that always was, and is null now, is NaN.
  void SettleGaps() {
    for (model::Series& series : builder_.part().series) tabular::KeepLikelyGaps(series);
  }

  void Take(const std::string& name, double value) {
    if (!is_open_ || name != open_name_) {
      if (builder_.part().series.size() >= kMostSeries) return;
      open_ = builder_.OpenSeries(name);
      open_name_ = name;
      is_open_ = true;
      builder_.series(open_).axis = model::Axis::kEpoch;
    }
    // Epochs are counted from 1, as Keras prints them.
    builder_.Add(open_, static_cast<std::int64_t>(builder_.series(open_).size()) + 1, value, model::kNoValue,
                 scanner_.line());
  }

  ingest::PartBuilder& builder_;
  codec::JsonScanner scanner_;
  ListWalk walk_;
  bool over_ = false;
  std::uint64_t taken_ = 0;
  bool is_open_ = false;
  std::string open_name_;
  ingest::PartBuilder::SeriesId open_ = 0;
};

}  // namespace

// Lists of one length, and for some metric the one of the validation beside it. Other tools dump lists by step: what is
// validated as often as it is logged was logged by epoch.
int RecogniseKerasHistory(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{')) return 0;
  codec::JsonScanner scanner;
  scanner.Continue(text, false);
  std::map<std::string, std::size_t> lengths;
  ListWalk walk;
  walk.Advance(scanner, [&](const std::string& name, double) { ++lengths[name]; });
  const auto loss = lengths.find("loss");
  const auto validation = lengths.find("val_loss");
  if (walk.has_other_content() || loss == lengths.end() || validation == lengths.end()) return 0;
  return loss->second == validation->second || text.size() < probe.size_bytes ? 85 : 0;
}

std::unique_ptr<ingest::Reader> OpenKerasHistory(ingest::PartBuilder& builder) {
  return std::make_unique<KerasHistoryReader>(builder);
}

}  // namespace vigil::formats
