// JSON as vigil writes it: valid UTF-8 whatever the input, null for what is unknown, non-finite numbers as strings.
#pragma once

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "model/model.h"

namespace vigil::report {

// A thin shell over RapidJSON's writers; `Writer` is the pretty or the dense one.
template <class Writer>
class JsonOutput {
 public:
  JsonOutput() : writer_(buffer_) {
    if constexpr (requires { writer_.SetIndent(' ', 2); }) writer_.SetIndent(' ', 2);
  }

  void Open() { writer_.StartObject(); }
  void Close() { writer_.EndObject(); }
  void OpenList() { writer_.StartArray(); }
  void CloseList() { writer_.EndArray(); }
  void Key(std::string_view key) { writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }

  void Text(std::string_view text) {
    const std::string valid = ValidUtf8(text);
    writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  }
  void TextOrNull(std::string_view text) { text.empty() ? Null() : Text(text); }
  void Null() { writer_.Null(); }
  void Integer(std::int64_t value) { writer_.Int64(value); }
  void Count(std::uint64_t value) { writer_.Uint64(value); }
  void StepOrNull(std::int64_t step) { step == model::kNoStep ? Null() : Integer(step); }
  void Number(double value) {
    if (std::isfinite(value)) {
      writer_.Double(value);
    } else {
      Text(FormatNumber(value));
    }
  }
  // Seven digits: enough for a plot, a third of the bytes.
  void Rounded(double value) {
    if (!std::isfinite(value)) return Number(value);
    const std::string digits = fmt::format("{:.7g}", value);
    writer_.RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
  }

  std::string Take() { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  Writer writer_;
};

using PrettyJson = JsonOutput<rapidjson::PrettyWriter<rapidjson::StringBuffer>>;
using DenseJson = JsonOutput<rapidjson::Writer<rapidjson::StringBuffer>>;

}  // namespace vigil::report
