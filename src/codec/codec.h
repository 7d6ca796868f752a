// codec: bytes to tokens. Pure, bounded in depth and memory, fuzzed; knows nothing of runs.
#pragma once
