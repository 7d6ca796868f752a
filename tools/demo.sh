#!/usr/bin/env bash
# Diagnoses the runs named in tests/fixtures/DEMO: the verdict in the terminal, and an HTML report of each. Then trains a
# small model live with a fault that kills the run, watches it, diagnoses it, and lets the guard save the same run.
# A demo of failed runs exits with 1 by design; that is no failure of the demo. Anything above is.
#
#   CI=true          a short training, for machines
#   VIGIL_DEMO_STEPS how many steps the live training takes (default 3000: it dies within a minute)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

vigil="${VIGIL:-build/release/vigil}"
case "${CI:-}" in true | 1) steps=200 ;; *) steps=3000 ;; esac
steps="${VIGIL_DEMO_STEPS:-$steps}"
live=build/demo/live
mkdir -p build/demo
rm -rf "$live"
reports=()

# Shows the command, then runs it; 1 is a run with findings.
show() {
  printf '\n$ vigil %s\n\n' "$*"
  local code=0
  "$vigil" "$@" || code=$?
  if [ "$code" -gt 1 ]; then
    echo "demo: vigil ended with $code: vigil $*" >&2
    exit "$code"
  fi
}

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

# One bit of one weight flips two thirds of the way: from there on everything is NaN.
fault=(gym --quiet --fault bit-flip --onset $((steps * 2 / 3)) --steps "$steps" --ranks 2 --journal)
printf '\n--- live: a GPT on two ranks, one bit of one weight flips at step %s\n' "$((steps * 2 / 3))"
printf '\n$ vigil %s --out %s &\n' "${fault[*]}" "$live/lost"
"$vigil" "${fault[@]}" --out "$live/lost" &
trainer=$!
trap 'kill "$trainer" 2>/dev/null || true' EXIT
show watch "$live/lost" --interval 0.5 --until-idle 4
wait "$trainer" || true
trap - EXIT
show diagnose "$live/lost" --html build/demo/live-lost.html
reports+=(build/demo/live-lost.html)

printf '\n--- the same run, with the guard: it is set back to the last checkpoint before the accident, and goes on\n'
show "${fault[@]}" --guard rollback --out "$live/saved"
grep '^guard:' "$live/saved/train.log"
show diagnose "$live/saved" --html build/demo/live-saved.html
reports+=(build/demo/live-saved.html)
printf '\nlast loss without the guard: %s, with it: %s\n' \
  "$(sed -n 's/.*| loss \([^ ]*\) .*/\1/p' "$live/lost/train.log" | tail -1)" \
  "$(sed -n 's/.*| loss \([^ ]*\) .*/\1/p' "$live/saved/train.log" | tail -1)"

printf '\nreports, to open in a browser:\n'
printf '  %s\n' "${reports[@]/#/$PWD/}"
