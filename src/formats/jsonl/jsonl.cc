#include "formats/jsonl/jsonl.h"

#include <cstring>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "formats/json/looks.h"
#include "tabular/json_table.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kLongestLine = std::size_t{16} << 20U;
constexpr std::string_view kTraceback = "Traceback (most recent call last)";

bool HoldsTraceback(std::string_view text) {
  return ::memmem(text.data(), text.size(), kTraceback.data(), kTraceback.size()) != nullptr;
}

class JsonLinesReader : public ingest::Reader {
 public:
  explicit JsonLinesReader(ingest::PartBuilder& builder) : builder_(builder), table_(builder) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t begin = 0;
    const bool holds_traceback = HoldsTraceback(bytes);
    while (begin < bytes.size()) {
      if (const std::size_t taken = TakeWholeLine(bytes.substr(begin)); taken != 0) {
        if (holds_traceback) TakeTraceback(bytes.substr(begin, taken));
        begin += taken;
        continue;
      }
      const void* const newline = std::memchr(bytes.data() + begin, '\n', bytes.size() - begin);
      if (newline == nullptr) break;
      const auto end = static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data());
      TakeLine(bytes.substr(begin, end - begin));
      if (holds_traceback) TakeTraceback(bytes.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string_view rest = bytes.substr(begin);
    if (skipping_ || rest.size() > kLongestLine) {
      // Nothing of such a line is kept, so that it needs no memory however long it is.
      skipping_ = !rest.empty() || skipping_;
      begin = bytes.size();
    } else if (last && !rest.empty()) {
      TakeLine(rest);
      if (holds_traceback) TakeTraceback(rest);
      begin = bytes.size();
    }
    table_.Flush();
    if (last) Finish();
    return begin;
  }

 private:
  // The line at the front of `text`, when it is one object and nothing else: most are, and need not be searched for
  // their end first. Returns the bytes it took, 0 when it is not so.
  std::size_t TakeWholeLine(std::string_view text) {
    if (skipping_ || !text.starts_with('{')) return 0;
    codec::JsonScanner scanner;
    scanner.Continue(text, false);
    // Columns are learned on the way: those of lines that follow may not be there yet when the text comes in pieces.
    scanner.StayInLine();
    scanner.Next();
    table_.reader().Begin(line_);
    if (table_.reader().Read(scanner) != JsonToken::kObjectEnd) return 0;
    const std::size_t end = scanner.consumed();
    if (end >= text.size() || text[end] != '\n' || end > kLongestLine) return 0;
    ++line_;
    table_.AddRow();
    return end + 1;
  }

  void TakeLine(std::string_view line) {
    ++line_;
    if (skipping_ || line.size() > kLongestLine) {
      skipping_ = false;
      if (long_lines_++ == 0) first_long_line_ = line_;
      return;
    }
    std::string_view rest = FromFirstCharacter(line);
    const bool array = rest.starts_with('[');
    if (array) rest = FromNextObject(rest);
    // A writer that was cut off and started again leaves two objects in one line.
    while (!rest.empty()) {
      codec::JsonScanner scanner(rest);
      if (!TakeObject(scanner)) return;
      rest = rest.substr(scanner.consumed());
      rest = array ? FromNextObject(rest) : FromFirstCharacter(rest);
    }
  }

  bool TakeObject(codec::JsonScanner& scanner) {
    const JsonToken first = scanner.Next();
    if (first != JsonToken::kObjectBegin) return CountBroken(first, scanner);
    table_.reader().Begin(line_ - 1);
    const JsonToken end = table_.reader().Read(scanner);
    if (end != JsonToken::kObjectEnd) return CountBroken(end, scanner);
    table_.AddRow();
    return true;
  }

