#include "scale/parse.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "codec/codec.h"

namespace vigil::scale {
namespace {

using codec::JsonScanner;
using codec::JsonToken;

constexpr std::array<std::pair<std::string_view, Class>, 6> kClasses = {{
    {"healthy", Class::kHealthy},
    {"harmless", Class::kHarmless},
    {"weak", Class::kWeak},
    {"fatal", Class::kFatal},
    {"not-learned", Class::kNotLearned},
    {"twin-not-learned", Class::kTwinNotLearned},
}};

// Passes over the value that comes next.
bool Skip(JsonScanner& json) {
  const std::size_t depth = json.depth();
  const JsonToken token = json.Next();
  if (token == JsonToken::kBroken) return false;
  return json.depth() <= depth || json.SkipTo(depth) != JsonToken::kBroken;
}

// Calls `take` for each key of the object that comes next; `take` consumes the value.
template <class Take>
bool ForEachKey(JsonScanner& json, Take take) {
  if (json.Next() != JsonToken::kObjectBegin) return false;
  JsonToken token = json.Next();
  for (; token == JsonToken::kKey; token = json.Next()) {
    const std::string key(json.text());
    if (!take(key)) return false;
  }
  return token == JsonToken::kObjectEnd;
}

// Calls `take` with each token of the array that comes next; null stands for an empty one. Elements are no containers.
template <class Take>
bool ForEachElement(JsonScanner& json, Take take) {
  JsonToken token = json.Next();
  if (token == JsonToken::kNull) return true;
  if (token != JsonToken::kArrayBegin) return false;
  for (token = json.Next(); token != JsonToken::kArrayEnd; token = json.Next()) {
    if (token == JsonToken::kBroken || token == JsonToken::kArrayBegin || token == JsonToken::kObjectBegin)
      return false;
    take(token);
  }
  return true;
}

// Non-finite values are strings in a set, since JSON has no numbers for them.
double NumberOf(const JsonScanner& json, JsonToken token) {
  if (token == JsonToken::kNumber) return json.number();
  const auto number = token == JsonToken::kString ? ParseNumber(json.text()) : std::nullopt;
  return number.value_or(std::numeric_limits<double>::quiet_NaN());
}

bool TakeText(JsonScanner& json, std::string& into) {
  const JsonToken token = json.Next();
  if (token == JsonToken::kString) into = codec::UnescapeJson(json.text());
  return token == JsonToken::kString || token == JsonToken::kNull;
}

bool TakeNumber(JsonScanner& json, std::optional<double>& into) {
  const JsonToken token = json.Next();
  if (token == JsonToken::kNumber) into = json.number();
  return token == JsonToken::kNumber || token == JsonToken::kNull;
}

template <class Number>
bool TakeInto(JsonScanner& json, Number& into) {
  std::optional<double> number;
  if (!TakeNumber(json, number)) return false;
  if (number && std::abs(*number) < 1e15) into = static_cast<Number>(*number);
  return true;
}

bool TakeWords(JsonScanner& json, std::vector<std::string>& into) {
  return ForEachElement(json, [&](JsonToken token) {
    if (token == JsonToken::kString) into.push_back(codec::UnescapeJson(json.text()));
  });
}

bool TakeSeenIn(JsonScanner& json, Label& label) {
  JsonScanner ahead = json;
  label.is_seen_in_known = ahead.Next() == JsonToken::kArrayBegin;
  return TakeWords(json, label.seen_in);
}

bool TakeClass(JsonScanner& json, Class& into) {
  std::string name;
  if (!TakeText(json, name)) return false;
  const auto kind = ParseClass(name);
  if (kind) into = *kind;
  return kind.has_value();
}

using TakeLabelField = bool (*)(JsonScanner&, Label&);
constexpr std::array<std::pair<std::string_view, TakeLabelField>, 17> kLabelFields = {{
    {"class", [](JsonScanner& json, Label& label) { return TakeClass(json, label.kind); }},
    {"fault", [](JsonScanner& json, Label& label) { return TakeText(json, label.fault); }},
    {"strength", [](JsonScanner& json, Label& label) { return TakeInto(json, label.strength); }},
    {"level", [](JsonScanner& json, Label& label) { return TakeInto(json, label.level); }},
    {"levels", [](JsonScanner& json, Label& label) { return TakeInto(json, label.levels); }},
    {"onset", [](JsonScanner& json, Label& label) { return TakeInto(json, label.onset); }},
    {"recovered", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.recovered); }},
    {"recovered_way", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.recovered_way); }},
    {"effect", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.effect); }},
    {"findings", [](JsonScanner& json, Label& label) { return TakeWords(json, label.findings); }},
    {"causes", [](JsonScanner& json, Label& label) { return TakeWords(json, label.causes); }},
    {"seen_in", [](JsonScanner& json, Label& label) { return TakeSeenIn(json, label); }},
    {"loss_shift", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.loss_shift); }},
    {"loss_peak", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.loss_peak); }},
    {"time_drift", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.time_drift); }},
    {"rss_drift", [](JsonScanner& json, Label& label) { return TakeNumber(json, label.rss_drift); }},
    {"split", [](JsonScanner& json, Label& label) { return TakeInto(json, label.split); }},
}};

