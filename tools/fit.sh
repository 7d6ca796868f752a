#!/usr/bin/env bash
# Fits the weights of the causes to all runs with known faults that are there, and writes src/catalogue/rows/weights.toml.
# Arguments go to the program.
#
#   VIGIL_SCALE   folder of a set of the gym at scale (default gym/scale/set)
#   VIGIL_CORPUS  folder of other people's files (default ../shared/corpus); its made.tar.xz is unpacked for the time of the run
#   BUILD         where the program is (default build/release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

made="${VIGIL_CORPUS:-../shared/corpus}/made.tar.xz"
arguments=(--runs tests/fixtures/LABELS.tsv --runs tests/fixtures/frameworks/LABELS.tsv --runs tests/fixtures/fresh/LABELS.tsv)
if [ -f "$made" ]; then
  unpacked="$(mktemp -d)"
  trap 'rm -rf "$unpacked"' EXIT
  tar -xJf "$made" -C "$unpacked"
  arguments+=(--runs "$unpacked/MANIFEST.tsv")
else
  echo "fit: without the runs of the corpus: no $made" >&2
fi
"${BUILD:-build/release}/fit" "${VIGIL_SCALE:-gym/scale/set}" "${arguments[@]}" --out src/catalogue/rows/weights.toml "$@"
