// Labelled runs as samples of the fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/fitted.h"
#include "fit/optimise.h"
#include "model/finding.h"
#include "model/run.h"
#include "scale/record.h"

namespace vigil::fit {

// A run is fitted as it is and with parts of it taken away, since most users log less than a gym does: without its
// settings, with nothing but the losses and the learning rate, and as a log of a few epochs that names no rate. Its
// beginning alone is a run that goes on.
enum class View : std::uint8_t { kAll, kNoSettings, kLossOnly, kEpochs, kBeginning };
inline constexpr std::array kViews = {View::kAll, View::kNoSettings, View::kLossOnly, View::kEpochs, View::kBeginning};
model::Run SeenAs(const model::Run& run, View view);

// What is known of a run: the causes that would be right, the true one first; none for a run that learned. nullopt
// where a run must not be fitted to.
using Truth = std::optional<std::vector<std::string>>;
// A fault that did no harm is one where a detector saw it (a spike that healed has a cause), and none where nothing
// did.
Truth TruthOf(const scale::Record& record, const std::vector<model::Finding>& findings);

// The causes that can be right where no setting is known: nobody can name a setting that he does not see.
std::vector<std::string> WithoutSettings(const std::vector<std::string>& causes);

// One run in one view.
struct Example {
  std::size_t run = 0;  // place among the runs that were given
  std::vector<std::uint32_t> columns;
  std::vector<float> offsets;       // for FittedCauses(), what the rows say
  std::vector<std::string> causes;  // empty: nothing wrong
  double weight = 1;
};

// What a run in some view gives the fit.
Example ExampleOf(const model::Run& run, const std::vector<model::Finding>& findings);

// Whether causes of this kind are weighed by the model: those of loss and policy. All of them, in the order of the
// rows.
bool IsFitted(std::string_view cause);
std::vector<std::string> FittedCauses();
// How usual a cause is among the runs that people ask about, in parts: from the questions that users of trainers ask.
double FrequencyOf(std::string_view cause);

// The classes that enough examples have, by name.
std::vector<std::string> ClassesOf(const std::vector<Example>& examples, int fewest);
// The samples of the examples whose run `take` accepts. An example whose causes are none of the classes is left out.
std::vector<Sample> SamplesOf(const std::vector<Example>& examples, const std::vector<std::string>& classes,
                              const std::vector<bool>& take);

// The same with one class: whether anything is wrong.
std::vector<Sample> TroubleSamplesOf(const std::vector<Example>& examples, const std::vector<bool>& take);

diagnose::FittedModel ModelOf(const Solution& causes, const std::vector<std::string>& classes, const Solution& trouble);

// weights.toml.
std::string WriteWeights(const diagnose::FittedModel& model, const std::string& origin);

}  // namespace vigil::fit
