# How everything is compiled: warnings are errors, symbols are hidden, the cache is shared between build folders.

# CCACHE_BASEDIR makes paths relative, so that two checkouts share results. The sloppiness is what ccache asks for where
# headers are precompiled: their own macros and times are not looked at.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# The modules are static libraries, fit to be linked into a shared one that lives in another's process.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
# RE2's users are compiled with it, and a precompiled header fits only sources that are compiled alike.
add_compile_options(-pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in std::string::insert that are not there (GCC bug 105329).
  add_compile_options(-Wno-restrict)
else()
  # The library of g++ 12 uses get_temporary_buffer inside std::stable_sort, and clang blames the caller.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(VIGIL_LINKER)
  add_link_options(-fuse-ld=${VIGIL_LINKER})
endif()
if(VIGIL_SANITIZE)
  add_compile_options(-fsanitize=${VIGIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VIGIL_SANITIZE})
endif()
# Counters for libFuzzer in everything, so that its targets and the tests share one build of the modules.
if(VIGIL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
