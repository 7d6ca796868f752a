// YAML as settings: events of the parser become a tree of nodes, which is flattened with aliases and merge keys
// followed within the limits.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "catalogue/says.h"
#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

constexpr std::size_t kMostNodes = 200'000;
// What aliases bring in: beyond it they multiply each other, and would take the room of what is written out.
constexpr std::size_t kMostFromAliases = 2'000;
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

// Thrown out of the parser when a document is larger than any configuration.
struct TooLarge : std::exception {};

struct Node {
  Kind kind = Kind::kNull;
  std::string text;
  std::string tag;
  std::size_t offset = 0;  // where the parser saw it begin, with its anchor or tag
  bool quoted = false;
  bool is_flow = false;
  bool in_flow = false;
  std::size_t alias_of = kNoNode;
  std::vector<std::size_t> children;  // of a map: key, value, key, value ...
};

class Tree : public YAML::EventHandler {
 public:
  explicit Tree(const Lines& lines) : lines_(lines) {}

  const std::vector<Node>& nodes() const { return nodes_; }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    Node& node = Add(mark, 0);
    node.alias_of = at == anchors_.end() ? kNoNode : at->second;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = Add(mark, anchor);
    node.kind = Kind::kText;
    node.text = value.substr(0, 2 * kLongestValue);
    node.quoted = tag == "!";
    if (tag != "!" && tag != "?") node.tag = tag;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Enter(Kind::kList, mark, anchor, style);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Enter(Kind::kMap, mark, anchor, style);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  Node& Add(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (nodes_.size() >= kMostNodes) throw TooLarge();
    const std::size_t index = nodes_.size();
    if (anchor != 0) anchors_[anchor] = index;
    if (!open_.empty()) nodes_[open_.back()].children.push_back(index);
    Node node;
    node.offset = lines_.BeginOf(static_cast<std::uint32_t>(mark.line) + 1) + static_cast<std::size_t>(mark.column);
    node.in_flow = !open_.empty() && (nodes_[open_.back()].is_flow || nodes_[open_.back()].in_flow);
    return nodes_.emplace_back(std::move(node));
  }

  void Enter(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    if (open_.size() >= 2 * kDeepest) throw TooLarge();
    Node& node = Add(mark, anchor);
    node.kind = kind;
    node.is_flow = style == YAML::EmitterStyle::Flow;
    open_.push_back(nodes_.size() - 1);
  }

  const Lines& lines_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> open_;
  std::map<YAML::anchor_t, std::size_t> anchors_;
};

// A node that is to become an entry, with what stood above it.
struct Pending {
  std::size_t node = 0;
  std::string path;
  std::size_t key = kNoNode;
  std::uint32_t alias_line = 0;
  std::size_t depth = 0;
};

class Flattener {
 public:
  Flattener(const std::vector<Node>& nodes, const File& file, Collector& collector)
      : nodes_(nodes), text_(file.text), collector_(collector) {}

  void Run() {
    if (nodes_.empty()) return;
    if (nodes_.front().kind != Kind::kMap) {
      const std::string_view found = nodes_.front().kind == Kind::kList ? "list" : "text";
      if (nodes_.front().kind != Kind::kNull)
        collector_.Remark(RemarkKind::kBroken, nodes_.front().offset, {}, says::ConfigfileNoSettings{.kind = found});
      return;
    }
    pending_ = ChildrenOf({0, {}, kNoNode, 0, 0});
    std::reverse(pending_.begin(), pending_.end());
    while (!pending_.empty() && !collector_.full()) {
      Pending next = std::move(pending_.back());
      pending_.pop_back();
      Take(std::move(next));
    }
  }

 private:
  // The node that an alias stands for; `line` becomes that of the alias.
  std::size_t Resolve(std::size_t index, std::uint32_t& line) const {
    for (int hops = 0; hops < 8 && nodes_[index].alias_of != kNoNode; ++hops) {
      if (line == 0) line = collector_.lines().LineOf(nodes_[index].offset);
      index = nodes_[index].alias_of;
    }
    return index;
  }

