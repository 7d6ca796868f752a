#!/bin/sh
# Makes gym/.frameworks/<name>, an environment for each group of frameworks. Safe to run again.
set -eu
cd "$(dirname "$0")/.."
command -v uv >/dev/null || python3 -m pip install --quiet uv

make_env() { # <name> <package or option>...
  folder=".frameworks/$1"
  shift
  [ -x "$folder/bin/python" ] || uv venv --quiet --python 3.11 "$folder"
  uv pip install --quiet --python "$folder/bin/python" "$@"
}

# Versions are pinned: the shape of a log line is part of a fixture.
make_env main -r frameworks/requirements.txt
make_env jax jax==0.10.2 optax==0.2.8 flax==0.12.8 clu==0.0.12 keras==3.15.1 tensorflow-cpu==2.21.0 tensorboard==2.21.0
make_env spacy spacy==3.8.18
make_env mm mmengine==0.10.7 torch==2.15.0
make_env ultra ultralytics==8.4.190 torch==2.15.0
make_env composer mosaicml==0.32.1 torch==2.7.0
make_env paddle paddlepaddle==3.3.1 setuptools==84.2.1
make_env catboost catboost==1.2.10
