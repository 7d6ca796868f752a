#!/usr/bin/env bash
# Makes build/peers, the Python environment of what the benchmarks compare with. Does nothing when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

peers=build/peers
packages=(tensorboard pandas)
if "$peers/bin/python" -c "import tensorboard, pandas" 2>/dev/null; then exit 0; fi
mkdir -p build
if command -v uv >/dev/null; then
  uv venv --quiet --clear "$peers"
  uv pip install --quiet --python "$peers/bin/python" "${packages[@]}"
else
  /usr/bin/python3 -m venv "$peers"
  "$peers/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
fi
