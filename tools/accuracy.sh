#!/usr/bin/env bash
# Scores all labelled runs that are there, and writes doc/accuracy.md. What is absent is named, and its part of the page
# stays as it is. Arguments go to the program: --check writes nothing.
#
#   VIGIL_SCALE   folder of a set of the gym at scale (default gym/scale/set; gym/scale/make.py makes another)
#   VIGIL_CORPUS  folder of other people's files (default ../shared/corpus); its made.tar.xz is unpacked for the time of the run
#   BUILD         where the program is (default build/release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

set="${VIGIL_SCALE:-gym/scale/set}"
made="${VIGIL_CORPUS:-../shared/corpus}/made.tar.xz"
arguments=("$@")
if [ -d "$set" ]; then
  arguments+=(--scale "$set")
else
  echo "accuracy: not run on the gym at scale: no set in $set (VIGIL_SCALE names it)" >&2
fi
if [ -f "$made" ]; then
  unpacked="$(mktemp -d)"
  trap 'rm -rf "$unpacked"' EXIT
  tar -xJf "$made" -C "$unpacked"
  arguments+=(--made "$unpacked")
else
  echo "accuracy: not run on the runs that were learned from: no $made" >&2
fi
"${BUILD:-build/release}/accuracy" "${arguments[@]}"