  void Take(Pending pending) {
    pending.node = Resolve(pending.node, pending.alias_line);
    if (pending.alias_line != 0 && !HasRoomForAlias(pending)) return;
    const Node& node = nodes_[pending.node];
    Entry entry;
    entry.path = pending.path;
    entry.alias_line = pending.alias_line;
    entry.has_key = pending.key != kNoNode;
    if (entry.has_key) entry.key_begin = nodes_[pending.key].offset;
    Fill(node, pending, entry);
    if (!collector_.Add(entry) || entry.open == Open::kTemplate) return;
    if (node.kind != Kind::kMap && node.kind != Kind::kList) return;
    if (pending.depth + 1 >= kDeepest) return;
    std::vector<Pending> children = ChildrenOf(pending);
    pending_.insert(pending_.end(), std::make_move_iterator(children.rbegin()),
                    std::make_move_iterator(children.rend()));
  }

  bool HasRoomForAlias(const Pending& pending) {
    if (++from_aliases_ == kMostFromAliases)
      collector_.RemarkOnLine(RemarkKind::kPartly, pending.alias_line, 1, {},
                              says::ConfigfileTooMany{.limit = static_cast<double>(kMostFromAliases)});
    return from_aliases_ < kMostFromAliases;
  }

  void Fill(const Node& node, const Pending& pending, Entry& entry) const {
    entry.kind = node.kind;
    entry.begin = SkipProperties(node.offset);
    entry.end = entry.begin;
    entry.is_flow = node.is_flow;
    entry.quoted = node.quoted;
    collector_.Place(entry);
    if (node.kind == Kind::kMap || node.kind == Kind::kList) return FillContainer(node, entry);
    if (node.kind == Kind::kText) {
      entry.text = Kept(node.text);
      if (!node.quoted && node.tag.empty()) TypePlainYaml(entry);
      entry.open = node.tag.find("include") != std::string::npos ? Open::kInclude
                   : node.tag.starts_with('!')                   ? Open::kVariable
                                                                 : OpenIn(node.text);
      entry.end = EndOfScalar(node, entry.begin);
    } else {
      FillNull(pending, entry);
    }
    // What an alias brings in stands elsewhere, and is not to be changed there.
    if (entry.alias_line != 0) entry.begin = entry.end = 0;
  }

  void FillContainer(const Node& node, Entry& entry) const {
    entry.items = static_cast<std::uint32_t>(node.kind == Kind::kMap ? node.children.size() / 2 : node.children.size());
    if (node.kind != Kind::kMap || text_.substr(entry.begin, 2) != "{{") return;
    const std::size_t close = text_.find("}}", entry.begin);
    entry.kind = Kind::kText;
    entry.open = Open::kTemplate;
    entry.text = Kept(text_.substr(entry.begin, close == std::string_view::npos ? 40 : close + 2 - entry.begin));
    entry.begin = entry.end = 0;
  }

  // A written null has its own bytes; one that is left out stands behind the colon of its key.
  void FillNull(const Pending& pending, Entry& entry) const {
    for (const std::string_view word : {"null", "Null", "NULL", "~"}) {
      if (text_.substr(entry.begin, word.size()) == word) {
        entry.end = entry.begin + word.size();
        return;
      }
    }
    if (pending.key == kNoNode) return;
    const std::size_t key_end = EndOfScalar(nodes_[pending.key], nodes_[pending.key].offset);
    const std::size_t colon = text_.find(':', key_end);
    if (colon == std::string_view::npos) return;
    entry.begin = entry.end = colon + 1;
    entry.line = collector_.lines().LineOf(entry.key_begin);
    entry.column = collector_.lines().ColumnOf(entry.key_begin);
  }

