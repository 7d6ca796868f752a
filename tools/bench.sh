#!/usr/bin/env bash
# Runs every benchmark; what each measures and against whom is said in bench/README.md. All are run, also after one that
# failed, so that one wrong result does not hide the others.
# usage: tools/bench.sh [--short] [BUILD]   (default build/release)
# --short: small inputs, once; results are checked and no time is printed. The form that runs with the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

form=()
if [ "${1:-}" = --short ]; then
  form=(--short)
  shift
else
  bench/peers/install.sh
fi
build="${1:-build/release}"
failed=()
for source in bench/*_bench.cc; do
  name="$(basename "$source" .cc)"
  printf '\n%s\n' "$name"
  "$build/bench/$name" "${form[@]}" || failed+=("$name")
done
if [ "${#failed[@]}" -gt 0 ]; then
  printf '\nbench: failed: %s\n' "${failed[*]}" >&2
  exit 1
fi
