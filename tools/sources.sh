# shellcheck shell=bash
# The files of the project by language, for the scripts beside this one. Names end in NUL.

cpp_sources() {
  find src apps tests fuzz bench tools \( -name '*.cc' -o -name '*.h' \) -print0
}

shell_scripts() {
  find tools gym -name '*.sh' -print0 2>/dev/null || true
  printf '%s\0' .ci/run
}
