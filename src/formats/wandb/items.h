// A key and its value as JSON: how W&B stores history, configuration, summary and system metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tabular/distribution.h"

namespace vigil::formats::wandb {

struct Item {
  std::string key;  // levels joined by '/'
  std::string_view json;
};

// Takes the item apart into `item`, whose memory is used again.
void ParseItem(std::string_view bytes, Item& item);
// A string without its quotes, anything else as it stands.
std::string_view Unquoted(std::string_view json);

// The histograms of one row of history. The client writes each as an object, or takes it apart into items of its own:
// "weights/_type", "weights/bins", "weights/values".
class HistogramItems {
 public:
  // False when the item is no part of a histogram.
  bool Take(const Item& item);
  // Calls `found(name, distribution)` for each that is whole, and forgets them all.
  template <class Found>
  void Finish(Found found) {
    for (const Parts& parts : rows_) {
      if (const auto distribution = DistributionOf(parts)) found(parts.name, *distribution);
    }
    rows_.clear();
  }

 private:
  struct Parts {
    std::string name;
    std::vector<double> edges;
    std::vector<double> counts;
    bool typed = false;
  };

  Parts& PartsOf(std::string_view name);
  static std::optional<tabular::Distribution> DistributionOf(const Parts& parts);

  std::vector<Parts> rows_;
};

}  // namespace vigil::formats::wandb
