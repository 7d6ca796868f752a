#!/bin/sh
# Makes gym/.venv (current trainers) and gym/.venv4 (transformers 4.x). Safe to run again.
set -eu
cd "$(dirname "$0")"
command -v uv >/dev/null || python3 -m pip install --quiet uv

make_env() {  # <folder> <requirements file>
  [ -x "$1/bin/python" ] || uv venv --quiet --python 3.11 "$1"
  uv pip install --quiet --python "$1/bin/python" -r "$2"
}

make_env .venv requirements.txt
make_env .venv4 requirements-v4.txt
