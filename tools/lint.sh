#!/usr/bin/env bash
# Every check of style: clang-format, ruff, shellcheck, and clang-tidy unless --quick is given. Changes nothing; fails on
# the first kind that finds something.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/sources.sh
. tools/sources.sh

echo "clang-format"
cpp_sources | xargs -0 clang-format-19 --dry-run -Werror
echo "ruff"
build/venv/bin/ruff check --quiet .
echo "shellcheck"
shell_scripts | xargs -0 shellcheck -x
if [ "${1:-}" = --quick ]; then exit; fi
echo "clang-tidy"
tools/build.sh lint generated
tools/tidy.py build/venv/bin/clang-tidy build/lint
echo "lint: clean"
