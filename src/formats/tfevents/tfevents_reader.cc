#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "formats/tfevents/event.h"
#include "formats/tfevents/histogram.h"
#include "formats/tfevents/settings.h"
#include "formats/tfevents/tags.h"
#include "formats/tfevents/tensor.h"
#include "formats/tfevents/tfevents.h"

namespace vigil::formats {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::RecordState;
using codec::WireType;
using tfevents::Event;
using tfevents::Plugin;
using tfevents::Tag;
using tfevents::TagKind;
using tfevents::Value;

// No event of scalars or text is that long; graphs, images and videos are, and say nothing here.
constexpr std::uint64_t kLongRecordBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kMaxTags = ingest::PartBuilder::kMaxSeries;
// Megatron writes every value a second time against the samples consumed.
constexpr std::string_view kVersusSamples = " vs samples";

// Places of one kind of damage: the first few, and how many in all.
class Places {
 public:
  void Add(std::uint64_t offset) {
    if (count_++ < kShown) first_.push_back(std::to_string(offset));
  }
  std::uint64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }
  model::Statement others() const {
    return count_ > kShown ? model::Statement(says::DamageRecordsOthers{}) : model::Statement();
  }

 private:
  static constexpr std::uint64_t kShown = 3;
  std::vector<std::string> first_;
  std::uint64_t count_ = 0;
};

TagKind KindOf(const Value& value, const Plugin& plugin) {
  if (plugin.name == "hparams") return TagKind::kHparams;
  if (value.is_simple) return TagKind::kScalar;
  if (!value.histogram.empty()) return TagKind::kHistogram;
  if (plugin.name == "text") return TagKind::kText;
  if (plugin.name == "scalars") return TagKind::kScalar;
  if (plugin.name == "histograms" || plugin.name == "distributions") return TagKind::kHistogram;
  // Nothing is said about the tag: a tensor of one number is a scalar.
  const bool number = value.is_tensor && plugin.name.empty() && tfevents::TensorScalar(value.tensor).has_value();
  return number ? TagKind::kScalar : TagKind::kIgnored;
}

// Whether it says what its tag is for; a value that holds nothing, or a picture, leaves that to the next.
bool DescribesTag(const Value& value) {
  return value.is_simple || value.is_tensor || !value.histogram.empty() ||
         !tfevents::ParsePlugin(value.metadata).name.empty();
}

class TfeventsReader : public ingest::Reader {
 public:
  explicit TfeventsReader(ingest::PartBuilder& builder) : builder_(builder) {}

