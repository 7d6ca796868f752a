#include "textlog/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/base.h"
#include "textlog/dict_line.h"
#include "textlog/memory_error.h"
#include "textlog/mention.h"
#include "textlog/textlog.h"

namespace vigil::textlog {
namespace {

// Blocks stay in the cache between the search and the reading.
constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;
// Behind a line like the ones before it, so much is searched; twice as much each time that no such line follows.
constexpr std::size_t kFewBytes = 1024;
// So much of a log is searched for rows that hold no word to find them by.
constexpr std::size_t kPlainBytes = std::size_t{64} << 10U;
// Lines of these kinds are seen by more than the reader of metric lines.
constexpr std::uint32_t kOtherReaders =
    kHintBar | kHintDict | kHintTraceback | kHintArguments | kHintFailures | kHintWrapped;

// The first '\n' or '\r' in text[at..], text.size() when there is none.
std::size_t FindLineEnd(std::string_view text, std::size_t at) {
  const char* begin = text.data() + at;
  const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', text.size() - at));
  const std::size_t length = newline == nullptr ? text.size() - at : static_cast<std::size_t>(newline - begin);
  const auto* carriage = static_cast<const char*>(std::memchr(begin, '\r', length));
  return carriage == nullptr ? at + length : static_cast<std::size_t>(carriage - text.data());
}

std::size_t AfterLastLineEnd(std::string_view text) {
  const std::size_t at = text.find_last_of("\n\r");
  return at == std::string_view::npos ? 0 : at + 1;
}

std::uint32_t CountNewlines(std::string_view text) {
  std::uint32_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    ++at;
    ++count;
  }
  return count;
}

// tqdm wipes a bar with spaces before it writes a line over it.
bool WipesBar(std::string_view segment, char terminator) {
  return terminator == '\r' && segment.ends_with("   ") && IsBlank(segment);
}

// "| loss | 2.31 |": a line of a table or box.
bool OpensWithSide(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '|';
}

// Source code printed into a log (some trainers log themselves) speaks of errors that did not happen.
bool LooksLikeSource(std::string_view text) {
  constexpr std::array<std::string_view, 16> kOpenings = {"raise ", "except ", "if ",     "elif ",  "return ", "def ",
                                                          "print(", "#",       "assert ", "class ", "\"\"\"",  "//",
                                                          "try:",   "import ", "with ",   "for "};
  text = Trim(text);
  return std::any_of(kOpenings.begin(), kOpenings.end(),
                     [&](std::string_view opening) { return text.starts_with(opening); });
}

// Python's own warnings ("UserWarning: ...") quote errors, and nothing failed.
bool IsPythonWarning(std::string_view text) {
  const std::size_t at = text.find("Warning: ");
  return at != std::string_view::npos && at > 0 && IsLetter(text[at - 1]);
}

// The number behind `words` in the text.
std::optional<double> NumberAfter(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t used = 0;
  return ParseNumberPrefix(Trim(text.substr(at + words.size())), used);
}

}  // namespace

LogReader::LogReader(ingest::PartBuilder& builder, const Options& options)
    : builder_(builder),
      metrics_(builder, options.use_hints),
      arguments_(builder),
      events_(builder),
      use_hints_(options.use_hints && scanner_.works()) {}

EventLog::Position LogReader::Here(std::int32_t rank) const { return {metrics_.last_step(), offset_, line_, rank}; }

// ---- bytes to segments

// The length of the whole lines at the front of `rest`, at most a block of them; 0 when no line ends there.
std::size_t LogReader::WholeLines(std::string_view rest) {
  const std::string_view longest = rest.substr(0, kLongestLine + 1);
  const std::size_t first = FindLineEnd(longest, std::min(searched_, longest.size()));
  searched_ = first == longest.size() ? first : 0;
  return first == longest.size() ? 0 : AfterLastLineEnd(rest.substr(0, std::max(kBlockBytes, first + 1)));
}

// What remains of a line that was too long, as far as it goes.
std::size_t LogReader::PassLongLine(std::string_view rest) {
  const std::size_t end = FindLineEnd(rest, 0);
  if (end == rest.size()) return end;
  skipping_ = false;
  if (rest[end] == '\n') ++line_;
  return end + 1;
}

// False while too little is there to tell.
bool LogReader::FindEncoding(std::string_view bytes, bool last) {
  if (encoding_) return true;
  if (bytes.size() < ingest::kMarkAndCharacter && !last) return false;
  encoding_ = ingest::EncodingOf(bytes);
  mark_ = ingest::MarkLength(bytes);
  return true;
}

