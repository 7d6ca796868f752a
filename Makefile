# The commands of the project; `make help` lists them. The work is done by CMake presets and by the scripts in tools/.
.DEFAULT_GOAL := all
.PHONY: all install demo test dev tsan lint format bench fuzz nightly accuracy heldout fit twins remedies golden clean help install-build install-lint

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
TWINS ?= 40
PREFIX ?= /usr/local

all: build/release/vigil ## build the release program to build/release/vigil
	@echo "built build/release/vigil"

.PHONY: build/release/vigil
build/release/vigil: install-build
	@tools/build.sh release vigil

install: install-build ## install the program, libvigil and its headers below PREFIX (/usr/local)
	@tools/build.sh release vigil vigil_capi
	@cmake --install build/release --prefix $(PREFIX)

demo: build/release/vigil ## diagnose three runs that ship with the project; train one live, lose it, and save it
	@tools/demo.sh

test: install-build ## build and run the tests
	@tools/build.sh test
	@ctest --preset test -j $(JOBS)

dev: install-build install-lint ## the same under ASan and UBSan, with clang-19
	@tools/build.sh dev
	@ctest --preset dev -j $(JOBS)

tsan: install-build install-lint ## the tests of what has threads, under TSan
	@tools/build.sh tsan threads_tests
	@ctest --preset tsan -j $(JOBS)

lint: install-build install-lint ## check format, clang-tidy, ruff, shellcheck
	@tools/install-deps.sh python
	@tools/lint.sh

format: install-lint ## rewrite the sources in the house format
	@tools/install-deps.sh python
	@tools/format.sh

bench: install-build ## run the benchmarks
	@tools/install-deps.sh bench
	@tools/build.sh release vigil benchmarks
	@tools/bench.sh

fuzz: install-build install-lint ## fuzz each reader for FUZZ_SECONDS (60) from its corpus
	@tools/build.sh dev fuzz_targets
	@tools/fuzz.sh $(FUZZ_SECONDS)

nightly: install-build install-lint ## what takes long: fuzzing for NIGHTLY_FUZZ_SECONDS (600) a target, 2000 kills, all benchmarks
	@tools/install-deps.sh bench
	@tools/nightly.sh

accuracy: install-build ## how often the verdict is right: prints the table, writes doc/accuracy.md and src/catalogue/figures
	@tools/build.sh release accuracy
	@tools/accuracy.sh

heldout: install-build ## the first table of doc/accuracy.md: each task, family and framework held out of the fit in turn
	@tools/build.sh release accuracy
	@tools/accuracy.sh --held-out

fit: install-build ## fits the weights of the causes to all labelled runs; writes src/catalogue/rows/weights.toml
	@tools/build.sh release fit
	@tools/fit.sh

twins: install-build ## the same TWINS (40) runs in every style of writing: prints how many verdicts stay the same
	@tools/build.sh release accuracy scale_verdicts
	@tools/twins.sh $(TWINS)

remedies: install-build ## train each faulty run of the gym again with its first remedies (needs PyTorch); writes the table of doc/accuracy.md
	@tools/build.sh release vigil
	@tools/remedies.sh $(JOBS)

golden: install-build ## rewrite expected outputs and the generated parts of documents; review the diff
	@tools/build.sh test
	@tools/golden.sh

clean: ## remove all that was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install-build:
	@tools/install-deps.sh build

install-lint:
	@tools/install-deps.sh lint
