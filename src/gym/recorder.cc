#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "gym/gym.h"
#include "gym/json.h"
#include "platform/files.h"

namespace vigil::gym {
namespace {

// As Python's json module writes them.
std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.7g}", value);
}

std::string_view NameOf(Happening kind) {
  constexpr std::string_view kNames[] = {"resumed", "checkpoint", "failed", "decision"};
  return kNames[static_cast<std::size_t>(kind)];
}

// A recorder must never stop the training: what cannot be written is lost.
class JsonLines : public Recorder {
 public:
  explicit JsonLines(platform::LineFile file) : file_(std::move(file)) {}

  void Scalar(std::string_view name, std::int64_t step, double value) override {
    Begin(step);
    row_ += fmt::format(", \"{}\": {}", name, JsonNumber(value));
  }

  // They stand in a file of their own, beside this one.
  void Hyperparameter(std::string_view /*key*/, std::string_view /*value*/) override {}

  void Tell(std::int64_t step, const Note& note) override {
    const std::string name = note.name.empty() ? std::string(NameOf(note.kind)) : note.name;
    static_cast<void>(file_.Write(
        fmt::format("{{\"step\": {}, \"event\": \"{}\", \"text\": {}}}\n", step, name, QuoteJson(note.text))));
  }

  void Batch(std::int64_t step, std::uint64_t fingerprint) override {
    Begin(step);
    row_ += fmt::format(", \"batch\": \"{:016x}\"", fingerprint);
  }

  void StepDone(std::int64_t step) override {
    Begin(step);
    static_cast<void>(file_.Write(row_ + "}\n"));
    row_.clear();
  }

 private:
  void Begin(std::int64_t step) {
    if (row_.empty()) row_ = fmt::format("{{\"step\": {}", step);
  }

  platform::LineFile file_;
  std::string row_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> RecordJsonLines(const std::string& path) {
  auto file = platform::LineFile::Append(path);
  if (!file) return Fail(file.error());
  return std::unique_ptr<Recorder>(std::make_unique<JsonLines>(std::move(*file)));
}

}  // namespace vigil::gym
