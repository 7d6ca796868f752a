#include "formats/notebook/notebook.h"

#include <string>

#include "codec/codec.h"
#include "formats/json/looks.h"
#include "formats/json/metric_lists.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr int kSure = 90;

// Cells end with a tab and rows with a line feed, so that a table of HTML is one of text; every other tag is left out.
std::string TextOfHtml(std::string_view html) {
  std::string text;
  for (std::size_t at = 0; at < html.size();) {
    if (html[at] != '<') {
      if (html[at] != '\n') text += html[at];
      ++at;
      continue;
    }
    const std::size_t close = html.find('>', at);
    if (close == std::string_view::npos) break;
    const std::string_view tag = html.substr(at, close - at);
    if (tag == "</td" || tag == "</th") text += '\t';
    if (tag == "</tr" || tag == "</p" || tag == "<br") text += '\n';
    at = close + 1;
  }
  return text;
}

// Walks a notebook for the texts of its outputs. Sources of cells quote what they might print, and are no output.
class NotebookReader : public DocumentReader {
 public:
  explicit NotebookReader(ingest::PartBuilder& part) : DocumentReader(part), log_(textlog::OpenLogText(part)) {}

 private:
  enum class Kind : std::uint8_t { kNone, kText, kLines, kHtml };

  JsonToken Advance(codec::JsonScanner& scanner) override {
    for (;;) {
      const JsonToken token = scanner.Next();
      if (token >= JsonToken::kNeedMore) return token;
      See(token, scanner);
    }
  }

  void Conclude() override {
    EndText();
    log_->Consume(text_, true);
  }

  void See(JsonToken token, const codec::JsonScanner& scanner) {
    if (token == JsonToken::kKey) {
      EndText();
      kind_ = KindOf(scanner.text());
      opens_outputs_ = scanner.text() == "outputs";
    } else if (token == JsonToken::kArrayBegin && opens_outputs_ && outputs_at_ == 0) {
      outputs_at_ = scanner.depth();
    } else if (outputs_at_ != 0 && scanner.depth() < outputs_at_) {
      EndText();
      outputs_at_ = 0;
    } else if (token == JsonToken::kString && outputs_at_ != 0 && kind_ != Kind::kNone) {
      Take(codec::UnescapeJson(scanner.text()));
    }
  }

  static Kind KindOf(std::string_view key) {
    if (key == "text/html") return Kind::kHtml;
    if (key == "traceback") return Kind::kLines;
    return key == "text" || key == "text/plain" ? Kind::kText : Kind::kNone;
  }

  // Outputs of one cell may be megabytes: what the log reader can take is handed on.
  void Take(const std::string& piece) {
    if (kind_ == Kind::kHtml) {
      html_ += piece;
      return;
    }
    text_ += piece;
    if (kind_ == Kind::kLines && !text_.ends_with('\n')) text_ += '\n';  // entries of the list stand for lines
    Feed();
  }

  void Feed() {
    const std::size_t used = log_->Consume(text_, false);
    text_.erase(0, used);
  }

  // A text ends where the next key begins, also without a line feed.
  void EndText() {
    if (!html_.empty()) text_ += TextOfHtml(html_);
    html_.clear();
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    if (!text_.empty()) Feed();
    kind_ = Kind::kNone;
  }

  std::unique_ptr<ingest::Reader> log_;
  std::string text_;  // that the log reader is to take
  std::string html_;
  Kind kind_ = Kind::kNone;
  bool opens_outputs_ = false;
  std::size_t outputs_at_ = 0;  // the depth of the list of outputs, 0 outside one
};

}  // namespace

int RecogniseNotebook(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{')) return 0;
  const bool has_cells = text.find("\"cells\"") != std::string_view::npos;
  const bool has_kind =
      text.find("\"cell_type\"") != std::string_view::npos || text.find("\"nbformat\"") != std::string_view::npos;
  return has_cells && has_kind ? kSure : 0;
}

std::unique_ptr<ingest::Reader> OpenNotebook(ingest::PartBuilder& builder) {
  return std::make_unique<NotebookReader>(builder);
}

}  // namespace vigil::formats