  // Structured loggers write the text of an exception into a value of the line: {"level": "error", "exception":
  // "Trace..."}.
  void TakeTraceback(std::string_view line) {
    if (line.size() > kLongestLine || !HoldsTraceback(line)) return;
    codec::JsonScanner scanner(line);
    for (JsonToken token = scanner.Next(); token < JsonToken::kNeedMore; token = scanner.Next()) {
      if (token != JsonToken::kString || !HoldsTraceback(scanner.text())) continue;
      if (!messages_) messages_ = textlog::OpenLogText(builder_);
      messages_->Consume(codec::UnescapeJson(scanner.text()) + "\n", false);
    }
  }

  bool CountBroken(JsonToken token, const codec::JsonScanner& scanner) {
    if (broken_lines_++ == 0) {
      first_broken_ = {line_, scanner.consumed() + 1,
                       std::string(token == JsonToken::kBroken ? scanner.problem() : std::string_view())};
    }
    return false;
  }

  void Finish() {
    table_.Finish();
    if (messages_) messages_->Consume({}, true);
    if (broken_lines_ != 0) builder_.ReportDamage(BrokenLines());
    if (skipping_) {
      ++line_;
      if (long_lines_++ == 0) first_long_line_ = line_;
    }
    if (long_lines_ != 0) {
      builder_.AddNote(
          says::NoteLongLine{.line = first_long_line_, .limit = kLongestLine, .others = ingest::OthersOf(long_lines_)});
    }
    broken_lines_ = 0;
    long_lines_ = 0;
  }

  // The first of them: one that is broken JSON, or holds something else than an object.
  model::Statement BrokenLines() const {
    model::Statement others;
    if (broken_lines_ > 1) others = says::DamageJsonLineOthers{.count = broken_lines_ - 1};
    const BrokenLine& first = first_broken_;
    if (first.problem.empty())
      return says::DamageNoObject{.line = first.line, .column = first.column, .others = others};
    return says::DamageJsonLine{.line = first.line, .column = first.column, .message = first.problem, .others = others};
  }

  ingest::PartBuilder& builder_;
  tabular::JsonTable table_;
  std::unique_ptr<ingest::Reader> messages_;  // of the texts in the lines; opened by the first
  std::uint32_t line_ = 0;
  bool skipping_ = false;  // inside a line that is too long
  std::uint64_t broken_lines_ = 0;
  struct BrokenLine {
    std::uint32_t line = 0;
    std::size_t column = 0;
    std::string problem;  // empty where it is JSON, and no object
  };
  BrokenLine first_broken_;
  std::uint64_t long_lines_ = 0;
  std::uint32_t first_long_line_ = 0;
};

constexpr int kByName = 10;

bool IsNamedAsLines(std::string_view path) {
  const std::string lower = ToLower(path);
  return lower.ends_with(".jsonl") || lower.ends_with(".ndjson");
}

bool IsBroken(std::string_view line) {
  codec::JsonScanner scanner(line);
  JsonToken token = scanner.Next();
  while (token < JsonToken::kNeedMore) token = scanner.Next();
  return token == JsonToken::kBroken;
}

}  // namespace

int RecogniseJsonLines(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (text.starts_with('{')) {
    const int sureness = SureOfRowsInLines(text);
    // A first line that is broken is damage: what stands behind it may be rows.
    const bool damaged = sureness == 0 && IsNamedAsLines(probe.path) && IsBroken(text.substr(0, text.find('\n')));
    return damaged ? kByName : sureness;
  }
  // An array in every line; one over several lines, or alone, is a document.
  const std::size_t end = text.find('\n');
  if (!text.starts_with("[{") || end == std::string_view::npos || !text.substr(end + 1).starts_with("[{")) return 0;
  const int sureness = SureOfRowsInLines(text);
  return sureness == 0 ? 0 : sureness + 1;
}

std::unique_ptr<ingest::Reader> OpenJsonLines(ingest::PartBuilder& builder) {
  return std::make_unique<JsonLinesReader>(builder);
}

}  // namespace vigil::formats
