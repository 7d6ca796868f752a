#!/usr/bin/env bash
# Makes build/peers, the Python environment of what benchmarks and checks compare with. Does nothing when it is there.
# With `torch` it makes build/torch instead: PyTorch alone, which takes gigabytes and so is asked for by hand.
# With `--check` it makes nothing, and fails when build/peers is not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Makes the environment $1 of the packages after it, unless `probe` can be imported there.
make_env() {
  local env="$1"
  shift
  if "$env/bin/python" -c "import $probe" 2>/dev/null; then exit 0; fi
  mkdir -p build
  if command -v uv >/dev/null; then
    uv venv --quiet --clear "$env"
    uv pip install --quiet --python "$env/bin/python" "$@"
  else
    /usr/bin/python3 -m venv "$env"
    "$env/bin/pip" install --quiet --disable-pip-version-check "$@"
  fi
}

if [ "${1:-}" = torch ]; then
  probe="torch"
  make_env build/torch torch numpy
else
  probe="tensorboard, pandas, wandb.sdk.internal.datastore, junitparser, sarif_pydantic, prometheus_client"
  if [ "${1:-}" = --check ]; then exec build/peers/bin/python -c "import $probe"; fi
  # The last W&B whose package reads its own files in Python is older than what it writes with.
  make_env build/peers tensorboard pandas wandb==0.25.0 "setuptools<81" junitparser sarif-pydantic prometheus_client
fi
