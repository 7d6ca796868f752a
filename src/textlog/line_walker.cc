#include "textlog/line_walker.h"

#include <algorithm>
#include <cstring>

#include "textlog/progress_bar.h"

namespace vigil::textlog {
namespace {

// Behind a line like the ones before it, so much is searched; twice as much each time that no such line follows.
constexpr std::size_t kFewBytes = 1024;
// Lines of these kinds are seen by more than the parser of metric lines.
constexpr std::uint32_t kOtherParsers =
    kHintBar | kHintDict | kHintTraceback | kHintArguments | kHintFailures | kHintWrapped;

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

}  // namespace

void LineWalker::Read(const TextBlock& block) {
  at_.block += block.skipped_bytes;
  at_.line += block.skipped_newlines;
  at_.cut = block.cut;
  std::string_view text = block.text;
  // Without colours, coloured lines are like each other too.
  if (HasControl(text)) {
    RemoveControl(text, buffers_.plain);
    text = buffers_.plain;
  }
  trainer_.Observe(text, at_.block);
  while (!text.empty()) {
    const std::size_t done = TakeLikeBefore(text, 0);
    scan_bytes_ = done != 0 ? kFewBytes : std::min(2 * std::max(scan_bytes_, kFewBytes), LineSplitter::kBlockBytes);
    const std::string_view rest = text.substr(done);
    std::size_t taken = rest.size() <= scan_bytes_ ? rest.size() : FindLineEnd(rest, scan_bytes_) + 1;
    taken = std::min(taken, rest.size());
    at_.block += done;
    buffers_.hints.clear();
    if (state_.use_hints) scanner_.Scan(rest.substr(0, taken), buffers_.hints);
    ReadLines(rest.substr(0, taken), buffers_.hints);
    at_.block += taken;
    text = rest.substr(taken);
  }
}

// Takes the lines from `at` on that are like ones that were read before: what the search would find in them is known.
// Returns where they end.
std::size_t LineWalker::TakeLikeBefore(std::string_view block, std::size_t at) {
  if (WantsEveryLine()) return at;
  while (at < block.size()) {
    std::size_t length = 0;
    if (block[at] != '\n' && block[at] != '\r') {
      at_.offset = at_.block + at;
      length = TakeOneLikeBefore(block.substr(at));
      if (length == 0) break;
      at_.after_wipe = false;
    }
    at += length;
    if (block[at] == '\n') ++at_.line;
    ++at;
  }
  return at;
}

std::size_t LineWalker::TakeOneLikeBefore(std::string_view rest) {
  const std::size_t row = state_.in_evaluation ? 0 : state_.shapes.TakeFront(rest, at_.line);
  if (row != 0) {
    state_.events.ObserveStep(state_.steps.latest(), at_.offset);
    return row;
  }
  ProgressBar bar;
  const std::size_t length = ReadPlainBar(rest, bar);
  if (length != 0) state_.ObserveBar(bar);
  return length;
}

// Where the next segment that may matter begins; block.size() when none does.
std::size_t LineWalker::NextSegment(std::string_view block, std::size_t at, const std::vector<Hint>& hints,
                                    std::size_t& next) {
  if (WantsEveryLine() || state_.LooksForPlainRows(at_.block + at)) return at;
  while (next < hints.size() && hints[next].end <= at) ++next;
  const std::size_t target = next == hints.size() ? block.size() : hints[next].end - 1;
  std::size_t begin = target;
  if (target < block.size()) {
    // A hint's last character may be the '\r' that ends its own segment.
    while (begin > at && block[begin - 1] != '\n' && block[begin - 1] != '\r') --begin;
  }
  const std::string_view passed = block.substr(at, begin - at);
  at_.line += CountNewlines(passed);
  if (at_.after_wipe && passed.find_first_not_of(" \t\r\n") != std::string_view::npos) at_.after_wipe = false;
  return begin;
}

std::uint32_t LineWalker::CollectHints(const std::vector<Hint>& hints, std::size_t& next, std::size_t end) const {
  std::uint32_t bits = state_.use_hints ? 0U : std::uint32_t{kHintAll};
  for (; next < hints.size() && hints[next].end <= end + 1; ++next) bits |= HintScanner::BitsOf(hints[next].literal);
  return bits;
}

// The text inside a notebook runner's line: it may hold several lines, which all stand at that one.
void LineWalker::ReadWrapped(std::string_view text) {
  buffers_.wrapped_hints.clear();
  if (state_.use_hints) scanner_.Scan(text, buffers_.wrapped_hints);
  const std::uint32_t line = at_.line;
  at_.wrapped = true;
  ReadLines(text, buffers_.wrapped_hints);
  at_.wrapped = false;
  at_.line = line;
}

void LineWalker::ReadLines(std::string_view text, const std::vector<Hint>& hints) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!at_.wrapped && at != 0) at = TakeLikeBefore(text, at);
    while (next < hints.size() && hints[next].end <= at) ++next;
    at = NextSegment(text, at, hints, next);
    if (at >= text.size()) break;
    const std::size_t end = FindLineEnd(text, at);
    const std::uint32_t bits = CollectHints(hints, next, end);
    if (!at_.wrapped) at_.offset = at_.block + at;
    const char terminator = end < text.size() ? text[end] : '\0';
    ReadSegment(text.substr(at, end - at), terminator, bits);
    if (terminator == '\n') ++at_.line;
    at = end + 1;
  }
}

void LineWalker::ReadSegment(std::string_view segment, char terminator, std::uint32_t bits) {
  if (WipesBar(segment, terminator)) {
    at_.after_wipe = true;
  } else if ((bits & kHintWrapped) != 0 && !at_.wrapped && UnwrapLine(segment, buffers_.unwrapped)) {
    ReadWrapped(buffers_.unwrapped);
  } else if (!segment.empty()) {
    ReadLine(segment, bits);
  }
}

void LineWalker::ReadLine(std::string_view segment, std::uint32_t bits) {
  LogLine line = {cleaner_.Clean(segment), bits, at_.line, at_.offset, at_.cut, at_.after_wipe, at_.wrapped};
  if (ReplaceSigns(line.text, buffers_.signs)) {
    line.text = buffers_.signs;
    line.verbatim = false;  // its shape is that of the plain text
  }
  line.verbatim = line.verbatim && (bits & kOtherParsers) == 0 && !OpensWithSide(line.text);
  if (bits != 0) highest_rank_ = std::max(highest_rank_, line.rank);
  const bool taken = parsers_.Parse(line) != nullptr;
  at_.after_wipe = false;
  if (!taken && at_.offset < LogState::kPlainBytes && !state_.has_series())
    unrecognised_.Observe(line.text, line.number);
}

}  // namespace vigil::textlog
