// Known error messages in lines of a log, as events.
#pragma once

#include <optional>
#include <string_view>

#include "textlog/event_log.h"
#include "textlog/signatures.h"
#include "textlog/traceback.h"

namespace vigil::textlog {

class SignatureEvents {
 public:
  SignatureEvents(EventLog& events, bool use_hints) : events_(events), use_hints_(use_hints) {}

  // Adds an event when the text carries a known error message and is not one that only mentions it. `exception`: the
  // one whose message the text is, null when it stands alone. True when there is an event.
  bool Take(std::string_view text, const Exception* exception, const EventLog::Place& place);

 private:
  EventLog& events_;
  bool use_hints_;
  std::optional<SignatureSearch> search_;  // costly to make: when the first line may carry a message
};

// Source code printed into a log (some trainers log themselves) names errors that did not happen.
bool LooksLikeSource(std::string_view text);

}  // namespace vigil::textlog
