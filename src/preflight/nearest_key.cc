#include "preflight/nearest_key.h"

#include <algorithm>

#include "base/base.h"

namespace vigil::preflight {
namespace {

std::string SortedWords(std::string_view name) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(name, '_')) words.emplace_back(word);
  std::sort(words.begin(), words.end());
  return Join(words, "_");
}

// One letter more or fewer makes a plural or another number ("eval_step" for "eval_steps"); a short name that differs
// in two letters is another name.
std::size_t MostEdits(std::string_view name) { return name.size() < 5 ? 0 : name.size() < 9 ? 1 : 2; }

}  // namespace

KnownKeys::KnownKeys(const catalogue::ConfigKeysRow& row) {
  std::vector<const catalogue::ConfigKeysRow*> rows = {&row};
  for (const std::string_view other : row.also) {
    if (const catalogue::ConfigKeysRow* found = catalogue::FindConfigKeys(other)) rows.push_back(found);
  }
  for (const catalogue::ConfigKeysRow* each : rows) {
    for (const std::string_view name : each->names) {
      names_.emplace(name);
      for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
        sections_.emplace(name.substr(0, dot));
        names_.emplace(name.substr(0, dot));
      }
    }
  }
}

bool KnownKeys::Covers(std::string_view path) const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos || sections_.contains(path.substr(0, dot));
}

bool KnownKeys::Has(std::string_view path) const { return names_.contains(path); }

std::vector<std::string> KnownKeys::Nearest(std::string_view path) const {
  const std::size_t dot = path.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot + 1);
  const std::string_view name = path.substr(section.size());
  const std::size_t most = MostEdits(name);
  const std::string words = SortedWords(ToLower(name));
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& known : names_) {
    if (!known.starts_with(section) || known.find('.', section.size()) != std::string::npos) continue;
    const std::string_view other = std::string_view(known).substr(section.size());
    std::size_t distance = EditDistance(ToLower(name), other, most);
    if (distance > most && words == SortedWords(other)) distance = most;
    if (distance <= most) near.emplace_back(distance, known);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < near.size() && i < 3; ++i) names.push_back(near[i].second);
  return names;
}

std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t most) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > most || longer > 100) return most + 1;
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t same = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + same});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return std::min(cost[a.size()][b.size()], most + 1);
}

}  // namespace vigil::preflight
