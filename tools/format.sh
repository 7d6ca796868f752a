#!/usr/bin/env bash
# Rewrites the sources in the house format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/sources.sh
. tools/sources.sh

cpp_sources | xargs -0 clang-format-19 -i
build/venv/bin/ruff check --quiet --fix .
