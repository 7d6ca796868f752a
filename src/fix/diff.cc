// A unified diff of two texts that are mostly equal.
#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "fix/fix.h"

namespace vigil::fix {
namespace {

constexpr std::size_t kAround = 3;      // equal lines that are shown around a change
constexpr std::size_t kFarthest = 200;  // lines looked ahead for the next equal one

enum class Side : char { kBoth = ' ', kOld = '-', kNew = '+' };

struct Line {
  Side side;
  std::string_view text;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// How many lines of each are to be passed until both are equal again, the fewest together.
std::pair<std::size_t, std::size_t> NextEqual(std::span<const std::string_view> a,
                                              std::span<const std::string_view> b) {
  for (std::size_t sum = 1; sum <= kFarthest; ++sum) {
    for (std::size_t i = 0; i <= sum; ++i) {
      const std::size_t j = sum - i;
      if (i < a.size() && j < b.size() && a[i] == b[j]) return {i, j};
    }
  }
  return {a.size(), b.size()};
}

std::vector<Line> Align(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  std::vector<Line> lines;
  lines.reserve(a.size() + b.size());
  while (!a.empty() || !b.empty()) {
    if (!a.empty() && !b.empty() && a[0] == b[0]) {
      lines.push_back({Side::kBoth, a[0]});
      a = a.subspan(1);
      b = b.subspan(1);
      continue;
    }
    const auto [i, j] = NextEqual(a, b);
    for (const std::string_view text : a.first(i)) lines.push_back({Side::kOld, text});
    for (const std::string_view text : b.first(j)) lines.push_back({Side::kNew, text});
    a = a.subspan(i);
    b = b.subspan(j);
  }
  return lines;
}

// The end of the hunk that begins at `first`: changes with at most twice the lines around between them are one.
std::size_t EndOfHunk(const std::vector<Line>& lines, std::size_t first) {
  std::size_t last = first;
  for (std::size_t i = first; i < lines.size() && i <= last + 2 * kAround; ++i) {
    if (lines[i].side != Side::kBoth) last = i;
  }
  return std::min(lines.size(), last + 1 + kAround);
}

struct Numbers {
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  void Pass(const Line& line) {
    old_line += line.side != Side::kNew;
    new_line += line.side != Side::kOld;
  }
};

std::string Hunk(std::span<const Line> lines, Numbers from) {
  Numbers to = from;
  std::string body;
  for (const Line& line : lines) {
    to.Pass(line);
    body += fmt::format("{}{}\n", static_cast<char>(line.side), line.text);
  }
  return fmt::format("@@ -{},{} +{},{} @@\n{}", from.old_line, to.old_line - from.old_line, from.new_line,
                     to.new_line - from.new_line, body);
}

}  // namespace

std::string UnifiedDiff(std::string_view old_name, std::string_view old_text, std::string_view new_name,
                        std::string_view new_text) {
  const std::vector<std::string_view> a = LinesOf(old_text);
  const std::vector<std::string_view> b = LinesOf(new_text);
  const std::vector<Line> lines = Align(a, b);
  std::string hunks;
  Numbers numbers;
  std::size_t done = 0;  // lines that the numbers have passed
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].side == Side::kBoth) {
      ++i;
      continue;
    }
    const std::size_t first = i >= done + kAround ? i - kAround : done;
    const std::size_t end = EndOfHunk(lines, i);
    while (done < first) numbers.Pass(lines[done++]);
    hunks += Hunk(std::span(lines).subspan(first, end - first), numbers);
    while (done < end) numbers.Pass(lines[done++]);
    i = end;
  }
  return hunks.empty() ? hunks : fmt::format("--- {}\n+++ {}\n{}", old_name, new_name, hunks);
}

}  // namespace vigil::fix
