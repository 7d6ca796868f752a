#include "textlog/signature_events.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "textlog/line.h"
#include "textlog/memory_error.h"
#include "textlog/mention.h"

namespace vigil::textlog {
namespace {

// Python's own warnings ("UserWarning: ...") quote errors, and nothing failed.
bool IsPythonWarning(std::string_view text) {
  const std::size_t at = text.find("Warning: ");
  return at != std::string_view::npos && at > 0 && IsLetter(text[at - 1]);
}

}  // namespace

bool LooksLikeSource(std::string_view text) {
  constexpr std::array<std::string_view, 16> kOpenings = {"raise ", "except ", "if ",     "elif ",  "return ", "def ",
                                                          "print(", "#",       "assert ", "class ", "\"\"\"",  "//",
                                                          "try:",   "import ", "with ",   "for "};
  text = Trim(text);
  return std::any_of(kOpenings.begin(), kOpenings.end(),
                     [&](std::string_view opening) { return text.starts_with(opening); });
}

bool SignatureEvents::Take(std::string_view text, const Exception* exception, const EventLog::Place& place) {
  if (!search_) search_.emplace();
  const SignatureMatch match = use_hints_ ? search_->Find(text) : SignatureMatcher::Shared().Match(text);
  if (match.row == nullptr || LooksLikeSource(text)) return false;
  const bool happened = match.row->severity == model::Severity::kInfo || exception != nullptr ||
                        !(IsPythonWarning(text) || IsOnlyMentioned(text, match.begin, match.end));
  if (!happened) return false;
  const bool is_memory = match.row->id == "log/cuda-oom";
  events_.AddSignature(is_memory ? KindOfMemoryError(text, exception) : match.row->id, text, exception, place);
  return true;
}

}  // namespace vigil::textlog
