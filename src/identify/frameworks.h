// What sets frameworks apart, as rows: the names by which they are known, and how they take the values that they log.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace vigil::identify {

// Shows a framework when all that it names is there; empty parts name nothing.
struct Sign {
  std::array<std::string_view, 3> raw = {};  // series of these raw names
  std::string_view raw_prefix = {};          // a series whose raw name begins so
  std::string_view signal = {};              // a series of this signal
};

// The class that takes the settings where a run is of that training method.
struct ConfigClass {
  std::string_view method;
  std::string_view name;
};

struct Framework {
  std::string_view id;
  std::span<const Sign> signs = {};
  bool is_base = false;                // others are built on it: a more particular one may still be found
  bool is_pretrainer = false;          // for training language models from scratch
  bool is_built_on_hf = false;         // logs as HF Trainer does
  bool logs_means = false;             // every metric, not only the loss, is the mean since the line before
  bool norm_before_clip = false;       // logs what torch's clip_grad_norm_ returns
  bool token_accuracy_is_sft = false;  // logs the accuracy of tokens in supervised fine-tuning alone
  bool trains_on_tokens = false;       // and the fields of model::FrameworkProfile, which say what these mean
  bool defaults_to_adam = false;
  bool drops_non_finite = false;
  bool takes_part_epochs = false;
  bool has_user_loop = false;
  double default_clip_norm = 0;
  std::string_view bf16_value = "True";
  std::string_view settings_of = {};
  std::string_view settings_file = {};
  std::span<const ConfigClass> config_classes = {};
};

// In the order in which their signs are looked for.
std::span<const Framework> Frameworks();
// The row of that id; one without traits when there is none.
const Framework& FindFramework(std::string_view id);

}  // namespace vigil::identify
