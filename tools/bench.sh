#!/usr/bin/env bash
# Runs every benchmark; what each measures and against whom is said in bench/README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bench/peers/install.sh
for source in bench/*_bench.cc; do
  name="$(basename "$source" .cc)"
  printf '\n%s\n' "$name"
  "build/bench/bench/$name"
done
