#!/usr/bin/env bash
# Diagnoses the runs named in tests/fixtures/DEMO: the verdict in the terminal, and an HTML report of each.
# A demo of sick runs exits with 1 by design; that is no failure of the demo. Anything above is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

vigil=build/release/vigil
mkdir -p build/demo
reports=()
while read -r run; do
  case "$run" in '' | '#'*) continue ;; esac
  report="build/demo/$(echo "$run" | tr '/' '-').html"
  printf '\n$ vigil diagnose %s\n\n' "tests/fixtures/$run"
  code=0
  "$vigil" diagnose "tests/fixtures/$run" --html "$report" || code=$?
  if [ "$code" -gt 1 ]; then
    echo "demo: vigil ended with $code on tests/fixtures/$run" >&2
    exit "$code"
  fi
  reports+=("$report")
done <tests/fixtures/DEMO
printf '\nreports, to open in a browser:\n'
printf '  %s\n' "${reports[@]/#/$PWD/}"