std::size_t LogReader::Consume(std::string_view bytes, bool last) {
  if (!FindEncoding(bytes, last)) return 0;
  const std::size_t mark = std::min(mark_, bytes.size());
  mark_ = 0;
  bytes.remove_prefix(mark);
  return mark + (*encoding_ == ingest::Encoding::kBytes ? ConsumeText(bytes, last) : ConsumeUtf16(bytes, last));
}

std::size_t LogReader::ConsumeUtf16(std::string_view bytes, bool last) {
  const std::size_t taken = ingest::DecodeUtf16(bytes, *encoding_, last, decoded_);
  decoded_.erase(0, ConsumeText(decoded_, last));
  return taken;
}

std::size_t LogReader::ConsumeText(std::string_view bytes, bool last) {
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::string_view rest = bytes.substr(begin);
    if (skipping_) {
      const std::size_t passed = PassLongLine(rest);
      block_offset_ += passed;
      begin += passed;
      continue;
    }
    std::size_t taken = WholeLines(rest);
    if (taken == 0 && rest.size() > kLongestLine) {
      taken = kLongestLine;
      skipping_ = true;
      ++long_lines_;
    } else if (taken == 0) {
      if (!last) break;
      taken = rest.size();
    }
    searched_ = 0;
    const char end = rest[taken - 1];
    cut_ = end != '\n' && end != '\r';
    ProcessBlock(rest.substr(0, taken));
    begin += taken;
  }
  if (last) Finish();
  return begin;
}

// Rows without any word to find them by are looked for at the beginning of a log, while nothing else was found.
bool LogReader::LooksForPlainLines(std::uint64_t offset) const {
  return metrics_.is_plain() || (offset < kPlainBytes && !metrics_.has_series());
}

// Whether somebody has begun to read what the next lines go on with.
bool LogReader::WantsEveryLine() const {
  return !use_hints_ || tracebacks_.is_open() || arguments_.is_open() || failures_.is_open() || metrics_.is_open();
}

// Where the next segment that may matter begins; block.size() when none does.
std::size_t LogReader::NextSegment(std::string_view block, std::size_t at, const std::vector<Hint>& hints,
                                   std::size_t& next) {
  if (WantsEveryLine() || LooksForPlainLines(block_offset_ + at)) return at;
  while (next < hints.size() && hints[next].end <= at) ++next;
  const std::size_t target = next == hints.size() ? block.size() : hints[next].end - 1;
  std::size_t begin = target;
  if (target < block.size()) {
    // A hint's last character may be the '\r' that ends its own segment.
    while (begin > at && block[begin - 1] != '\n' && block[begin - 1] != '\r') --begin;
  }
  const std::string_view passed = block.substr(at, begin - at);
  line_ += CountNewlines(passed);
  if (cleared_ && passed.find_first_not_of(" \t\r\n") != std::string_view::npos) cleared_ = false;
  return begin;
}

void LogReader::CollectHints(const std::vector<Hint>& hints, std::size_t& next, std::size_t end) {
  hints_ = use_hints_ ? 0U : std::uint32_t{kHintAll};
  for (; next < hints.size() && hints[next].end <= end + 1; ++next) hints_ |= HintScanner::BitsOf(hints[next].literal);
}

void LogReader::ProcessBlock(std::string_view block) {
  // Without colours, coloured lines are like each other too.
  if (HasControl(block)) {
    RemoveControl(block, plain_);
    block = plain_;
  }
  trainer_.Observe(block, block_offset_);
  while (!block.empty()) {
    std::size_t done = TakeLikeBefore(block, 0);
    scan_bytes_ = done != 0 ? kFewBytes : std::min(2 * std::max(scan_bytes_, kFewBytes), kBlockBytes);
    const std::string_view rest = block.substr(done);
    std::size_t taken = rest.size() <= scan_bytes_ ? rest.size() : FindLineEnd(rest, scan_bytes_) + 1;
    taken = std::min(taken, rest.size());
    block_offset_ += done;
    block_hints_.clear();
    if (use_hints_) scanner_.Scan(rest.substr(0, taken), block_hints_);
    ProcessSegments(rest.substr(0, taken), block_hints_, false);
    block_offset_ += taken;
    block = rest.substr(taken);
  }
}

