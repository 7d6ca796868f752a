// Every record of a set with all that the tables say about it.
#pragma once

#include <optional>
#include <vector>

#include "catalogue/catalogue.h"
#include "scale/lead.h"
#include "scale/peers.h"
#include "scale/record.h"
#include "scale/score.h"

namespace vigil::scale {

struct Judged {
  const Record* record = nullptr;
  Score score;
  std::optional<Lead> lead;
  std::optional<bool> warns_by_chance;
  std::vector<bool> peer_fired;    // in the order of PeerRules()
  std::vector<bool> peer_applies;  // the same
};

// In the order of the records, which outlive it.
std::vector<Judged> JudgeAll(const std::vector<Record>& records, const catalogue::Thresholds& thresholds,
                             unsigned threads = 0);

}  // namespace vigil::scale
