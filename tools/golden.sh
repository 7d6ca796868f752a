#!/usr/bin/env bash
# Rewrites what is generated and kept: the expected outputs in tests/golden and of the reports' unit tests, the
# diagram, the reference pages and the examples in the documents. The diff is the review.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find tests/golden -name cmd -printf '%h\0' | sort -z | xargs -0 -r build/test/tests/golden_runner --rewrite build/test/vigil
VIGIL_REWRITE=1 build/test/tests/structure_test --gtest_filter='*Generated*' --gtest_brief=1
VIGIL_REWRITE=1 build/test/tests/report_test --gtest_brief=1
git --no-pager diff --stat -- tests/golden tests/unit/report/golden '*.md' || true
