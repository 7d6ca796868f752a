#include "formats/titan_events/titan_events.h"

#include <cmath>
#include <unordered_map>

#include "catalogue/says.h"
#include "formats/json/looks.h"
#include "hyperparams/hyperparams.h"

namespace vigil::formats {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20U;
constexpr std::size_t kMostPhases = 1000;

// One line: what it is called, and the numbers with it.
struct TitanEvent {
  std::string type;       // event, instant or text
  std::string type_name;  // "fwd_bwd_start"
  std::string name;       // "fwd_bwd", or a metric
  double step = model::kNoValue;
  double time_us = model::kNoValue;
  double value = model::kNoValue;
  double rank = model::kNoValue;
};

TitanEvent EventOf(const std::vector<hyperparams::Hyperparameter>& hyperparameters) {
  TitanEvent event;
  for (const hyperparams::Hyperparameter& hyperparameter : hyperparameters) {
    const auto number = [&] { return ParseNumber(hyperparameter.value).value_or(model::kNoValue); };
    if (hyperparameter.path == "log_type") event.type = hyperparameter.value;
    if (hyperparameter.path == "log_type_name") event.type_name = hyperparameter.value;
    if (hyperparameter.path == "event_name") event.name = hyperparameter.value;
    if (hyperparameter.path == "step") event.step = number();
    if (hyperparameter.path == "time_us") event.time_us = number();
    if (hyperparameter.path == "value") event.value = number();
    if (hyperparameter.path == "rank") event.rank = number();
  }
  return event;
}

class TitanEventsReader : public ingest::Reader {
 public:
  explicit TitanEventsReader(ingest::PartBuilder& builder) : builder_(builder) {
    builder.part().framework = "torchtitan";
  }

  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t begin = 0;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', begin)) {
      TakeLine(bytes.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!last) return begin;
    if (begin < bytes.size()) TakeLine(bytes.substr(begin));
    if (broken_ != 0) builder_.ReportDamage(says::DamageNoEvents{.line = first_broken_, .count = broken_});
    broken_ = 0;
    return bytes.size();
  }

 private:
  void TakeLine(std::string_view line) {
    ++line_;
    if (Trim(line).empty()) return;
    model::Statement damage;
    const auto hyperparameters = line.size() > kLongestLine ? std::vector<hyperparams::Hyperparameter>()
                                                            : hyperparams::JsonHyperparameters(line, &damage);
    const TitanEvent event = EventOf(hyperparameters);
    const bool placed = event.step >= 0 && event.step < 9e15;
    if (hyperparameters.empty() || !damage.empty()) {
      if (broken_++ == 0) first_broken_ = line_;
    } else if (placed) {
      Take(event, static_cast<std::int64_t>(event.step));
    }
  }

  void Take(const TitanEvent& event, std::int64_t step) {
    if (event.rank >= 0 && event.rank < 1e6)
      builder_.part().ranks = std::max(builder_.part().ranks, static_cast<std::int32_t>(event.rank) + 1);
    const double time = event.time_us * 1e-6;
    if (event.type == "instant" && !std::isnan(event.value) && !event.name.empty())
      return AddLatest(event.name, step, event.value, time);
    if (event.type_name.ends_with("_start")) {
      if (starts_.size() < kMostPhases || starts_.contains(event.name)) starts_[event.name] = event.time_us;
    } else if (event.type_name.ends_with("_end")) {
      const auto at = starts_.find(event.name);
      if (at == starts_.end()) return;
      AddLatest("phase/" + event.name, step, (event.time_us - at->second) * 1e-6, time);
      starts_.erase(at);
    }
  }

  // A phase that runs several times in a step (one micro-batch each) counts as their sum.
  void AddLatest(const std::string& name, std::int64_t step, double value, double time) {
    const auto id = builder_.OpenSeries(name);
    model::Series& series = builder_.series(id);
    if (!series.empty() && series.steps.back() == step) {
      series.values.ReplaceLast(name.starts_with("phase/") ? series.values.back() + value : value);
      return;
    }
    builder_.Add(id, step, value, time, line_);
  }

  ingest::PartBuilder& builder_;
  std::unordered_map<std::string, double> starts_;
  std::uint32_t line_ = 0;
  std::uint32_t first_broken_ = 0;
  std::uint64_t broken_ = 0;
};

}  // namespace

int RecogniseTitanEvents(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{')) return 0;
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto has = [&](std::string_view key) { return line.find(key) != std::string_view::npos; };
  return has("\"log_type\"") && has("\"log_type_name\"") && has("\"time_us\"") ? 95 : 0;
}

std::unique_ptr<ingest::Reader> OpenTitanEvents(ingest::PartBuilder& builder) {
  return std::make_unique<TitanEventsReader>(builder);
}

}  // namespace vigil::formats
