#!/usr/bin/env bash
# Fuzzes every target of build/dev from its kept corpus. What is found stays in build/fuzz/; an input worth keeping is
# copied to fuzz/corpus/<target>/ by hand.
# usage: tools/fuzz.sh SECONDS [RUNS]   (per target; 0 seconds replay the corpora only)
# With RUNS the walk is the same each time: that many inputs from one fixed seed, cut off after SECONDS. The check of a
# change wants this, so that it speaks of the change and not of luck; exploring is for `make fuzz`.
#
# Inputs may have up to a megabyte. libFuzzer begins with mutations as long as the longest seed, so that those of
# fuzz/large_seeds.py, which are made here and not kept, have inputs above 64 KiB tried in a short walk too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="$1"
# Exploring spends its time on inputs that are quick to read; a walk is not to depend on the speed of the machine.
walk=(-entropic_scale_per_exec_time=1)
into=build/fuzz/found
if [ $# -gt 1 ]; then
  walk=(-seed=1 "-runs=$2")
  into=build/fuzz/walked
  rm -rf "$into"
fi
rm -rf build/fuzz/large
python3 fuzz/large_seeds.py fuzz/corpus build/fuzz/large
for source in fuzz/*.cc; do
  name="$(basename "$source" .cc)"
  kept="fuzz/corpus/$name"
  found="$into/$name"
  large="build/fuzz/large/$name"
  mkdir -p "$found" "$large" "build/fuzz/crashes/$name"
  options=(-artifact_prefix="build/fuzz/crashes/$name/" -rss_limit_mb=1024 -timeout=10 -max_len=1048576 -print_final_stats=0
    -verbosity=0 -close_fd_mask=1)
  echo "fuzz_$name: corpus"
  "build/dev/fuzz/fuzz_$name" "${options[@]}" -runs=0 "$kept" "$large"
  if [ "$seconds" -gt 0 ]; then
    echo "fuzz_$name: $seconds s"
    "build/dev/fuzz/fuzz_$name" "${options[@]}" "${walk[@]}" -max_total_time="$seconds" "$found" "$kept" "$large"
  fi
done
echo "fuzz: nothing found"
