// "--flag value" and "section.key=value" of the command that starts a training.
#include <algorithm>
#include <array>

#include "catalogue/says.h"
#include "configfile/collect.h"
#include "configfile/shell_words.h"

namespace vigil::configfile {
namespace {

bool IsFlag(const Word& word) { return word.text.size() > 2 && word.text.starts_with("--") && !word.quoted; }

// "model.optim.lr=1e-4" and "+trainer.devices=8", as Hydra takes them.
bool IsOverride(const Word& word) {
  const std::size_t equals = word.text.find('=');
  if (equals == std::string::npos || equals == 0 || word.text.starts_with('-')) return false;
  return word.text.substr(0, equals).find_first_of(" /:'\"([{$") == std::string::npos;
}

bool IsProgram(std::string_view word) { return word.ends_with(".py") || word.ends_with(".sh"); }

bool StartsTraining(const ShellCommand& command) {
  constexpr std::array<std::string_view, 10> kLaunchers = {"python",    "python3", "torchrun", "accelerate",
                                                           "deepspeed", "trl",     "axolotl",  "llamafactory-cli",
                                                           "swift",     "tune"};
  return std::any_of(command.words.begin(), command.words.end(), [&](const Word& word) {
    const std::string_view name = std::string_view(word.text).substr(word.text.rfind('/') + 1);
    return IsProgram(name) || std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
  });
}

std::size_t CountOptions(const ShellCommand& command) {
  return static_cast<std::size_t>(std::count_if(command.words.begin(), command.words.end(),
                                                [](const Word& word) { return IsFlag(word) || IsOverride(word); }));
}

std::string NameOf(std::string_view flag) {
  while (flag.starts_with('-') || flag.starts_with('+')) flag.remove_prefix(1);
  std::string name(flag.substr(0, flag.find('=')));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Options {
 public:
  Options(std::string_view script, Collector& collector) : script_(script), collector_(collector) {}

  void Take(const ShellCommand& command) {
    const std::vector<Word>& words = command.words;
    for (std::size_t i = 0; i < words.size();) {
      if (!IsFlag(words[i]) && !IsOverride(words[i])) {
        ++i;
      } else if (words[i].text.find('=') != std::string::npos) {
        TakeAssigned(words[i++]);
      } else {
        i = TakeFlag(words, i);
      }
    }
  }

 private:
  void TakeAssigned(const Word& word) {
    Entry entry = Begin(word, NameOf(word.text));
    // Quotes, escapes and variables make the text of a word another than the bytes it is written with: a place in the
    // one is no place in the other.
    const std::size_t value = word.text.find('=') + 1;
    const std::string_view written = script_.substr(word.begin, word.end - word.begin);
    if (written.substr(0, value) == std::string_view(word.text).substr(0, value)) entry.begin = word.begin + value;
    entry.end = written == word.text ? word.end : entry.begin;
    SetText(entry, word, word.text.substr(value));
    collector_.Add(std::move(entry));
  }

  std::size_t TakeFlag(const std::vector<Word>& words, std::size_t flag) {
    std::size_t end = flag + 1;
    while (end < words.size() && end < flag + 64 && !IsFlag(words[end]) && !IsProgram(words[end].text)) ++end;
    Entry entry = Begin(words[flag], NameOf(words[flag].text));
    if (end == flag + 1) {
      entry.kind = Kind::kTruth;
      entry.truth = true;
      entry.text = "true";
      collector_.Add(std::move(entry));
    } else if (end == flag + 2) {
      const Word& value = words[flag + 1];
      entry.begin = value.begin;
      entry.end = value.end;
      collector_.Place(entry);
      SetText(entry, value, value.text);
      collector_.Add(std::move(entry));
    } else {
      TakeList(words, flag + 1, end, std::move(entry));
    }
    return end;
  }

  void TakeList(const std::vector<Word>& words, std::size_t begin, std::size_t end, Entry entry) {
    const std::string path = entry.path;
    entry.kind = Kind::kList;
    entry.items = static_cast<std::uint32_t>(end - begin);
    collector_.Add(std::move(entry));
    for (std::size_t i = begin; i < end; ++i) {
      Entry item = Begin(words[i], Below(path, std::to_string(i - begin)));
      item.end = words[i].end;
      SetText(item, words[i], words[i].text);
      collector_.Add(std::move(item));
    }
  }

  Entry Begin(const Word& word, std::string path) const {
    Entry entry;
    entry.path = std::move(path);
    entry.key_begin = entry.begin = entry.end = word.begin;
    entry.has_key = true;
    collector_.Place(entry);
    return entry;
  }

  static void SetText(Entry& entry, const Word& word, std::string_view value) {
    entry.text = Kept(value);
    entry.quoted = word.quoted;
    TypePlainWord(entry);
    if (word.has_variable) entry.open = Open::kVariable;
    if (!word.has_variable && word.set_on_line != 0) {
      entry.open = Open::kSubstituted;
      entry.alias_line = word.set_on_line;
    }
  }

  std::string_view script_;
  Collector& collector_;
};

}  // namespace

void ParseCommand(File& file, Collector& collector) {
  const std::vector<ShellCommand> commands = ShellCommands(file.text);
  const ShellCommand* chosen = nullptr;
  for (const ShellCommand& command : commands) {
    if (!StartsTraining(command) || CountOptions(command) == 0) continue;
    if (chosen == nullptr || CountOptions(command) > CountOptions(*chosen)) chosen = &command;
  }
  if (chosen == nullptr) return;
  Options(file.text, collector).Take(*chosen);
  for (const ShellCommand& command : commands) {
    if (&command != chosen && StartsTraining(command) && CountOptions(command) >= 3)
      collector.Remark(RemarkKind::kPartly, command.words.front().begin, {}, says::ConfigfileOtherCommand{});
  }
}

}  // namespace vigil::configfile
