#!/usr/bin/env bash
# Installs a build below a scratch folder and uses it as another project would: a C99 program through pkg-config, a C++
# program through CMake; both run, and the installed vigil reads what they recorded.
# usage: tests/install/check.sh BUILD_FOLDER C_COMPILER CXX_COMPILER SCRATCH_FOLDER
set -euo pipefail

build="$1"
cc="$2"
cxx="$3"
scratch="$4"
source="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/usr" >"$scratch/install.log"
lib="$(dirname "$(find "$scratch/usr" -name libvigil.so)")"

export PKG_CONFIG_PATH="$lib/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs vigil)"
"$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror "$source/c_program.c" "${flags[@]}" -Wl,-rpath,"$lib" -o "$scratch/c_program"
"$scratch/c_program" "$scratch/c-run"

cmake -S "$source" -B "$scratch/user" -DCMAKE_PREFIX_PATH="$scratch/usr" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$scratch/configure.log"
cmake --build "$scratch/user" >"$scratch/build.log" || {
  cat "$scratch/build.log"
  exit 1
}
"$scratch/user/cpp_program" "$scratch/cpp-run"

for run in c-run cpp-run; do
  "$scratch/usr/bin/vigil" diagnose "$scratch/$run" --json --fail-on never >"$scratch/$run.json"
  grep -q '"name": *"loss"' "$scratch/$run.json" || {
    echo "no loss was read from $run" >&2
    exit 1
  }
done
echo "installed, compiled, recorded, read"