bool TakeLabel(JsonScanner& json, Label& label) {
  return ForEachKey(json, [&](const std::string& key) {
    for (const auto& [name, take] : kLabelFields) {
      if (name == key) return take(json, label);
    }
    return Skip(json);
  });
}

// Steps are listed, or regular: then `first` and `every` say them.
bool TakePoints(JsonScanner& json, Points& points) {
  std::int64_t first = 0;
  std::int64_t every = 1;
  const bool is_taken = ForEachKey(json, [&](const std::string& key) {
    if (key == "first") return TakeInto(json, first);
    if (key == "every") return TakeInto(json, every);
    if (key == "values")
      return ForEachElement(json, [&](JsonToken token) { points.values.push_back(NumberOf(json, token)); });
    if (key != "steps") return Skip(json);
    return ForEachElement(json, [&](JsonToken token) {
      points.steps.push_back(token == JsonToken::kNumber ? static_cast<std::int64_t>(json.number()) : 0);
    });
  });
  if (points.steps.empty()) {
    for (std::size_t i = 0; i < points.values.size(); ++i)
      points.steps.push_back(first + static_cast<std::int64_t>(i) * every);
  }
  return is_taken && points.steps.size() == points.values.size();
}

bool TakeSeries(JsonScanner& json, std::vector<Points>& series) {
  return ForEachKey(json, [&](const std::string& key) {
    series.push_back({codec::UnescapeJson(key), {}, {}});
    return TakePoints(json, series.back());
  });
}

// An array of objects {"step": ..., "text": ...}.
bool TakeEvents(JsonScanner& json, std::vector<PrintedText>& events) {
  if (json.Next() != JsonToken::kArrayBegin) return false;
  for (JsonToken token = json.Next(); token != JsonToken::kArrayEnd; token = json.Next()) {
    if (token != JsonToken::kObjectBegin) return false;
    PrintedText& event = events.emplace_back();
    for (token = json.Next(); token == JsonToken::kKey; token = json.Next()) {
      const bool is_text = json.text() == "text";
      const bool is_step = json.text() == "step";
      if (!(is_text ? TakeText(json, event.text) : is_step ? TakeInto(json, event.step) : Skip(json))) return false;
    }
    if (token != JsonToken::kObjectEnd) return false;
  }
  return true;
}

bool TakeSettings(JsonScanner& json, std::string_view line, std::string& into) {
  const std::size_t from = json.consumed();
  if (!Skip(json)) return false;
  into = Trim(line.substr(from, json.consumed() - from));
  return true;
}

bool TakeCrashed(JsonScanner& json, bool& into) {
  const JsonToken token = json.Next();
  into = token == JsonToken::kTrue;
  return into || token == JsonToken::kFalse;
}

bool TakeField(JsonScanner& json, const std::string& key, std::string_view line, StoredRun& run) {
  Record& record = run.record;
  const std::array<std::pair<std::string_view, std::string*>, 8> texts = {{{"id", &record.id},
                                                                           {"style", &record.style},
                                                                           {"task", &record.task},
                                                                           {"model", &record.model},
                                                                           {"family", &record.family},
                                                                           {"optimizer", &record.optimizer},
                                                                           {"odd", &record.odd},
                                                                           {"twin", &record.twin}}};
  for (const auto& [name, into] : texts) {
    if (name == key) return TakeText(json, *into);
  }
  if (key == "last_step") return TakeInto(json, record.last_step);
  if (key == "crashed") return TakeCrashed(json, record.crashed);
  if (key == "settings") return TakeSettings(json, line, run.settings);
  if (key == "series") return TakeSeries(json, run.series);
  if (key == "events") return TakeEvents(json, run.events);
  if (key == "label") return TakeLabel(json, record.label);
  return Skip(json);
}

}  // namespace

std::string_view Name(Class kind) {
  for (const auto& [name, named] : kClasses) {
    if (named == kind) return name;
  }
  return "";
}

std::optional<Class> ParseClass(std::string_view name) {
  for (const auto& [known, kind] : kClasses) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

Result<StoredRun> ParseRun(std::string_view line) {
  StoredRun run;
  JsonScanner json(line);
  const bool is_whole = ForEachKey(json, [&](const std::string& key) { return TakeField(json, key, line, run); });
  if (!is_whole)
    return Fail(ErrorCode::kCorrupt, fmt::format("no run of a set: wrong at byte {} of its line", json.consumed()));
  if (run.record.id.empty()) return Fail(ErrorCode::kCorrupt, "no run of a set: the line has no id");
  return run;
}

}  // namespace vigil::scale
