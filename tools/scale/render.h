// A stored run as the files that gym/scale/render.py writes for it in the style `jsonl`, byte for byte.
#pragma once

#include <string>
#include <vector>

#include "scale/record.h"

namespace vigil::scale {

struct RenderedFile {
  std::string name;
  std::string text;
};

// config.json, metrics.jsonl and, where the run printed anything, stderr.log.
std::vector<RenderedFile> RenderJsonLines(const StoredRun& run);

// As Python's json module writes a float.
std::string PythonNumber(double value);
// JSON with an indent of two, as Python's json module writes it.
std::string IndentJson(std::string_view compact);

}  // namespace vigil::scale
