#include <toml++/toml.h>

#include <algorithm>

#include "catalogue/says.h"
#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

class Walk {
 public:
  Walk(const File& file, Collector& collector) : text_(file.text), collector_(collector) {}

  void Run(const toml::table& root) {
    TakeTable(root, {}, 0);
    // What is taken adds to what is pending.
    std::size_t next = 0;
    while (next < pending_.size()) {
      const Pending pending = pending_[next++];
      if (pending.table != nullptr) TakeTable(*pending.table, pending.path, pending.depth);
      if (pending.list != nullptr) TakeList(*pending.list, pending.path, pending.depth);
    }
    // Tables are kept by name; entries are in the order of the text.
    std::stable_sort(found_.begin(), found_.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
    for (Entry& entry : found_) {
      if (!collector_.Add(std::move(entry))) return;
    }
  }

 private:
  struct Pending {
    const toml::table* table = nullptr;
    const toml::array* list = nullptr;
    std::string path;
    std::size_t depth = 0;
  };

  void TakeTable(const toml::table& table, const std::string& path, std::size_t depth) {
    for (const auto& [key, node] : table)
      TakeNode(node, Below(path, key.str()), depth, OffsetOf(key.source().begin), true);
  }

  void TakeList(const toml::array& list, const std::string& path, std::size_t depth) {
    std::size_t index = 0;
    for (const toml::node& node : list) TakeNode(node, Below(path, std::to_string(index++)), depth, 0, false);
  }

  void TakeNode(const toml::node& node, std::string path, std::size_t depth, std::size_t key_begin, bool has_key) {
    if (found_.size() > kMostEntries) return;
    Entry entry;
    entry.path = std::move(path);
    entry.begin = OffsetOf(node.source().begin);
    entry.end = std::max(OffsetOf(node.source().end), entry.begin);
    entry.key_begin = key_begin;
    entry.has_key = has_key;
    collector_.Place(entry);
    SetType(node, entry);
    if (depth + 1 < kDeepest && (node.is_table() || node.is_array()))
      pending_.push_back({node.as_table(), node.as_array(), entry.path, depth + 1});
    found_.push_back(std::move(entry));
  }

  // Columns of toml++ count characters.
  std::size_t OffsetOf(const toml::source_position& position) const {
    std::size_t at = collector_.lines().BeginOf(static_cast<std::uint32_t>(position.line));
    for (std::size_t column = 1; column < position.column && at < text_.size() && text_[at] != '\n'; ++column) {
      ++at;
      while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U) ++at;
    }
    return at;
  }

  void SetType(const toml::node& node, Entry& entry) const {
    entry.text = std::string(text_.substr(entry.begin, std::min(entry.end - entry.begin, kLongestValue)));
    if (const auto* truth = node.as_boolean()) {
      entry.kind = Kind::kTruth;
      entry.truth = truth->get();
    } else if (const auto* whole = node.as_integer()) {
      entry.kind = Kind::kNumber;
      entry.number = static_cast<double>(whole->get());
    } else if (const auto* number = node.as_floating_point()) {
      entry.kind = Kind::kNumber;
      entry.number = number->get();
    } else if (const auto* text = node.as_string()) {
      entry.kind = Kind::kText;
      entry.quoted = true;
      entry.text = Kept(text->get());
      entry.open = OpenIn(entry.text);
    } else {
      SetContainer(node, entry);
    }
  }

  static void SetContainer(const toml::node& node, Entry& entry) {
    entry.kind = Kind::kText;  // dates and times
    if (const toml::table* table = node.as_table()) {
      entry.kind = Kind::kMap;
      entry.items = static_cast<std::uint32_t>(table->size());
      entry.is_flow = table->is_inline();
    } else if (const toml::array* list = node.as_array()) {
      entry.kind = Kind::kList;
      entry.items = static_cast<std::uint32_t>(list->size());
      entry.is_flow = true;
    } else {
      return;
    }
    entry.text.clear();
    if (!entry.is_flow) entry.end = entry.begin;
  }

  std::string_view text_;
  Collector& collector_;
  std::vector<Pending> pending_;
  std::vector<Entry> found_;
};

struct Fault {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;
};

// Parses and walks the text; the fault where it is no TOML.
std::optional<Fault> Read(std::string_view text, const File& file, Collector& collector) {
  if (const auto fault = FaultOfToml(text))
    return Fault{static_cast<std::uint32_t>(fault->line), 1, std::string(fault->what)};
  const toml::parse_result content = toml::parse(text);
  if (!content) {
    const toml::source_position& at = content.error().source().begin;
    return Fault{static_cast<std::uint32_t>(at.line), static_cast<std::uint32_t>(at.column),
                 std::string(content.error().description())};
  }
  Walk(file, collector).Run(content.table());
  return std::nullopt;
}

}  // namespace

// Of a text that is broken somewhere, the lines before that are read.
void ParseToml(File& file, Collector& collector) {
  std::string_view text = file.text;
  for (int attempts = 0; attempts < 8; ++attempts) {
    const auto fault = Read(text, file, collector);
    if (!fault) return;
    if (attempts == 0)
      collector.RemarkOnLine(RemarkKind::kBroken, fault->line, fault->column, {},
                             says::ConfigfileBroken{.message = fault->message});
    const std::size_t end = collector.lines().BeginOf(fault->line);
    if (end == 0 || end >= text.size()) return;
    text = text.substr(0, end);
  }
}

}  // namespace vigil::configfile
