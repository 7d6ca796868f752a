// hyperparams: the hyperparameters of a run, in whatever notation a file holds them: as paths of keys
// ("optimizer.params.lr") with their values as text. What the readers of configs share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::hyperparams {

inline constexpr std::size_t kMostHyperparameters = 10'000;
inline constexpr std::size_t kLongestHyperparameter = 512;

struct Hyperparameter {
  std::string path;   // keys joined by '.', those of lists left out
  std::string value;  // numbers in their shortest form, true and false, text
  std::uint32_t line = 0;
  std::vector<std::string> items = {};  // of a list of plain values, each
};

// The hyperparameters of a JSON object, to the depth of 8. Null and empty values are left out, of lists only those of
// plain values are kept ("a, b"). Damage ends it; `damage` says which.
std::vector<Hyperparameter> JsonHyperparameters(std::string_view text, model::Statement* damage = nullptr);

// The same of a YAML document, to the depth and size that configfile has.
std::vector<Hyperparameter> YamlHyperparameters(std::string_view text, model::Statement* damage = nullptr);
// The same of a TOML document.
std::vector<Hyperparameter> TomlHyperparameters(std::string_view text, model::Statement* damage = nullptr);

// The hyperparameters that the words of a command line make: "--lr 1e-4", "--bf16=True", "--flash" and "optim.lr=1e-4".
// What the launcher was given of processes and nodes becomes the number of ranks.
std::vector<Hyperparameter> CommandHyperparameters(const std::vector<std::string>& words, std::uint32_t line);

// The canonical key of a hyperparameter: of its whole path, else of its end below sections that only say that it is
// about the training ("optimizer.params.lr"). Empty when unknown: the learning rate of a critic is not the run's.
std::string_view KeyOfHyperparameter(std::string_view path);
// The same among others: names that mean one thing to one program and another to the next are decided by who wrote
// them.
class KeyContext {
 public:
  explicit KeyContext(const std::vector<Hyperparameter>& hyperparameters);
  std::string_view KeyOf(const Hyperparameter& hyperparameter) const;

 private:
  bool is_deepspeed_;
  bool is_trainer_;
};
// A value that leaves the setting to the framework: "auto", null.
bool SaysNothing(std::string_view value);
// How many of them are known.
std::size_t CountKnown(const std::vector<Hyperparameter>& hyperparameters);

// States those that are known as facts of the part, and what they say of the framework. A value that is left to the
// framework ("auto") says nothing.
void StateHyperparameters(const std::vector<Hyperparameter>& hyperparameters, ingest::PartBuilder& builder);
// States all of them, below the key `above`: for a tracker's own record of a run's configuration.
void AddJsonHyperparameters(std::string_view text, ingest::PartBuilder& builder, std::string_view above = {});

// What kind of file the keys show. A model's configuration says little about the training: its dropout or temperature
// are not the run's.
struct ConfigKind {
  bool is_adapter = false;
  bool is_model = false;
  bool is_training = false;
  bool is_launch = false;  // W&B's record of how the program was called
};

ConfigKind KindOf(const std::vector<Hyperparameter>& hyperparameters);
// States what a JSON config says about the training, by its kind. Returns what is wrong with the text, or nothing.
model::Statement StateJsonConfig(std::string_view text, ingest::PartBuilder& builder);

}  // namespace vigil::hyperparams
