// What is no row of metrics: tracebacks, settings, failed processes, checkpoints, known error messages.
#include <algorithm>
#include <array>
#include <optional>

#include "base/base.h"
#include "textlog/arguments.h"
#include "textlog/failure_table.h"
#include "textlog/hints.h"
#include "textlog/make_parsers.h"
#include "textlog/stated_place.h"
#include "textlog/traceback.h"

namespace vigil::textlog {
namespace {

class TracebackParser final : public LineParser {
 public:
  explicit TracebackParser(LogState& state) : state_(state) {}

  bool is_open() const override { return reader_.is_open(); }

  Outcome Parse(LogLine& line) override {
    if ((line.hints & kHintNotice) != 0 && ContainsIgnoringCase(line.text, "exception ignored in"))
      ignored_line_ = line.number;
    if ((line.hints & kHintTraceback) == 0 && !is_open()) return Outcome::kNotMine;
    std::optional<Exception> exception;
    const bool was_open = is_open();
    const TracebackReader::Place place = reader_.Consume(line.text, line.rank, line.number, exception);
    if (place == TracebackReader::Place::kOutside) return Outcome::kNotMine;
    // "Exception ignored in": the interpreter went on, or was ending anyway.
    if (!was_open) is_ignored_ = ignored_line_ != 0 && line.number <= ignored_line_ + 1;
    if (exception && !is_ignored_) Add(*exception, line);
    return Outcome::kTaken;
  }

 private:
  void Add(const Exception& exception, const LogLine& line) {
    state_.events.AddException(exception, state_.Here(line, line.rank));
    if ((line.hints & kHintSignature) == 0) return;
    std::string_view message = line.text;  // without what is drawn before it
    message.remove_prefix(std::min(message.size(), message.find(exception.type)));
    state_.signatures.Take(message, &exception, state_.Here(line, line.rank));
  }

  LogState& state_;
  TracebackReader reader_;
  std::uint32_t ignored_line_ = 0;  // where the interpreter last said that it ignores one
  bool is_ignored_ = false;         // the traceback at hand is one of those
};

class SettingsParser final : public LineParser {
 public:
  explicit SettingsParser(LogState& state) : reader_(state.builder) {}
  bool is_open() const override { return reader_.is_open(); }
  Outcome Parse(LogLine& line) override {
    return reader_.Consume(line.text, line.number) ? Outcome::kTaken : Outcome::kNotMine;
  }

 private:
  ArgumentReader reader_;
};

// torchrun's table of failed processes, and Slurm's lines about tasks.
class FailureParser final : public LineParser {
 public:
  explicit FailureParser(LogState& state) : state_(state) {}

  bool is_open() const override { return reader_.is_open(); }

  Outcome Parse(LogLine& line) override {
    const auto failure = reader_.Consume(line.text, line.number);
    if (failure) state_.events.AddFailure(*failure, state_.Here(line, failure->rank));
    // Of the tasks that Slurm names, the first one failed by itself, and the others were ended for it.
    const auto task = FailureOfSrun(line.text, line.number);
    if (task && failed_step_ != state_.steps.latest()) {
      failed_step_ = state_.steps.latest();
      state_.events.AddFailure(*task, state_.Here(line, task->rank));
    }
    return failure || task ? Outcome::kNoted : Outcome::kNotMine;
  }

 private:
  LogState& state_;
  FailureTableReader reader_;
  std::optional<std::int64_t> failed_step_;  // the latest one when Slurm last named a task that failed
};

// Code or settings in the log that turn a NaN into something else before it is logged.
class NanHiderParser final : public LineParser {
 public:
  explicit NanHiderParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    if (is_found_) return Outcome::kNotMine;
    const bool code = line.text.find("nan_to_num(") != std::string_view::npos && !Trim(line.text).starts_with('#');
    const bool setting = line.text.find("nan_inf_filter=True") != std::string_view::npos ||
                         line.text.find("nan_inf_filter: true") != std::string_view::npos;
    if (!code && !setting) return Outcome::kNotMine;
    is_found_ = true;
    state_.events.AddNotice(model::EventKind::kNanHider, code ? "nan_to_num" : "logging_nan_inf_filter", line.text,
                            state_.Here(line, line.rank));
    return Outcome::kNoted;
  }

