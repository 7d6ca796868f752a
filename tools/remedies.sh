#!/usr/bin/env bash
# Trains each fault of the gym at scale and its healthy twin, asks for the diagnosis, trains again with the remedies
# that it names, and puts the table into doc/accuracy.md. Goes on where it was stopped.
#
# usage: tools/remedies.sh [WORKERS]   trainings at a time (default: all cores; 16 take about three minutes)
#   GYM_PYTHON   a Python with PyTorch and numpy (default gym/.venv/bin/python, which gym/setup.sh makes)
#   PROOF        where the runs are kept (default build/proof)
#   BUILD        where the program is (default build/release)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workers="${1:-$(nproc)}"
python="${GYM_PYTHON:-gym/.venv/bin/python}"
proof="${PROOF:-build/proof}"
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
  echo "$python: no Python with PyTorch and numpy; make one with gym/setup.sh, or name one in GYM_PYTHON" >&2
  exit 1
fi
"$python" gym/remedy_proof.py train --out "$proof" --cases 4 --workers "$workers"
"$python" gym/remedy_proof.py ask "$proof" --vigil "${BUILD:-build/release}/vigil"
"$python" gym/remedy_proof.py cure "$proof" --workers "$workers"
"$python" gym/remedy_proof.py table "$proof" --page doc/accuracy.md
