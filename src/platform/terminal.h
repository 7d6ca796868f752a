// platform/terminal: what the program writes to and is interrupted from: terminals, pipes, interrupts.
#pragma once

#include <string_view>

#include "base/base.h"

namespace vigil::platform {

bool IsTerminal(int descriptor);
// Columns of the terminal behind `descriptor`, COLUMNS, or `otherwise`.
int TerminalWidth(int descriptor, int otherwise);

// Writes all of `text`. False when nobody reads any more (a closed pipe): no error, but there is no use in going on.
// Call IgnoreClosedPipes first, or the signal ends the process.
Result<bool> WriteText(int descriptor, std::string_view text);
void IgnoreClosedPipes();
// From now on an interrupt (SIGINT, SIGTERM) first clears the current line of that terminal, then ends the process as
// it would have.
void ClearLineOnInterrupt(int descriptor);

// From now on an interrupt (SIGINT, SIGTERM, SIGHUP) only sets a flag, so that the program can end in good order. A
// second one ends it at once. What came before is forgotten.
void CatchInterrupts();
bool WasInterrupted();
// Waits, or until an interrupt comes.
void Pause(double seconds);

}  // namespace vigil::platform
