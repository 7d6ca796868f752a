#include "gym/safetensors.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "codec/codec.h"
#include "gym/json.h"

namespace vigil::gym {
namespace {

using codec::JsonToken;

constexpr std::uint64_t kMostHeaderBytes = 16U << 20U;
static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand");

// Walks the header: an object of objects, the metadata among them.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, std::string_view data, Safetensors& into)
      : scanner_(header), data_(data), into_(into) {}

  std::string Read() {
    if (scanner_.Next() != JsonToken::kObjectBegin) return "the header is no JSON object";
    for (;;) {
      const JsonToken token = scanner_.Next();
      if (token == JsonToken::kObjectEnd) return {};
      if (token != JsonToken::kKey) return "the header is damaged";
      const std::string name = codec::UnescapeJson(scanner_.text());
      if (scanner_.Next() != JsonToken::kObjectBegin) return fmt::format("'{}' is no object", name);
      const std::string problem = name == "__metadata__" ? ReadMetadata() : ReadTensor(name);
      if (!problem.empty()) return problem;
    }
  }

 private:
  std::string ReadMetadata() {
    for (JsonToken token = scanner_.Next(); token == JsonToken::kKey; token = scanner_.Next()) {
      const std::string key = codec::UnescapeJson(scanner_.text());
      if (scanner_.Next() != JsonToken::kString) return fmt::format("metadata '{}' is no string", key);
      into_.metadata[key] = codec::UnescapeJson(scanner_.text());
    }
    return {};
  }

  // The place of its bytes; dtype and shape follow from who asks for it.
  std::string ReadTensor(const std::string& name) {
    std::vector<double> offsets;
    const std::size_t depth = scanner_.depth();
    std::string key;
    for (JsonToken token = scanner_.Next(); scanner_.depth() >= depth; token = scanner_.Next()) {
      if (token >= JsonToken::kNeedMore) return fmt::format("the entry of '{}' is damaged", name);
      if (token == JsonToken::kKey) key = scanner_.text();
      if (token == JsonToken::kNumber && key == "data_offsets") offsets.push_back(scanner_.number());
      if (token == JsonToken::kString && key == "dtype" && scanner_.text() != "F32")
        return fmt::format("'{}' is of type {}, expected F32", name, scanner_.text());
    }
    const auto size = static_cast<double>(data_.size());
    const bool inside = offsets.size() == 2 && offsets[0] >= 0 && offsets[0] <= offsets[1] && offsets[1] <= size;
    if (!inside) return fmt::format("'{}' is not within the file", name);
    const auto from = static_cast<std::size_t>(offsets[0]);
    into_.tensors[name] = data_.substr(from, static_cast<std::size_t>(offsets[1]) - from);
    return {};
  }

  codec::JsonScanner scanner_;
  std::string_view data_;
  Safetensors& into_;
};

}  // namespace

std::string WriteSafetensors(const std::map<std::string, std::string>& metadata,
                             const std::vector<NamedFloats>& tensors) {
  std::string header = "{\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (header.back() != '{') header += ',';
    header += QuoteJson(key) + ":" + QuoteJson(value);
  }
  header += '}';
  std::size_t offset = 0;
  for (const NamedFloats& tensor : tensors) {
    const std::string shape =
        tensor.rows == 1 ? fmt::format("[{}]", tensor.columns) : fmt::format("[{},{}]", tensor.rows, tensor.columns);
    const std::size_t end = offset + tensor.values.size_bytes();
    header += fmt::format(",{}:{{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[{},{}]}}", QuoteJson(tensor.name),
                          shape, offset, end);
    offset = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');  // so that the numbers are aligned
  const std::uint64_t length = header.size();
  std::string content(reinterpret_cast<const char*>(&length), sizeof length);
  content += header;
  for (const NamedFloats& tensor : tensors) {
    content.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  }
  return content;
}

Result<Safetensors> ReadSafetensors(std::string content, const std::string& origin) {
  Safetensors file;
  file.content = std::move(content);
  const std::string_view bytes = file.content;
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    return Fail(ErrorCode::kCorrupt, origin, fmt::format("{} bytes are no safetensors file", bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kMostHeaderBytes || length > bytes.size() - sizeof length)
    return Fail(ErrorCode::kCorrupt, origin, fmt::format("a header of {} bytes is not within the file", length));
  const std::string_view header = bytes.substr(sizeof length, static_cast<std::size_t>(length));
  const std::string problem = HeaderReader(header, bytes.substr(sizeof length + header.size()), file).Read();
  if (!problem.empty()) return Fail(ErrorCode::kCorrupt, origin, std::string(problem));
  return file;
}

Status Safetensors::CopyTo(const std::string& name, std::span<float> into, const std::string& origin) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return Fail(ErrorCode::kCorrupt, origin, fmt::format("no tensor '{}'", name));
  if (found->second.size() != into.size_bytes())
    return Fail(ErrorCode::kCorrupt, origin,
                fmt::format("'{}' has {} bytes, this model needs {}", name, found->second.size(), into.size_bytes()));
  std::memcpy(into.data(), found->second.data(), into.size_bytes());
  return {};
}

}  // namespace vigil::gym
