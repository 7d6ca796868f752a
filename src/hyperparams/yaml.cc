#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "catalogue/says.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostEvents = 200'000;
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

// Thrown out of the parser when a document is larger than any configuration.
struct TooLarge {};

// Takes a document as it is parsed: no tree is built, and an alias is one event, whatever it stands for.
class Walk : public YAML::EventHandler {
 public:
  std::vector<Hyperparameter>& hyperparameters() { return hyperparameters_; }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { See({}, mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { See({}, mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    See(value, mark);
  }
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    Enter(false);
  }
  void OnSequenceEnd() override { Leave(); }
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Enter(true);
  }
  void OnMapEnd() override { Leave(); }

 private:
  struct Open {
    bool is_map = false;
    bool in_data = false;  // below a list, or too deep: not hyperparameters
    bool has_key = false;
    std::string path;
    std::string key;
    std::uint32_t line = 0;
    std::vector<std::string> items = {};
  };

  void Count() {
    if (++events_ > kMostEvents) throw TooLarge();
  }

  void Enter(bool is_map) {
    Count();
    Open open;
    open.is_map = is_map;
    if (!open_.empty()) {
      Open& above = open_.back();
      open.in_data = above.in_data || !above.is_map || open_.size() >= kDeepest;
      open.path = PathOf(above);
      open.line = above.line;
      above.has_key = false;
    }
    open_.push_back(std::move(open));
  }

  void Leave() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.is_map || closed.in_data || closed.items.empty()) return;
    std::string value = Join(closed.items, ", ").substr(0, kLongestHyperparameter);
    hyperparameters_.push_back({closed.path, std::move(value), closed.line, std::move(closed.items)});
  }

  static std::string PathOf(const Open& open) {
    if (!open.is_map) return open.path;
    return open.path.empty() ? open.key : open.path + "." + open.key;
  }

  void See(const std::string& value, const YAML::Mark& mark) {
    Count();
    if (open_.empty()) return;
    Open& open = open_.back();
    if (open.is_map && !open.has_key) {
      open.has_key = true;
      open.key = Printable(std::string_view(value).substr(0, 256));
      open.line = static_cast<std::uint32_t>(mark.line) + 1;
      return;
    }
    open.has_key = false;
    if (open.in_data || value.empty()) return;
    std::string text = Printable(std::string_view(value).substr(0, kLongestHyperparameter));
    if (!open.is_map) {
      if (open.items.size() < kMostItems) open.items.push_back(std::move(text));
    } else if (hyperparameters_.size() < kMostHyperparameters) {
      hyperparameters_.push_back({PathOf(open), std::move(text), static_cast<std::uint32_t>(mark.line) + 1});
    }
  }

  std::vector<Open> open_;
  std::vector<Hyperparameter> hyperparameters_;
  std::size_t events_ = 0;
};

// Brackets that open deeper than this are no configuration; the parser would recurse for each.
bool NestsTooDeep(std::string_view text) {
  constexpr std::size_t kMostBrackets = 64;
  std::size_t open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMostBrackets) return true;
  }
  return false;
}

// Block sequences in one line ("- - - -") and indentation nest without brackets.
bool IndentsTooDeep(std::string_view text) {
  constexpr std::size_t kMostIndent = 200;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(" -?");
    if (begin != std::string_view::npos && begin > kMostIndent) return true;
    if (begin == std::string_view::npos && line.size() > kMostIndent) return true;
  }
  return false;
}

}  // namespace

std::vector<Hyperparameter> YamlHyperparameters(std::string_view text, model::Statement* damage) {
  Walk walk;
  const auto complain = [&](model::Statement what) {
    if (damage != nullptr) *damage = std::move(what);
  };
  if (text.size() > kMostBytes || NestsTooDeep(text) || IndentsTooDeep(text)) {
    complain(says::DamageDeeperThanConfiguration{});
    return {};
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(walk);
  } catch (const YAML::Exception& error) {
    complain(says::DamageErrorInLine{.line = error.mark.line + 1, .message = error.msg});
  } catch (const TooLarge&) {
    complain(says::DamageLargerThanConfiguration{});
  } catch (const std::exception& error) {
    complain(says::DamageError{.message = error.what()});
  }
  return std::move(walk.hyperparameters());
}

}  // namespace vigil::hyperparams
