// What the lines of launchers, watchdogs and allocators say, as values. These texts are others', found in logs. Private
// to detect.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vigil::detect {

// Whether the sign is in the text by itself, and not within a longer number or word.
bool HasWord(std::string_view text, std::string_view sign);
// Whether a launcher names that signal: torchrun's "got signal: 1" or its agent's "Received 1 death signal".
bool NamesSignal(std::string_view text, int signal);
// Whether an error is about numbers that are not finite, by whole words: "nanoGPT" and "info" are none.
bool MentionsNonFinite(std::string_view text);
// The collective that a watchdog's line names: "8841 ALLREDUCE", empty when it names none.
std::string CollectiveIn(std::string_view text);
// The amount of memory behind these words ("Tried to allocate 96.00 MiB") in GiB.
std::optional<double> GibibytesBehind(std::string_view text, std::string_view words);

}  // namespace vigil::detect
