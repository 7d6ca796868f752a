#!/usr/bin/env bash
# Fuzzes every target of build/fuzz from its kept corpus. What is found stays in build/fuzz/; an input worth keeping is
# copied to fuzz/corpus/<target>/ by hand.
# usage: tools/fuzz.sh SECONDS     (per target; 0 replays the corpora only)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="$1"
for source in fuzz/*.cc; do
  name="$(basename "$source" .cc)"
  kept="fuzz/corpus/$name"
  found="build/fuzz/found/$name"
  mkdir -p "$found" "build/fuzz/crashes/$name"
  options=(-artifact_prefix="build/fuzz/crashes/$name/" -rss_limit_mb=1024 -timeout=10 -max_len=65536 -print_final_stats=0
    -verbosity=0 -close_fd_mask=1)
  echo "fuzz_$name: corpus"
  "build/fuzz/fuzz/fuzz_$name" "${options[@]}" -runs=0 "$kept"
  if [ "$seconds" -gt 0 ]; then
    echo "fuzz_$name: $seconds s"
    "build/fuzz/fuzz/fuzz_$name" "${options[@]}" -max_total_time="$seconds" "$found" "$kept"
  fi
done
echo "fuzz: nothing found"
