// The settings of a run that detectors read. Private to detect.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace vigil::detect {

// Detectors begin again when one of these becomes known or another; any other setting changes nothing for them. A test
// compares the list with what the sources ask for.
inline constexpr std::array<std::string_view, 12> kSettingsOfDetectors = {
    "device_memory",         "device_name",   "fp16",         "lr_schedule",
    "max_completion_length", "max_grad_norm", "nan_to_num",   "precision",
    "save_only_model",       "vocab_size",    "warmup_ratio", "warmup_steps"};

inline bool IsReadByDetectors(std::string_view key) {
  return std::find(kSettingsOfDetectors.begin(), kSettingsOfDetectors.end(), key) != kSettingsOfDetectors.end();
}

}  // namespace vigil::detect
