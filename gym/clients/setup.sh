#!/bin/sh
# Makes gym/.clients/<name>, an environment for each client whose files are fixtures, and with --make the files themselves
# in tests/fixtures/clients. Safe to run again.
set -eu
cd "$(dirname "$0")/.."
command -v uv >/dev/null || python3 -m pip install --quiet uv

make_env() { # <name> <package>...
  folder=".clients/$1"
  shift
  [ -x "$folder/bin/python" ] || uv venv --quiet --python 3.11 "$folder"
  uv pip install --quiet --python "$folder/bin/python" "$@"
}

# Versions are pinned: what a client writes is part of a fixture.
make_env tensorboard tensorboard==2.21.0 tensorboardX==2.6.5 numpy==2.4.6 'setuptools<81'
make_env wandb wandb==0.31.0 numpy==2.4.6
make_env mlflow mlflow==3.17.2
make_env trackio trackio==0.43.0
make_env lightning lightning==2.6.6 torch==2.15.0 tensorboard==2.21.0 numpy==2.4.6
make_env accelerate accelerate==1.15.0 torch==2.15.0 tensorboard==2.21.0 numpy==2.4.6
make_env deepspeed torch==2.15.0 numpy==2.4.6 tensorboard==2.21.0 'setuptools<81' wheel ninja packaging
DS_BUILD_OPS=0 uv pip install --quiet --no-build-isolation --python .clients/deepspeed/bin/python deepspeed==0.19.8
make_env torchtitan torchtitan==0.3.0
make_env axolotl axolotl==0.19.0
# Readers by others of what vigil writes, for tests/python/check_exports.py, and the schema of SARIF, which only a package of
# Node's registry carries.
make_env exports junitparser==5.0.3 sarif-pydantic==0.6.2 prometheus-client==0.26.0 jsonschema==4.26.0
if command -v npm >/dev/null && [ ! -e .clients/exports/sarif-2.1.0.json ]; then
  package=$(cd .clients/exports && npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0)
  tar -xzOf ".clients/exports/$package" package/lib/schemas/sarif-2.1.0-rtm.5.json >.clients/exports/sarif-2.1.0.json
fi

[ "${1:-}" = --make ] || exit 0
into=../tests/fixtures/clients
rm -rf "$into"
.clients/tensorboard/bin/python clients/tensorboard_writer.py "$into/tensorboard"
.clients/lightning/bin/python clients/torch_writer.py "$into/torch"
.clients/wandb/bin/python clients/wandb_offline.py "$into/wandb" >/dev/null 2>&1
.clients/torchtitan/bin/python clients/torchtitan_cpu.py "$into/torchtitan"
.clients/axolotl/bin/python clients/axolotl_cpu.py "$into/axolotl"