// Takes the lines from `at` on that are like ones that were read before: what the search would find in them is known.
// Returns where they end.
std::size_t LogReader::TakeLikeBefore(std::string_view block, std::size_t at) {
  if (WantsEveryLine()) return at;
  while (at < block.size()) {
    std::size_t length = 0;
    if (block[at] != '\n' && block[at] != '\r') {
      offset_ = block_offset_ + at;
      length = TakeOneLikeBefore(block.substr(at));
      if (length == 0) break;
      cleared_ = false;
    }
    at += length;
    if (block[at] == '\n') ++line_;
    ++at;
  }
  return at;
}

std::size_t LogReader::TakeOneLikeBefore(std::string_view rest) {
  if (const std::size_t length = metrics_.TakeLikeBefore(rest, line_); length != 0) {
    events_.ObserveStep(metrics_.last_step(), offset_);
    return length;
  }
  ProgressBar bar;
  const std::size_t length = ReadPlainBar(rest, bar);
  if (length != 0) HandleBar(bar);
  return length;
}

// The text inside a notebook runner's line: it may hold several lines, which all stand at that one.
void LogReader::ProcessWrapped(std::string_view text) {
  if (use_hints_) scanner_.Scan(text, wrapped_hints_);
  const std::uint32_t line = line_;
  in_wrapper_ = true;
  ProcessSegments(text, wrapped_hints_, true);
  in_wrapper_ = false;
  line_ = line;
}

void LogReader::ProcessSegments(std::string_view text, const std::vector<Hint>& hints, bool is_wrapped) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_wrapped && at != 0) at = TakeLikeBefore(text, at);
    while (next < hints.size() && hints[next].end <= at) ++next;
    at = NextSegment(text, at, hints, next);
    if (at >= text.size()) break;
    const std::size_t end = FindLineEnd(text, at);
    CollectHints(hints, next, end);
    if (!is_wrapped) offset_ = block_offset_ + at;
    const std::string_view segment = text.substr(at, end - at);
    const char terminator = end < text.size() ? text[end] : '\0';
    if (WipesBar(segment, terminator)) {
      cleared_ = true;
    } else if ((hints_ & kHintWrapped) != 0 && !is_wrapped && UnwrapLine(segment, unwrapped_)) {
      ProcessWrapped(unwrapped_);
    } else {
      ProcessSegment(segment);
    }
    if (terminator == '\n') ++line_;
    at = end + 1;
  }
}

void LogReader::ProcessSegment(std::string_view segment) {
  if (segment.empty()) return;
  CleanLine line = cleaner_.Clean(segment);
  line.verbatim = line.verbatim && (hints_ & kOtherReaders) == 0 && !OpensWithSide(line.text);
  if (hints_ != 0) highest_rank_ = std::max(highest_rank_, line.rank);
  HandleText(line);
}

// ---- what a line says

void LogReader::HandleText(CleanLine line) {
  const std::uint32_t bits = hints_;
  const bool opens_box = (bits & kHintTable) != 0 && OpensWithSide(line.text) && HasWord(line.text, kHintTable);
  if ((metrics_.in_table() || opens_box) && metrics_.TakeTable(line.text, line.rank, line_)) {
    events_.ObserveStep(metrics_.last_step(), offset_);
    return;
  }
  if ((bits & kHintBar) != 0) {
    if (const auto bar = ParseProgressBar(line.text)) {
      HandleBar(*bar);
      if (KindOf(*bar) != BarKind::kOther && !bar->postfix.empty() && metrics_.TakePostfix(*bar, line.rank, line_))
        events_.ObserveBar(metrics_.last_step());
      cleared_ = false;
      line.text = bar->rest;
      if (IsBlank(line.text)) return;
    }
  }
  const bool was_cleared = cleared_;
  cleared_ = false;
  if ((tracebacks_.is_open() || (bits & kHintTraceback) != 0) && HandleTraceback(line)) return;
  if ((arguments_.is_open() || (bits & kHintArguments) != 0) && arguments_.Consume(line.text, line_)) return;
  if ((bits & kHintArguments) != 0 && !cut_ && metrics_.TakeTimer(line, line_)) return;
  if (failures_.is_open() || (bits & kHintFailures) != 0) HandleFailureTable(line);
  if ((bits & kHintDict) != 0) {
    cleared_ = was_cleared;
    const bool taken = HandleDict(line);
    cleared_ = false;
    if (taken) return;
  }
  if ((metrics_.is_open() || (bits & kHintMetric) != 0) && HandleMetric(line)) return;
  if (LooksForPlainLines(offset_) && !in_wrapper_ && metrics_.TakePlain(line, cut_, HasMetricWord(line.text), line_)) {
    events_.ObserveStep(metrics_.last_step(), offset_);
    return;
  }
  if ((bits & kHintNotice) != 0) HandleNotice(line);
  if ((bits & kHintSignature) != 0) HandleSignature(line, nullptr);
  if (offset_ < kPlainBytes && !metrics_.has_series()) RememberStranger(line.text);
}

