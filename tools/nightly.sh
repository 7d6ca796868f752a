#!/usr/bin/env bash
# What takes too long for every change, once a night: long fuzzing from the kept corpora, many inputs read by
# vigil and by other readers, many kills of recording processes, many rounds of kill, delete and restart, every
# point of failing allocations under ASan, the whole accuracy table, and the benchmarks in full.
#
#   NIGHTLY_FUZZ_SECONDS  per fuzz target (default 600)
#   NIGHTLY_DIFFERENTIAL  inputs of each kind that other readers read too (default 50000)
#   VIGIL_KILLS           kills of a recording process (default 2000)
#   VIGIL_SOAK_ROUNDS     rounds of kill, delete and restart (default 5000)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/build.sh dev fuzz_targets journal_test ingest_test
tools/build.sh test record_test
VIGIL_SOAK_ROUNDS="${VIGIL_SOAK_ROUNDS:-5000}" build/test/tests/record_test --gtest_filter='Soak.*' --gtest_brief=1
VIGIL_KILLS="${VIGIL_KILLS:-2000}" build/dev/tests/journal_test --gtest_filter='*Kill*' --gtest_brief=1
VIGIL_ALL_POINTS=1 build/dev/tests/ingest_test --gtest_filter='OutOfMemoryTest.*' --gtest_brief=1
tools/fuzz.sh "${NIGHTLY_FUZZ_SECONDS:-600}"
tools/build.sh test dump_values
bench/peers/install.sh
DIFFERENTIAL_SEED="$(date +%F)" build/peers/bin/python tests/python/differential.py build/test/tests/dump_values fuzz/corpus "${NIGHTLY_DIFFERENTIAL:-50000}"
tools/build.sh release vigil accuracy benchmarks
tools/accuracy.sh --check
tools/bench.sh
