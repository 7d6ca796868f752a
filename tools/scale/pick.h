// Which runs of a set are worth comparing in other formats. Two verdicts that say nothing are equal whatever the reader
// made of the file, so that runs taken at random would show little.
#pragma once

#include <string>
#include <vector>

#include "scale/verdict.h"

namespace vigil::scale {

struct Candidate {
  std::string id;
  Verdict verdict;
};
// Half of them with an error, a quarter with a warning and nothing above, a quarter with neither; within each in turn
// one of every kind of most severe finding, so that a frequent finding does not crowd out the others. Fewer where the
// set has not as many. The same for the same candidates.
std::vector<std::string> PickForTwins(const std::vector<Candidate>& candidates, std::size_t count);

}  // namespace vigil::scale
