#include "ingest/ignored.h"

#include <algorithm>
#include <array>

#include "ingest/paths.h"

namespace vigil::ingest {
namespace {

constexpr std::string_view kDocument = "document";
constexpr std::string_view kNotebook = "a notebook";

// What W&B keeps for itself beside a run: <run>/logs/debug.log, debug-internal.log, and links to the latest of them.
bool IsLogOfTracker(std::string_view path) {
  const std::string_view file = FileOf(path);
  const std::string_view folder = FolderOf(path);
  if (!file.starts_with("debug") || !file.ends_with(".log")) return false;
  return FileOf(folder) == "wandb" || (FileOf(folder) == "logs" && FileOf(FolderOf(FolderOf(folder))) == "wandb");
}

}  // namespace

bool IsOfNoUse(ErrorCode code) {
  return code == ErrorCode::kEmpty || code == ErrorCode::kUnrecognised || code == ErrorCode::kNoData;
}

bool MayHoldMetrics(std::string_view reason) { return reason == kDocument || reason == kNotebook; }

std::string_view WhyIgnored(std::string_view path) {
  struct Known {
    std::string_view extension;
    std::string_view reason;
  };
  static constexpr std::array kKnown = {
      Known{"safetensors", "weights"}, Known{"bin", "weights"},       Known{"pt", "weights or a pickle"},
      Known{"pth", "weights"},         Known{"ckpt", "weights"},      Known{"gguf", "weights"},
      Known{"onnx", "weights"},        Known{"h5", "weights"},        Known{"msgpack", "weights"},
      Known{"distcp", "weights"},      Known{"npy", "array"},         Known{"npz", "array"},
      Known{"parquet", "data set"},    Known{"arrow", "data set"},    Known{"pkl", "pickle"},
      Known{"pickle", "pickle"},       Known{"png", "image"},         Known{"jpg", "image"},
      Known{"jpeg", "image"},          Known{"gif", "image"},         Known{"svg", "image"},
      Known{"pdf", kDocument},         Known{"html", kDocument},      Known{"md", kDocument},
      Known{"py", "source code"},      Known{"pyc", "compiled code"}, Known{"ipynb", kNotebook},
      Known{"cc", "source code"},      Known{"cpp", "source code"},   Known{"cu", "source code"},
      Known{"h", "source code"},       Known{"c", "source code"},     Known{"js", "source code"},
      Known{"so", "compiled code"},    Known{"o", "compiled code"},   Known{"model", "tokenizer"},
      Known{"mp4", "video"},           Known{"wav", "audio"},         Known{"lock", "lock file"},
      Known{"rst", kDocument},         Known{"tex", kDocument},       Known{"sh", "source code"},
      Known{"ts", "source code"},      Known{"css", "source code"},   Known{"diff", "source code"},
      Known{"patch", "source code"},
  };
  const std::string_view file = WithoutCompression(FileOf(path));
  // Event files end in anything: a host name, a process id.
  if (file.find("tfevents") != std::string_view::npos) return file.ends_with(".vigil") ? "written by vigil" : "";
  if (IsLogOfTracker(path)) return "the tracker's own log";
  // A config that `vigil diagnose --fix` made is that of a run to come.
  if (file.find(".vigil-fix") != std::string_view::npos) return "written by vigil";
  // Pickled settings end like weights.
  if (file.find("args.") != std::string_view::npos) return {};
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string extension = ToLower(file.substr(dot + 1));
  const auto at =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.extension == extension; });
  return at == kKnown.end() ? std::string_view() : at->reason;
}

}  // namespace vigil::ingest
