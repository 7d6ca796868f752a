#!/usr/bin/env bash
# Renders runs of the gym at scale in every style of gym/scale/render.py, and prints for each style how many of them get
# the verdict of the same run as JSON lines. The table becomes a part of doc/accuracy.md.
#
# usage: tools/twins.sh [COUNT]   runs, picked so that half have an error and a quarter nothing to say (default 40)
#   VIGIL_SCALE   folder of a set (default gym/scale/set)
#   BUILD         where the programs are (default build/release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

count="${1:-40}"
build="${BUILD:-build/release}"
set="${VIGIL_SCALE:-gym/scale/set}"
rendered="$(mktemp -d)"
trap 'rm -rf "$rendered"' EXIT
python3 gym/scale/render.py --list >"$rendered/STYLES"
picked="$("$build/scale_verdicts" "$set" --pick "$count")"
python3 gym/scale/render.py "$set" --out "$rendered" --style all --id "$picked"
"$build/accuracy" --twins "$rendered"