void LogReader::RememberStranger(std::string_view text) {
  constexpr std::size_t kLongestExample = 100;
  std::size_t numbers = 0;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && IsDigit(text[i - 1]) && IsDigit(text[i + 1])) ++numbers;
  }
  if (numbers <= stranger_numbers_) return;
  stranger_numbers_ = numbers;
  stranger_line_ = line_;
  stranger_ = std::string(Trim(text).substr(0, kLongestExample));
}

// For logs of a form that nobody knows: where we looked, so that their owner sees what a line would need.
void LogReader::TellWhatWasLookedFor() {
  if (stranger_.empty()) return;
  builder_.AddNote(
      fmt::format("line {} is most like one with metrics: \"{}\". Looked for: a step or epoch beside named numbers "
                  "(step 120 loss 2.31), tables, dictionaries, progress bars, error messages, settings",
                  FormatCount(stranger_line_), Printable(stranger_)));
}

bool LogReader::HasMetricWord(std::string_view text) const {
  return use_hints_ ? (hints_ & kHintMetric) != 0 : HasWord(text, kHintMetric);
}

// A header of a table looks like nothing else that is understood, so it is tried behind the lines of loops.
bool LogReader::HandleMetric(const CleanLine& line) {
  const auto is_mined = [&] {
    return HasWord(line.text, kHintMetric) &&
           (metrics_.TakeMemory(line, cut_, line_) || metrics_.TakeLoneScore(line, cut_, line_) ||
            metrics_.TakeTable(line.text, line.rank, line_) || metrics_.TakeRepeated(line, cut_, line_));
  };
  const bool taken = metrics_.TakeLine(line, cut_, line_) || is_mined();
  if (taken) events_.ObserveStep(metrics_.last_step(), offset_);
  return taken;
}

void LogReader::HandleBar(const ProgressBar& bar) {
  if (KindOf(bar) != BarKind::kPlain || !bar_.Observe(bar)) return;
  metrics_.ObserveBar(bar.count);
  events_.ObserveBar(bar.count);
}

bool LogReader::HandleTraceback(const CleanLine& line) {
  std::optional<Exception> exception;
  const bool was_open = tracebacks_.is_open();
  const TracebackReader::Place place = tracebacks_.Consume(line.text, line.rank, line_, exception);
  if (place == TracebackReader::Place::kOutside) return false;
  // "Exception ignored in": the interpreter went on, or was ending anyway.
  if (!was_open) is_ignored_ = ignored_line_ != 0 && line_ <= ignored_line_ + 1;
  if (exception && !is_ignored_) {
    events_.AddException(*exception, Here(line.rank));
    CleanLine message = line;  // without what is drawn before it
    message.text.remove_prefix(std::min(line.text.size(), line.text.find(exception->type)));
    HandleSignature(message, &*exception);
  }
  return true;
}

bool LogReader::HandleDict(const CleanLine& line) {
  bool any = false;
  std::size_t open = FindDict(line.text);
  const std::string_view before = line.text.substr(0, open);
  while (open != std::string_view::npos) {
    numbers_.clear();
    std::size_t end = nested_.Parse(line.text, open, numbers_);
    if (end == std::string_view::npos) end = ParseDict(line.text, open, numbers_);
    if (end == std::string_view::npos) break;
    const auto kind = metrics_.TakeDict(numbers_, before, line, cleared_, bar_, line_);
    if (kind == MetricRows::DictKind::kEnd && !finished_)
      events_.AddNotice(model::EventKind::kExit, "finished", line.text, Here(line.rank));
    finished_ = kind == MetricRows::DictKind::kEnd || (finished_ && kind == MetricRows::DictKind::kNone);
    if (kind == MetricRows::DictKind::kRow && bar_.count() < 0) events_.ObserveStep(metrics_.last_step(), offset_);
    any = any || kind != MetricRows::DictKind::kNone;
    const std::size_t later = FindDict(line.text.substr(end));
    open = later == std::string_view::npos ? later : end + later;
  }
  return any;
}

