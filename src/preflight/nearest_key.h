// The settings that a framework takes, and which of them was meant by a name that is none.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/config_rules.h"

namespace vigil::preflight {

class KnownKeys {
 public:
  explicit KnownKeys(const catalogue::ConfigKeysRow& row);

  // Whether all names of the level that the path stands on are known: the top, or a section of which names are listed.
  bool Covers(std::string_view path) const;
  bool Has(std::string_view path) const;
  // Those one or two letters away, or the same words in another order; best first, at most three.
  std::vector<std::string> Nearest(std::string_view path) const;

 private:
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> sections_;
};

// Insertions, deletions, replacements and exchanges of neighbours that make one of the other; `most` + 1 when more.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace vigil::preflight
