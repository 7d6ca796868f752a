#include "formats/keras_history/keras_history.h"

#include <map>
#include <optional>
#include <string>

#include "codec/codec.h"
#include "formats/json/looks.h"
#include "formats/json/metric_lists.h"
#include "tabular/metric_table.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

// Walks the lists of an object, or of its member "history", as a dump of the whole History object has them; `take` gets
// the name and the value of each number.
class ListWalk {
 public:
  template <class Take>
  JsonToken Advance(codec::JsonScanner& scanner, Take&& take) {
    for (;;) {
      const JsonToken token = scanner.Next();
      if (token >= JsonToken::kNeedMore) return token;
      if (token == JsonToken::kKey && scanner.depth() == names_at_) name_ = MetricName(scanner);
      See(token, scanner.depth());
      // `epoch` beside the history counts the entries of its lists.
      const bool counts = names_at_ == 1 && name_ == "epoch";
      if (!in_list_ || counts || scanner.depth() != names_at_ + 1) continue;
      if (const auto value = NumberOf(token, scanner)) take(name_, *value);
    }
  }
  // What Keras never writes: objects or plain values beside the lists.
  bool has_other_content() const { return in_lists_ || (beside_ && !has_history_); }

 private:
  void See(JsonToken token, std::size_t depth) {
    if (depth == names_at_) in_list_ = false;
    if (token == JsonToken::kArrayBegin && depth == names_at_ + 1) in_list_ = true;
    const bool is_object = token == JsonToken::kObjectBegin;
    const bool is_plain = token == JsonToken::kNumber || token == JsonToken::kString;
    if (is_object && depth == 2 && names_at_ == 1 && name_ == "history") {
      names_at_ = 2;
      has_history_ = true;
    } else if (token == JsonToken::kObjectEnd && depth == 1) {
      names_at_ = 1;
    } else if (names_at_ == 1) {
      beside_ = beside_ || (is_object && depth > 1) || (is_plain && depth == 1);
    } else {
      in_lists_ = in_lists_ || is_object || (is_plain && depth == 2);
    }
  }

  static std::optional<double> NumberOf(JsonToken token, const codec::JsonScanner& scanner) {
    if (token == JsonToken::kNull) return model::kNoValue;  // as some write a NaN
    return NumberIn(token, scanner);
  }

  std::string name_;
  bool in_list_ = false;
  std::size_t names_at_ = 1;  // the depth at which names of metrics stand
  bool has_history_ = false;
  bool beside_ = false;
  bool in_lists_ = false;
};

class KerasHistoryReader : public DocumentReader {
 public:
  explicit KerasHistoryReader(ingest::PartBuilder& part) : DocumentReader(part), series_(part) {
    part.part().framework = "keras";
  }

 private:
  JsonToken Advance(codec::JsonScanner& scanner) override {
    return walk_.Advance(scanner, [&](const std::string& name, double value) { Take(name, value, scanner.line()); });
  }

  // A metric that is not measured in every epoch is null in the others; one that always was, and is null now, is NaN.
  void Conclude() override {
    for (model::Series& series : builder().part().series) tabular::KeepLikelyGaps(series);
  }

  void Take(const std::string& name, double value, std::uint32_t line) {
    const auto id = series_.Of(name);
    if (!id) return;
    model::Series& series = builder().series(*id);
    series.axis = model::Axis::kEpoch;
    // Epochs are counted from 1, as Keras prints them.
    builder().Add(*id, static_cast<std::int64_t>(series.size()) + 1, value, model::kNoValue, line);
  }

  NamedSeries series_;
  ListWalk walk_;
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