// DeepSpeed: "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768".
void LogReader::HandleLossScale(const CleanLine& line) {
  const auto attempted = NumberAfter(line.text, "Attempted loss scale:");
  const auto reduced = NumberAfter(line.text, "reducing to");
  if (attempted && reduced) return metrics_.TakeLossScale(*attempted, *reduced, line_);
  if (line.text.find("Increasing dynamic loss scale") == std::string_view::npos) return;
  if (const auto scale = NumberAfter(line.text, " to ")) metrics_.TakeLossScale(model::kNoValue, *scale, line_);
}

// Code or settings in the log that turn a NaN into something else before it is logged.
void LogReader::HandleNanHider(const CleanLine& line) {
  if (hides_nan_) return;
  const bool code = line.text.find("nan_to_num(") != std::string_view::npos && !Trim(line.text).starts_with('#');
  const bool setting = line.text.find("nan_inf_filter=True") != std::string_view::npos ||
                       line.text.find("nan_inf_filter: true") != std::string_view::npos;
  if (!code && !setting) return;
  hides_nan_ = true;
  events_.AddNotice(model::EventKind::kNanHider, code ? "nan_to_num" : "logging_nan_inf_filter", line.text,
                    Here(line.rank));
}

bool LogReader::TellsTheEnd(std::string_view text) {
  constexpr std::size_t kLongest = 80;  // a sentence of its own, not one about it
  return text.size() <= kLongest && std::any_of(kEndWords.begin(), kEndWords.end(), [&](std::string_view word) {
           return ContainsIgnoringCase(text, word);
         });
}

void LogReader::HandleNotice(const CleanLine& line) {
  HandleLossScale(line);
  HandleNanHider(line);
  if (LooksLikeSource(line.text)) return;
  const std::string_view text = line.text;
  if (ContainsIgnoringCase(text, "exception ignored in")) ignored_line_ = line_;
  if (TellsTheEnd(text)) events_.AddNotice(model::EventKind::kExit, "finished", text, Here(line.rank));
  if (ContainsIgnoringCase(text, "saving model checkpoint") || ContainsIgnoringCase(text, "saving checkpoint") ||
      ContainsIgnoringCase(text, "saved checkpoint")) {
    events_.AddNotice(model::EventKind::kCheckpoint, "", text, Here(line.rank));
  } else if (ContainsIgnoringCase(text, "resuming training from") ||
             ContainsIgnoringCase(text, "continuing training from") ||
             ContainsIgnoringCase(text, "resuming from checkpoint")) {
    events_.AddNotice(model::EventKind::kResume, "", text, Here(line.rank));
  }
}

void LogReader::HandleFailureTable(const CleanLine& line) {
  if (const auto failure = failures_.Consume(line.text, line_)) events_.AddFailure(*failure, Here(failure->rank));
  // Of the tasks that Slurm names, the first one failed by itself, and the others were ended for it.
  const auto task = FailureOfSrun(line.text, line_);
  if (!task || failed_step_ == metrics_.last_step()) return;
  failed_step_ = metrics_.last_step();
  events_.AddFailure(*task, Here(task->rank));
}

void LogReader::HandleSignature(const CleanLine& line, const Exception* exception) {
  if ((hints_ & kHintSignature) == 0) return;
  if (!signatures_) signatures_.emplace();
  const SignatureMatch match = use_hints_ ? signatures_->Find(line.text) : SignatureMatcher::Shared().Match(line.text);
  if (match.row == nullptr || LooksLikeSource(line.text)) return;
  const bool is_told = match.row->severity == model::Severity::kInfo || exception != nullptr ||
                       !(IsPythonWarning(line.text) || IsOnlyMentioned(line.text, match.begin, match.end));
  if (!is_told) return;
  const bool is_memory = match.row->id == "log/cuda-oom";
  events_.AddSignature(is_memory ? KindOfMemoryError(line.text, exception) : match.row->id, line.text, exception,
                       Here(line.rank));
}

void LogReader::Finish() {
  metrics_.Finish(bar_);
  model::Run& part = builder_.part();
  if (part.framework.empty()) part.framework = std::string(trainer_.Name(part));
  events_.Finish(metrics_.last_step());
  if (highest_rank_ >= 0) builder_.part().ranks = std::max(builder_.part().ranks, highest_rank_ + 1);
  if (part.series.empty() && part.events.empty() && part.facts.empty()) TellWhatWasLookedFor();
  if (long_lines_ != 0) {
    builder_.AddNote(fmt::format("{} line{} longer than {} cut there", FormatCount(long_lines_),
                                 long_lines_ == 1 ? "" : "s", FormatBytes(kLongestLine)));
    long_lines_ = 0;
  }
}

}  // namespace vigil::textlog