 private:
  LogState& state_;
  bool is_found_ = false;  // once is enough
};

// Checkpoints, restarts, the regular end.
class NoticeParser final : public LineParser {
 public:
  explicit NoticeParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    if (LooksLikeSource(line.text)) return Outcome::kNotMine;
    const bool ends = SaysTheEnd(line.text);
    const bool saves = HoldsOneOf(line.text, kSaving);
    const bool resumes = !saves && SaysResume(line.text);
    if (ends) Add(model::EventKind::kExit, "finished", line);
    if (saves) Add(model::EventKind::kCheckpoint, "", line);
    if (resumes) Add(model::EventKind::kResume, "", line);
    return ends || saves || resumes ? Outcome::kNoted : Outcome::kNotMine;
  }

 private:
  static constexpr std::array<std::string_view, 3> kSaving = {"saving model checkpoint", "saving checkpoint",
                                                              "saved checkpoint"};
  static constexpr std::array<std::string_view, 9> kResuming = {"resuming training from",
                                                                "continuing training from",
                                                                "resuming from",
                                                                "resumed from",
                                                                "resumed training",
                                                                "resumed at",
                                                                "resuming at",
                                                                "resuming training",
                                                                "training resumed"};
  // What programs write who only loaded weights, too: a restart where a step or an epoch stands beside it.
  static constexpr std::array<std::string_view, 3> kLoading = {"loaded checkpoint", "restored checkpoint",
                                                               "checkpoint loaded"};

  static bool SaysResume(std::string_view text) {
    if (HoldsOneOf(text, kResuming)) return true;
    const model::Position at = HoldsOneOf(text, kLoading) ? StatedPlace(text) : model::Position();
    return at.known() && at.value() > 0;
  }

  template <std::size_t kCount>
  static bool HoldsOneOf(std::string_view text, const std::array<std::string_view, kCount>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return ContainsIgnoringCase(text, word); });
  }

  static bool SaysTheEnd(std::string_view text) {
    constexpr std::size_t kLongest = 80;  // a sentence of its own, not one about it
    return text.size() <= kLongest && HoldsOneOf(text, kEndWords);
  }

  // Where the log has no steps of its own, the notice may state one: "resuming from step 1500".
  void Add(model::EventKind kind, std::string_view name, const LogLine& line) {
    EventLog::Place place = state_.Here(line, line.rank);
    const model::Position stated = place.step == model::kNoStep ? StatedPlace(line.text) : model::Position();
    if (stated.known()) {
      place.step = stated.value();
      place.axis = stated.axis();
    }
    state_.events.AddNotice(kind, name, line.text, place);
  }

  LogState& state_;
};

class SignatureParser final : public LineParser {
 public:
  explicit SignatureParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    const bool found = state_.signatures.Take(line.text, nullptr, state_.Here(line, line.rank));
    return found ? Outcome::kNoted : Outcome::kNotMine;
  }

 private:
  LogState& state_;
};

}  // namespace

std::unique_ptr<LineParser> MakeTracebackParser(LogState& state) { return std::make_unique<TracebackParser>(state); }
std::unique_ptr<LineParser> MakeSettingsParser(LogState& state) { return std::make_unique<SettingsParser>(state); }
std::unique_ptr<LineParser> MakeFailureParser(LogState& state) { return std::make_unique<FailureParser>(state); }
std::unique_ptr<LineParser> MakeNanHiderParser(LogState& state) { return std::make_unique<NanHiderParser>(state); }
std::unique_ptr<LineParser> MakeNoticeParser(LogState& state) { return std::make_unique<NoticeParser>(state); }
std::unique_ptr<LineParser> MakeSignatureParser(LogState& state) { return std::make_unique<SignatureParser>(state); }

}  // namespace vigil::textlog
