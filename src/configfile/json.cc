#include <string>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

using codec::JsonToken;

// Walks the tokens of one document and keeps where it is.
class Walk {
 public:
  Walk(const File& file, Collector& collector) : text_(file.text), scanner_(text_), collector_(collector) {}

  void Run() {
    if (Trim(text_).empty()) return;
    for (;;) {
      const std::size_t before = scanner_.consumed();
      const JsonToken token = scanner_.Next();
      if (token >= JsonToken::kNeedMore) return End(token);
      if (!See(token, BeginOfToken(before))) return;
    }
  }

 private:
  struct Container {
    bool is_object = false;
    std::string path;
    std::uint32_t items = 0;
    std::size_t entry = 0;  // index behind which it is kept
  };

  // The token behind the space, the comma or the colon at `at`.
  std::size_t BeginOfToken(std::size_t at) const {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n,:", at);
    return begin == std::string_view::npos ? text_.size() : begin;
  }

  void End(JsonToken token) {
    if (token == JsonToken::kEnd) {
      const std::size_t rest = BeginOfToken(scanner_.consumed());
      if (rest >= text_.size()) return;
      return collector_.Remark(RemarkKind::kPartly, rest, {},
                               WhyBroken(rest, "more text behind the end of the document"));
    }
    const std::size_t at = std::min(BeginOfToken(scanner_.consumed()), text_.size());
    collector_.Remark(RemarkKind::kBroken, at, {}, WhyBroken(at, scanner_.problem()));
  }

  model::Statement WhyBroken(std::size_t at, std::string_view problem) const {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')) return says::ConfigfileComment{};
    if (rest.starts_with("{{") || rest.starts_with("{%"))
      return says::ConfigfileBrokenTemplate{.message = std::string(problem)};
    return says::ConfigfileBroken{.message = std::string(problem)};
  }

  bool See(JsonToken token, std::size_t begin) {
    if (token == JsonToken::kKey) {
      key_ = codec::UnescapeJson(scanner_.text().substr(0, 256));
      key_begin_ = begin;
      return true;
    }
    if (token == JsonToken::kObjectEnd || token == JsonToken::kArrayEnd) {
      open_.pop_back();
      return true;
    }
    Entry entry;
    entry.path = NextPath();
    entry.begin = begin;
    entry.end = scanner_.consumed();
    entry.has_key = InObject();
    entry.key_begin = entry.has_key ? key_begin_ : 0;
    collector_.Place(entry);
    return TakeValue(token, std::move(entry));
  }

  bool InObject() const { return !open_.empty() && open_.back().is_object; }

  std::string NextPath() {
    if (open_.empty()) return {};
    Container& above = open_.back();
    const std::uint32_t index = above.items++;
    return Below(above.path, above.is_object ? key_ : std::to_string(index));
  }

  bool TakeValue(JsonToken token, Entry entry) {
    const bool is_container = token == JsonToken::kObjectBegin || token == JsonToken::kArrayBegin;
    if (open_.empty() && token != JsonToken::kObjectBegin) {
      collector_.Remark(RemarkKind::kBroken, entry.begin, {},
                        says::ConfigfileNoSettings{.kind = token == JsonToken::kArrayBegin ? "list" : "value"});
      return false;
    }
    SetType(token, entry);
    const std::string path = entry.path;
    if (!open_.empty() && !collector_.Add(std::move(entry))) return false;
    if (!is_container) return true;
    open_.push_back({token == JsonToken::kObjectBegin, path, 0, 0});
    if (open_.size() <= kDeepest) return true;
    scanner_.SkipTo(scanner_.depth() - 1);
    open_.pop_back();
    return true;
  }

  void SetType(JsonToken token, Entry& entry) const {
    switch (token) {
      case JsonToken::kString:
        entry.kind = Kind::kText;
        entry.quoted = true;
        entry.text = Kept(codec::UnescapeJson(scanner_.text().substr(0, kLongestValue)));
        entry.open = OpenIn(entry.text);
        break;
      case JsonToken::kNumber:
        entry.kind = Kind::kNumber;
        entry.number = scanner_.number();
        entry.text = std::string(text_.substr(entry.begin, entry.end - entry.begin));
        break;
      case JsonToken::kTrue:
      case JsonToken::kFalse:
        entry.kind = Kind::kTruth;
        entry.truth = token == JsonToken::kTrue;
        entry.text = entry.truth ? "true" : "false";
        break;
      case JsonToken::kObjectBegin:
        entry.kind = Kind::kMap;
        entry.end = entry.begin;
        entry.is_flow = true;
        break;
      case JsonToken::kArrayBegin:
        entry.kind = Kind::kList;
        entry.end = entry.begin;
        entry.is_flow = true;
        break;
      default:
        break;
    }
  }

  std::string_view text_;
  codec::JsonScanner scanner_;
  Collector& collector_;
  std::vector<Container> open_;
  std::string key_;
  std::size_t key_begin_ = 0;
};

}  // namespace

void ParseJson(File& file, Collector& collector) { Walk(file, collector).Run(); }

}  // namespace vigil::configfile
