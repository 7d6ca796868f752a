// training_args.bin: a pickled object, bare or in torch's archive. Nothing is imported and nothing is called.
#include "codec/pickle.h"

#include "catalogue/says.h"
#include "codec/torch_archive.h"
#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

using codec::pickle::Document;
using codec::pickle::Index;
using codec::pickle::Value;
using PickleKind = codec::pickle::Kind;

constexpr std::size_t kDeepestObject = 4;
// torch before 1.6: the magic number as a pickle of its own, then the protocol, the machine, and the object.
constexpr std::string_view kOldTorch("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
constexpr std::size_t kPicklesBeforeOldObject = 3;

// Type and text of a plain value; an enumeration by the value it is made of. False for what has parts.
bool Fill(const Document& document, const Value& value, Entry& entry) {
  switch (value.kind) {
    case PickleKind::kTruth:
      entry.kind = Kind::kTruth;
      entry.truth = value.truth;
      entry.text = value.truth ? "true" : "false";
      return true;
    case PickleKind::kWhole:
      entry.kind = Kind::kNumber;
      entry.number = static_cast<double>(value.whole);
      entry.text = std::to_string(value.whole);
      return true;
    case PickleKind::kNumber:
      entry.kind = Kind::kNumber;
      entry.number = value.number;
      entry.text = FormatExact(value.number);
      return true;
    case PickleKind::kText:
      entry.kind = Kind::kText;
      entry.text = Kept(value.text);
      return !entry.text.empty();
    case PickleKind::kObject: {
      if (value.items.size() != 1) return false;
      const Value& inner = document.values[value.items.front()];
      entry.kind = Kind::kText;
      entry.text = inner.kind == PickleKind::kText ? Kept(inner.text) : std::string();
      return !entry.text.empty();
    }
    default:
      return false;
  }
}

// The pairs of a dictionary, or of the state that is set on an object.
const std::vector<Index>* PairsOf(const Document& document, Index at) {
  for (int hops = 0; hops < 3 && at < document.values.size(); ++hops) {
    const Value& value = document.values[at];
    if (value.kind == PickleKind::kDict) return &value.items;
    if (value.kind != PickleKind::kObject) return nullptr;
    // Some objects state their settings as the one argument of the class.
    at = value.state != codec::pickle::kNone ? value.state
         : value.items.empty()               ? codec::pickle::kNone
                                             : value.items.front();
  }
  return nullptr;
}

struct Pending {
  Index value;
  std::string path;
  std::size_t depth;
};

void Flatten(const Document& document, Collector& collector) {
  std::vector<Pending> pending = {{document.root, {}, 0}};
  std::size_t visited = 0;
  while (!pending.empty() && ++visited < kMostEntries) {
    const Pending next = std::move(pending.back());
    pending.pop_back();
    const std::vector<Index>* const pairs = PairsOf(document, next.value);
    if (pairs == nullptr) continue;
    for (std::size_t i = 0; i + 1 < pairs->size(); i += 2) {
      const Value& key = document.values[(*pairs)[i]];
      if (key.kind != PickleKind::kText || key.text.size() > 256 || key.text.starts_with('_')) continue;
      Entry entry;
      entry.path = Below(next.path, key.text);
      if (Fill(document, document.values[(*pairs)[i + 1]], entry)) {
        if (!collector.Add(std::move(entry))) return;
      } else if (next.depth < kDeepestObject && pending.size() < kMostEntries) {
        pending.push_back({(*pairs)[i + 1], std::move(entry.path), next.depth + 1});
      }
    }
  }
}

}  // namespace

void ParsePickle(File& file, Collector& collector) {
  const auto broken = [&](model::Statement why) {
    collector.RemarkOnLine(RemarkKind::kBroken, 0, 0, {}, std::move(why));
  };
  std::string_view rest = file.text;
  if (codec::pickle::IsArchive(rest)) {
    const auto member = codec::pickle::FindMember(rest, "/data.pkl");
    if (!member) return broken(says::DamageNoPickle{});
    rest = *member;
  } else if (rest.starts_with(kOldTorch)) {
    for (std::size_t i = 0; i < kPicklesBeforeOldObject; ++i) rest.remove_prefix(codec::pickle::Parse(rest).size_bytes);
  }
  const Document document = codec::pickle::Parse(rest);
  for (const std::string& name : document.names) {
    if (!codec::pickle::IsDangerous(name)) continue;
    // Nothing that such a file says is believed.
    return collector.RemarkOnLine(RemarkKind::kBroken, 0, 0, {},
                                  says::DamageDangerousPickle{.name = Printable(name.substr(0, 100))});
  }
  Flatten(document, collector);
  if (document.root != codec::pickle::kNone) file.made_by = Kept(document.values[document.root].text);
  if (!document.problem.empty()) broken(says::DamageError{.message = document.problem});
}

}  // namespace vigil::configfile