  // Without steps the points are counted at the end.
  ingest::Growth growth() const override {
    return has_steps_ ? ingest::Growth::kByRecords : ingest::Growth::kSettlesAtEnd;
  }
  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t done = PassOver(bytes.size());
    RecordState state = RecordState::kWhole;
    while (done < bytes.size()) {
      const codec::TfRecord record = codec::ReadTfRecord(bytes.substr(done));
      state = record.state;
      if (record.size_bytes > kLongRecordBytes) {
        long_record_left_ = record.size_bytes;
        done += PassOver(bytes.size() - done);
        continue;
      }
      if (state == RecordState::kCut || state == RecordState::kBadLength) break;
      if (state == RecordState::kBadData) {
        wrong_checksum_.Add(offset_ + done);
      } else if (!TakeRecord(record.payload)) {
        not_decodable_.Add(offset_ + done);
      }
      done += static_cast<std::size_t>(record.size_bytes);
    }
    offset_ += done;
    over_ = over_ || state == RecordState::kBadLength;
    if (last || over_) Conclude(done < bytes.size() || long_record_left_ != 0);
    return done;
  }

  bool IsOver() const override { return over_; }

 private:
  // Takes what is at hand of a long record, without looking.
  std::size_t PassOver(std::size_t available) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(available, long_record_left_));
    long_record_left_ -= count;
    return count;
  }

  bool TakeRecord(std::string_view payload) {
    tfevents::PlainScalar plain;
    if (tfevents::ParsePlainScalar(payload, plain)) {
      TakePlainScalar(plain);
      return true;
    }
    Event event;
    if (!tfevents::ParseEvent(payload, event)) return false;
    if (!HasTime(event.wall_time)) return true;
    has_steps_ = has_steps_ || event.step != 0;
    if (!event.session_log.empty()) TakeSessionLog(event);
    return event.summary.empty() || TakeSummary(event);
  }

  bool HasTime(double wall_time) {
    const bool has = !std::isnan(wall_time);
    without_time_ += has ? 0 : 1;
    return has;
  }

  void TakePlainScalar(const tfevents::PlainScalar& plain) {
    if (!HasTime(plain.wall_time)) return;
    has_steps_ = has_steps_ || plain.step != 0;
    const Tag* tag = tags_.Find(plain.tag);
    if (tag == nullptr) tag = OpenTag({plain.tag, {}, {}, {}, plain.value, true, false});
    if (tag != nullptr && tag->kind == TagKind::kScalar)
      AddPoint(*tag, plain.step, plain.wall_time, static_cast<double>(plain.value));
  }

  bool TakeSummary(const Event& event) {
    ProtoFields values(event.summary);
    while (values.Next()) {
      if (values.key() != FieldKey(1, WireType::kBytes)) continue;
      Value value;
      if (!tfevents::ParseValue(values.bytes(), value)) return false;
      TakeValue(event, value);
    }
    return !values.damaged();
  }

  void TakeValue(const Event& event, const Value& value) {
    Tag* tag = tags_.Find(value.tag);
    if (tag == nullptr && DescribesTag(value)) tag = OpenTag(value);
    if (tag != nullptr && tag->kind == TagKind::kHistogram) return TakeHistogram(event, value, *tag);
    if (tag != nullptr && tag->kind == TagKind::kText) return TakeText(event, value, *tag);
    if (tag == nullptr || tag->kind != TagKind::kScalar) return;
    if (value.is_simple) {
      AddPoint(*tag, event.step, event.wall_time, static_cast<double>(value.simple));
    } else if (const auto number = tfevents::TensorScalar(value.tensor); value.is_tensor && number) {
      AddPoint(*tag, event.step, event.wall_time, *number);
    }
  }

  void TakeHistogram(const Event& event, const Value& value, const Tag& tag) {
    const auto distribution = value.histogram.empty() ? tfevents::FromHistogramTensor(value.tensor)
                                                      : tfevents::FromHistogram(value.histogram);
    if (!distribution) return;
    tabular::AddDistribution({tag.series, true}, event.step, event.wall_time, *distribution, builder_);
  }

  // Settings, or something that was said. What a model wrote must not be taken for the run's own errors, so that text
  // is kept as a remark and not searched.
  void TakeText(const Event& event, const Value& value, const Tag& tag) {
    const std::string_view text = tfevents::TensorText(value.tensor);
    if (text.empty() || tag.holds_settings || ++texts_ > kMaxTexts) return;
    model::Event logged;
    logged.text = fmt::format("{}: {}", value.tag, Printable(text.substr(0, kLongestText)));
    if (event.step >= 0) logged.at = model::StepAt(event.step);
    logged.time = event.wall_time;
    builder_.AddEvent(std::move(logged));
  }

  void OpenHistogram(Tag& tag) {
    const bool room = ++histograms_ <= kMaxHistograms;
    const tabular::DistributionSeries series =
        room ? tabular::OpenDistribution(tag.name, builder_) : tabular::DistributionSeries();
    tag.series = series.first;
    if (!series.opened) tag.kind = TagKind::kIgnored;
  }

  void AddPoint(const Tag& tag, std::int64_t step, double wall_time, double value) {
    const model::Series& series = builder_.series(tag.series);
    if (tag.counts_rows) step = static_cast<std::int64_t>(series.size());
    // Said twice (trainers log the epoch with every kind of line): no restart. At step 0 points may yet be counted.
    if (step > 0 && !series.empty() && series.steps.back() == step && series.values.back() == value) return;
    builder_.Add(tag.series, step, value, wall_time);
  }

  // A tag seen for the first time. Null when there are too many.
  Tag* OpenTag(const Value& value) {
    if (tags_.size() >= kMaxTags) {
      too_many_tags_ = true;
      return nullptr;
    }
    const Plugin plugin = tfevents::ParsePlugin(value.metadata);
    Tag tag{std::string(value.tag), KindOf(value, plugin), false, false, 0, 0};
    if (tag.kind == TagKind::kHparams) tfevents::AddHparams(plugin.content, builder_);
    if (tag.kind == TagKind::kText)
      tag.holds_settings = tfevents::AddTextSettings(tfevents::TensorText(value.tensor), builder_);
    if (tag.kind == TagKind::kScalar) OpenScalar(tag);
    if (tag.kind == TagKind::kHistogram) OpenHistogram(tag);
    return &tags_.Add(std::move(tag));
  }

  void OpenScalar(Tag& tag) {
    const std::string_view name = tag.name;
    const bool versus_samples = name.ends_with(kVersusSamples);
    if (versus_samples && tags_.Peek(name.substr(0, name.size() - kVersusSamples.size())) != nullptr) {
      tag.kind = TagKind::kIgnored;
      return;
    }
    // The plain tag came second: what was kept of its double goes.
    if (Tag* twin = tags_.Peek(tag.name + std::string(kVersusSamples)); twin != nullptr) Forget(*twin);
    tag.series = builder_.OpenSeries(name);
    const bool by_samples = versus_samples || name.starts_with("Train/Samples/");
    if (by_samples) builder_.series(tag.series).axis = model::Axis::kSamples;
  }

  void Forget(Tag& tag) {
    if (tag.kind == TagKind::kScalar) builder_.series(tag.series).ClearPoints();
    tag.kind = TagKind::kIgnored;
  }

  void TakeSessionLog(const Event& event) {
    const tfevents::SessionLog log = tfevents::ParseSessionLog(event.session_log);
    model::Event logged;
    if (event.step >= 0) logged.at = model::StepAt(event.step);
    logged.time = event.wall_time;
    if (log.status == tfevents::SessionStatus::kStart && event.step > 0) {
      logged.kind = model::EventKind::kResume;
      logged.says = says::EventSessionStart{.at = logged.at};
      builder_.AddEvent(std::move(logged));
    } else if (log.status == tfevents::SessionStatus::kCheckpoint) {
      logged.kind = model::EventKind::kCheckpoint;
      logged.text = std::string(log.checkpoint_path.substr(0, 4096));
      builder_.AddEvent(std::move(logged));
    }
  }

  // Everything that came so far has been taken.
  void Conclude(bool bytes_left) {
    if (!has_steps_) CountRows();
    Report<says::DamageRecordsChecksum>(wrong_checksum_);
    Report<says::DamageRecordsUndecodable>(not_decodable_);
    if (over_)
      builder_.ReportDamage(says::DamageRecordLength{.byte = offset_});
    else if (bytes_left)
      builder_.ReportDamage(says::DamageRecordCut{.byte = offset_});
    if (without_time_ != 0) builder_.AddNote(says::NoteTimesLeftOut{.count = without_time_});
    if (too_many_tags_) builder_.AddNote(says::NoteTooManyTags{.limit = kMaxTags});
    if (histograms_ > kMaxHistograms) builder_.AddNote(says::NoteTooManyHistograms{.limit = kMaxHistograms});
    if (texts_ > kMaxTexts) builder_.AddNote(says::NoteTooManyTexts{.limit = kMaxTexts});
    without_time_ = 0;
    too_many_tags_ = false;
  }

  template <class Damage>
  void Report(Places& places) {
    if (places.count() == 0) return;
    builder_.ReportDamage(Damage{.places = places.first(), .others = places.others(), .count = places.count()});
    places = {};
  }

  // The writer was never given a step, and put every point at 0: the points are counted instead.
  void CountRows() {
    for (Tag& tag : tags_.all()) {
      if (tag.kind != TagKind::kScalar || tag.counts_rows) continue;
      model::Series& series = builder_.series(tag.series);
      if (series.size() < 2) continue;
      tag.counts_rows = true;
      series.axis = model::Axis::kRow;
      series.CountPoints();
    }
  }

  ingest::PartBuilder& builder_;
  tfevents::TagTable tags_;
  std::uint64_t offset_ = 0;            // in the file, of the next record
  std::uint64_t long_record_left_ = 0;  // bytes of the record that is being passed over
  bool over_ = false;
  bool has_steps_ = false;  // any event at another step than 0
  bool too_many_tags_ = false;
  static constexpr std::size_t kMaxHistograms = 20'000;
  static constexpr std::size_t kMaxTexts = 10'000;
  static constexpr std::size_t kLongestText = 512;
  std::size_t histograms_ = 0;
  std::size_t texts_ = 0;
  std::uint64_t without_time_ = 0;
  Places wrong_checksum_;
  Places not_decodable_;
};

bool LooksLikeAnEvent(std::string_view payload) {
  // wall_time is the first field of every event; datasets in the same framing begin otherwise.
  return payload.size() >= 9 && payload.front() == static_cast<char>(FieldKey(1, WireType::kFixed64));
}

}  // namespace

int RecogniseTfevents(const ingest::Probe& probe) {
  const bool named = probe.path.substr(probe.path.rfind('/') + 1).find("tfevents") != std::string_view::npos;
  const codec::TfRecord first = codec::ReadTfRecord(probe.head);
  const bool framed = first.state != RecordState::kBadLength && probe.head.size() >= codec::kTfRecordHeaderBytes;
  if (framed && LooksLikeAnEvent(probe.head.substr(codec::kTfRecordHeaderBytes))) return 100;
  // A name alone is enough to say what is damaged, when nothing else claims the content.
  return named && probe.head.find_first_not_of('\0') != std::string_view::npos ? 10 : 0;
}

std::unique_ptr<ingest::Reader> OpenTfevents(ingest::PartBuilder& builder) {
  return std::make_unique<TfeventsReader>(builder);
}

}  // namespace vigil::formats
