#!/usr/bin/env bash
# Installs what building, testing and linting need on Debian 12: the one place that installs anything. Says what it
# does, does nothing the second time, works as root or with sudo.
#
# usage: tools/install-deps.sh GROUP...     groups: build lint bench python
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$root/build/venv"
ruff_version=0.17.4
tidy_version=23.1.4

packages_of() {
  case "$1" in
    build) echo make g++ cmake ninja-build ccache pkg-config python3 libfmt-dev libre2-dev rapidjson-dev \
      libexpected-dev libdeflate-dev libtomlplusplus-dev libcli11-dev libgtest-dev libgmock-dev \
      libvectorscan-dev libsimdjson-dev libhwy-dev libzstd-dev liblzma-dev libxxhash-dev libsqlite3-dev zlib1g-dev \
      libyaml-cpp-dev libarchive-dev ;;
    lint) echo clang-19 clang-format-19 libclang-rt-19-dev lld-19 llvm-19 shellcheck ;;
    bench) echo python3-venv libopenblas0 ;;
    python) echo python3 python3-venv ;;
    *)
      echo "install-deps: unknown group '$1'; groups: build lint bench python" >&2
      exit 2
      ;;
  esac
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install-deps: needs root to run: $*" >&2
    echo "install-deps: run it as root, or install sudo" >&2
    exit 1
  fi
}

install_packages() {
  local missing=()
  local package
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ "${#missing[@]}" -eq 0 ] && return
  echo "install-deps: installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ruff is no Debian package, and Debian's clang-tidy walks every declaration of the system's headers, which this one leaves
# out: it takes a third of the time. Both live in an environment of the project's own, below build/.
install_python_tools() {
  local have
  have="$("$venv/bin/ruff" --version 2>/dev/null || true) $("$venv/bin/clang-tidy" --version 2>/dev/null | grep -o 'version [0-9.]*' || true)"
  [ "$have" = "ruff $ruff_version version $tidy_version" ] && return
  echo "install-deps: making $venv with ruff $ruff_version and clang-tidy $tidy_version"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "ruff==$ruff_version" "clang-tidy==$tidy_version"
}

main() {
  [ "$#" -gt 0 ] || set -- build
  if ! command -v dpkg-query >/dev/null; then
    echo "install-deps: no dpkg here, so nothing is installed; the packages of Debian 12 that are needed:" >&2
    local group
    for group in "$@"; do packages_of "$group" >&2; done
    return
  fi
  local packages=()
  for group in "$@"; do
    local names
    names="$(packages_of "$group")"
    read -ra names <<<"$names"
    packages+=("${names[@]}")
  done
  install_packages "${packages[@]}"
  for group in "$@"; do
    if [ "$group" = python ]; then install_python_tools; fi
  done
}

main "$@"