  // Behind the anchor and the tag of a value.
  std::size_t SkipProperties(std::size_t at) const {
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      at = std::min(text_.find_first_of(" \n", at), text_.size());
      at = std::min(text_.find_first_not_of(" \n", at), text_.size());
    }
    return at;
  }

  // The byte behind a scalar; its own begin where it goes over several lines.
  std::size_t EndOfScalar(const Node& node, std::size_t begin) const {
    begin = SkipProperties(begin);
    if (begin >= text_.size()) return begin;
    const char quote = text_[begin];
    if (node.quoted && (quote == '"' || quote == '\'')) return EndOfQuoted(begin, quote);
    if (node.quoted) return begin;
    const std::size_t end = begin + node.text.size();
    return text_.substr(begin, node.text.size()) == node.text ? end : begin;
  }

  std::size_t EndOfQuoted(std::size_t begin, char quote) const {
    for (std::size_t at = begin + 1; at < text_.size() && text_[at] != '\n'; ++at) {
      if (quote == '"' && text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        if (quote != '\'' || text_.substr(at + 1, 1) != "'") return at + 1;
        ++at;
      }
    }
    return begin;
  }

  std::vector<Pending> ChildrenOf(const Pending& above) const {
    const Node& node = nodes_[above.node];
    std::vector<Pending> children;
    if (node.kind == Kind::kList) {
      children.reserve(node.children.size());
      for (std::size_t i = 0; i < node.children.size(); ++i)
        children.push_back(
            {node.children[i], Below(above.path, std::to_string(i)), kNoNode, above.alias_line, above.depth + 1});
      return children;
    }
    TakePairs(node, above, false, children);
    AddMerged(node, above, children);
    return children;
  }

  // The settings of a map. What is merged in gives way to what is there.
  void TakePairs(const Node& node, const Pending& above, bool is_merged, std::vector<Pending>& children) const {
    for (std::size_t i = 0; i + 1 < node.children.size() && children.size() < kMostEntries; i += 2) {
      const Node& key = nodes_[node.children[i]];
      if (key.kind != Kind::kText || (key.text == "<<" && !key.quoted)) continue;
      std::string path = Below(above.path, key.text);
      const bool is_there = is_merged && std::any_of(children.begin(), children.end(),
                                                     [&](const Pending& child) { return child.path == path; });
      if (is_there) continue;
      children.push_back({node.children[i + 1], std::move(path), node.children[i], above.alias_line, above.depth + 1});
    }
  }

  void AddMerged(const Node& node, const Pending& above, std::vector<Pending>& children) const {
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const Node& key = nodes_[node.children[i]];
      if (key.kind != Kind::kText || key.text != "<<" || key.quoted) continue;
      Pending merged = above;
      if (merged.alias_line == 0) merged.alias_line = collector_.lines().LineOf(key.offset);
      std::uint32_t unused = 1;
      const Node& value = nodes_[Resolve(node.children[i + 1], unused)];
      if (value.kind == Kind::kMap) TakePairs(value, merged, true, children);
      if (value.kind != Kind::kList) continue;
      for (std::size_t j = 0; j < std::min<std::size_t>(value.children.size(), 16); ++j) {
        const Node& item = nodes_[Resolve(value.children[j], unused)];
        if (item.kind == Kind::kMap) TakePairs(item, merged, true, children);
      }
    }
  }

  const std::vector<Node>& nodes_;
  std::string_view text_;
  Collector& collector_;
  std::vector<Pending> pending_;
  std::size_t from_aliases_ = 0;
};

model::Statement WhyBroken(std::string_view text, std::string_view message) {
  const bool is_template = text.find("{%") != std::string_view::npos || text.find("{{") != std::string_view::npos;
  if (is_template) return says::ConfigfileBrokenTemplate{.message = std::string(message)};
  return says::ConfigfileBroken{.message = std::string(message)};
}

// True where a document was read to its end.
bool ReadDocument(YAML::Parser& parser, YAML::EventHandler& handler, const File& file, Collector& collector) {
  try {
    return parser.HandleNextDocument(handler);
  } catch (const YAML::Exception& error) {
    collector.RemarkOnLine(RemarkKind::kBroken, static_cast<std::uint32_t>(error.mark.line) + 1,
                           static_cast<std::uint32_t>(error.mark.column) + 1, {}, WhyBroken(file.text, error.msg));
  } catch (const TooLarge&) {
    collector.RemarkOnLine(RemarkKind::kPartly, 0, 0, {},
                           says::ConfigfileTooMany{.limit = static_cast<double>(kMostNodes)});
  }
  return false;
}

}  // namespace

void ParseYaml(File& file, Collector& collector) {
  std::istringstream stream{file.text};
  YAML::Parser parser(stream);
  Tree tree(collector.lines());
  const bool whole = ReadDocument(parser, tree, file, collector);
  Flattener(tree.nodes(), file, collector).Run();
  if (!whole) return;
  Tree second(collector.lines());
  if (ReadDocument(parser, second, file, collector) && !second.nodes().empty() &&
      second.nodes().front().kind != Kind::kNull)
    collector.Remark(RemarkKind::kPartly, second.nodes().front().offset, {}, says::ConfigfileMoreDocuments{});
}

}  // namespace vigil::configfile
