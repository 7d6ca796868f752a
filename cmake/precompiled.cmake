# The headers that nearly every source includes, compiled once for the modules and once for the tests (g++ takes a
# precompiled header only under the options it was made with, and programs are compiled as -fPIE, modules as -fPIC).
# They hold no header of ours: a change of a face does not make them again. A source still includes what it uses; the
# preset `lint` compiles without them, and finds one that does not.
option(VIGIL_PRECOMPILED "precompile the headers of the standard library, fmt and GoogleTest" ON)
if(CCACHE)
  set(VIGIL_PRECOMPILED_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

set(VIGIL_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string>
    <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)

# What carries the precompiled headers that others reuse has one source, which is empty.
function(vigil_precompile target)
  if(VIGIL_PRECOMPILED)
    target_compile_options(${target} PRIVATE ${VIGIL_PRECOMPILED_OPTIONS})
    target_precompile_headers(${target} PRIVATE ${VIGIL_COMMON_HEADERS} ${ARGN})
  endif()
endfunction()

function(vigil_use_precompiled target from)
  if(VIGIL_PRECOMPILED)
    target_compile_options(${target} PRIVATE ${VIGIL_PRECOMPILED_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()
