#include "textlog/trainer.h"

#include <algorithm>
#include <array>

namespace vigil::textlog {
namespace {

constexpr std::uint64_t kLookedAt = std::uint64_t{512} << 10U;

struct Mark {
  std::string_view framework;
  std::string_view text;
};
// The more special one first: trainers are built on trainers.
constexpr std::array<Mark, 16> kMarks = {{
    {"verl", "verl.trainer"},
    {"openrlhf", "openrlhf"},
    {"axolotl", "[axolotl."},
    {"axolotl", "axolotl.cli"},
    {"llama-factory", "llamafactory"},
    {"llama-factory", "LLaMA-Factory"},
    {"ms-swift", "[INFO:swift]"},
    {"torchtitan", "[titan]"},
    {"torchtitan", "torchtitan."},
    {"kempnerforge", "kempnerforge"},
    {"llm-foundry", "llmfoundry"},
    {"olmo", "olmo.train"},
    {"olmo", "olmo_core"},
    {"nemo", "[NeMo "},
    {"megatron", "using world size: "},
    {"megatron", "> building train, validation, and test datasets"},
}};

// Names that only one trainer's lines carry together.
struct Form {
  std::string_view framework;
  std::array<std::string_view, 3> names;
};
constexpr std::array<Form, 8> kForms = {{
    {"nanochat", {"lrm", "dt", "tok/sec"}},
    {"nanogpt", {"loss", "time (ms)", "mfu"}},
    {"llm.c", {"trl", "norm", "lr"}},
    {"llm.c", {"loss", "norm", "ms"}},
    {"llm-foundry", {"loss/train/total", "time/batch", "loss/train/total"}},
    {"axolotl", {"tokens/train_per_sec_per_gpu", "memory/max_active (GiB)", "loss"}},
    {"openrlhf", {"act_loss", "gen_len", "return"}},
    {"lightning", {"v_num", "v_num", "v_num"}},
}};

bool HasRaw(const model::Run& part, std::string_view raw) {
  return std::any_of(part.series.begin(), part.series.end(),
                     [&](const model::Series& series) { return series.raw == raw; });
}

}  // namespace

void TrainerMarks::Observe(std::string_view lines, std::uint64_t offset) {
  if (offset >= kLookedAt) return;
  lines = lines.substr(0, kLookedAt - offset);
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    const std::uint32_t bit = 1U << i;
    if ((seen_ & bit) == 0 && lines.find(kMarks[i].text) != std::string_view::npos) seen_ |= bit;
  }
}

std::string_view TrainerMarks::Name(const model::Run& part) const {
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    if ((seen_ & (1U << i)) != 0) return kMarks[i].framework;
  }
  for (const Form& form : kForms) {
    if (std::all_of(form.names.begin(), form.names.end(), [&](std::string_view name) { return HasRaw(part, name); }))
      return form.framework;
  }
  return {};
}

}  // namespace vigil::textlog
