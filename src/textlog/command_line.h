// The command that started a run, where a log shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::textlog {

// Where a command that starts a training begins in the line ("+ torchrun --nproc_per_node 8 train.py --lr 1e-4"), npos
// when there is none. A sentence that only speaks of one is none.
std::size_t FindCommand(std::string_view text);

// Adds the words of a command as a shell would split them.
void SplitWords(std::string_view text, std::vector<std::string>& words);

}  // namespace vigil::textlog
