#!/usr/bin/env bash
# Makes build/peers, the Python environment of what benchmarks and checks compare with. Does nothing when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

peers=build/peers
# The last W&B whose package reads its own files in Python is older than what it writes with.
packages=(tensorboard pandas wandb==0.25.0 "setuptools<81" junitparser sarif-pydantic prometheus_client)
if "$peers/bin/python" -c "import tensorboard, pandas, wandb.sdk.internal.datastore, junitparser, sarif_pydantic, prometheus_client" 2>/dev/null; then exit 0; fi
mkdir -p build
if command -v uv >/dev/null; then
  uv venv --quiet --clear "$peers"
  uv pip install --quiet --python "$peers/bin/python" "${packages[@]}"
else
  /usr/bin/python3 -m venv "$peers"
  "$peers/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
fi
