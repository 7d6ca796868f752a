#include <fmt/format.h>
#include <toml++/toml.h>

#include "catalogue/says.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

// A plain value as text; empty for tables, lists and dates.
std::string TextOf(const toml::node& node) {
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* number = node.as_floating_point()) return FormatExact(number->get());
  if (const auto* text = node.as_string())
    return Printable(std::string_view(text->get()).substr(0, kLongestHyperparameter));
  return {};
}

std::vector<std::string> ItemsOf(const toml::array& list) {
  std::vector<std::string> items;
  for (const toml::node& item : list) {
    if (std::string text = TextOf(item); !text.empty() && items.size() < kMostItems) items.push_back(std::move(text));
  }
  return items;
}

struct Pending {
  const toml::table* table;
  std::string path;
  std::size_t depth;
};

void TakeTable(const Pending& pending, std::vector<Pending>& more, std::vector<Hyperparameter>& hyperparameters) {
  for (const auto& [key, node] : *pending.table) {
    if (hyperparameters.size() >= kMostHyperparameters) return;
    const std::string name = Printable(std::string_view(key.str()).substr(0, 256));
    std::string path = pending.path.empty() ? name : pending.path + "." + name;
    if (const toml::table* below = node.as_table(); below != nullptr) {
      if (pending.depth < kDeepest) more.push_back({below, std::move(path), pending.depth + 1});
      continue;
    }
    std::vector<std::string> items;
    if (const toml::array* list = node.as_array(); list != nullptr) items = ItemsOf(*list);
    std::string value = items.empty() ? TextOf(node) : Join(items, ", ").substr(0, kLongestHyperparameter);
    if (value.empty()) continue;
    const auto line = static_cast<std::uint32_t>(node.source().begin.line);
    hyperparameters.push_back({std::move(path), std::move(value), line, std::move(items)});
  }
}

}  // namespace

std::vector<Hyperparameter> TomlHyperparameters(std::string_view text, model::Statement* damage) {
  std::vector<Hyperparameter> hyperparameters;
  const auto complain = [&](model::Statement what) {
    if (damage != nullptr) *damage = std::move(what);
  };
  if (text.size() > kMostBytes) {
    complain(says::DamageLargerThanConfiguration{});
    return hyperparameters;
  }
  if (const auto fault = FaultOfToml(text)) {
    complain(says::DamageErrorInLine{.line = fault->line, .message = fault->what});
    return hyperparameters;
  }
  try {
    const toml::parse_result content = toml::parse(text);
    if (!content) {
      const toml::parse_error& error = content.error();
      complain(says::DamageErrorInLine{.line = error.source().begin.line, .message = error.description()});
      return hyperparameters;
    }
    std::vector<Pending> pending = {{&content.table(), {}, 0}};
    while (!pending.empty()) {
      const Pending next = std::move(pending.back());
      pending.pop_back();
      TakeTable(next, pending, hyperparameters);
    }
  } catch (const std::exception& error) {
    complain(says::DamageError{.message = error.what()});
  }
  return hyperparameters;
}

}  // namespace vigil::hyperparams
