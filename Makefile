# `make run` starts the demo, `make test` runs the tests; both set up what they need inside this folder.

SHELL := /bin/sh
PY := .venv/bin/python
TEST := $(PY) -m pytest
# Most tests wait for processes, so four files at a time keep two processors busy. In the order of their names the many
# short files of tests/unit come last, and no long one begins when the others are done.
SIDE_BY_SIDE := -n 4 --dist loadfile --no-loadscope-reorder
# In CI the tests that failed run once more, alone (scripts/retry_alone.py). Exit code 1 of pytest: tests failed.
ifdef BETCODE_RETRY_ALONE
RETRY := || { test $$? -eq 1 && $(PY) scripts/retry_alone.py; }
endif
export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export BUF_CACHE_DIR ?= $(CURDIR)/.cache/buf

# A moved environment does not work: its scripts contain the path of the old folder.
ifneq ($(shell cat .venv/.place 2>/dev/null),$(CURDIR))
MOVED := moved
endif

.PHONY: help run test test-fast test-pythons test-wide check coverage bench soak proto proto-check lint format behaviours wheel readme reference pictures clean moved

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: .venv/.for-use  ## start a daemon and try the demo agent (set-up included)
	@exec $(PY) -m betcode.cli.first_run

# Write bytecode even if the environment disables it.
test test-fast test-wide: export PYTHONDONTWRITEBYTECODE =
test: .venv/.for-work  ## run the tests, except those of test-wide (set-up included)
	@$(MAKE) --no-print-directory .cache/tests-compiled
	$(TEST) $(SIDE_BY_SIDE) -m "not wide" $(RETRY)

# The first time, two processes compile all tests; else each of the four would do it. Later they compile what changed.
.cache/tests-compiled:
	@echo "betcode: compiling the tests; this takes about half a minute ..."
	@$(PY) -m pytest --collect-only -qq tests/unit >/dev/null & \
	$(PY) -m pytest --collect-only -qq --ignore=tests/unit >/dev/null; wait
	@touch $@

test-fast: .venv/.for-work  ## run the unit and contract tests, while you work
	$(TEST) -q -n 2 --dist loadfile -m "not wide" tests/unit tests/contract

test-pythons: .venv/.for-work  ## run the fast tests on the other Pythons of this machine
	$(PY) scripts/pythons.py $(PYTHONS)

test-wide: .venv/.for-work  ## run the tests that need programs from npm or a sandbox, and the large matrices
	@$(MAKE) --no-print-directory .cache/tests-compiled
	$(TEST) $(SIDE_BY_SIDE) -m wide $(RETRY)

check: lint proto-check  ## run everything that must pass before a change is merged
	@$(MAKE) --no-print-directory test wheel readme

coverage: .venv/.for-work  ## measure which code no test runs (slower than make test)
	@$(MAKE) --no-print-directory test TEST="$(TEST) --cov=betcode --cov-report="
	@.venv/bin/coverage report > .cache/uncovered.txt
	@echo "coverage: $$(.venv/bin/coverage report --format=total) %; uncovered lines: .cache/uncovered.txt"

lint: .venv/.for-work  ## check the lock file, formatting, lint, types and import layers
	env -u UV_DEFAULT_INDEX -u UV_INDEX_URL -u UV_INDEX .venv/bin/uv lock --quiet --check --no-python-downloads
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports --cache-dir .cache/import-linter
	$(PY) scripts/reference.py --check
	$(PY) scripts/changelog.py --check

format: .venv/.for-work  ## format the code and apply automatic fixes
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	.venv/bin/buf format --write

proto: .venv/.for-work  ## generate code from proto/
	$(PY) scripts/proto_code.py

proto-check: .venv/.for-work  ## check that generated code is current and proto/ is compatible
	.venv/bin/buf build
	.venv/bin/buf format --diff --exit-code
	$(PY) scripts/proto_code.py --check
	$(PY) scripts/proto_compat.py
	$(PY) scripts/proto_rules.py

behaviours: .venv/.for-work  ## list the behaviours that no test covered in the last full run
	$(PY) scripts/behaviours.py

bench: .venv/.for-work  ## run the benchmarks and compare with the targets
	$(PY) -m bench

soak: .venv/.for-work  ## run the robustness tests for long (BETCODE_ROUNDS, BETCODE_SOAK_MINUTES) and 1,000 examples per property
	BETCODE_SOAK=1 $(TEST) -s tests/robustness
	BETCODE_SOAK=1 $(TEST) -q -n 2 -m hypothesis tests/unit tests/contract tests/integration

wheel: .venv/.for-work  ## build the wheel, install it in a new environment and use it
	$(PY) scripts/try_wheel.py

readme: .venv/.for-work  ## check that the commands in README.md exist
	$(PY) scripts/readme.py

reference: .venv/.for-work  ## write docs/commands.md and the tables of docs/operations.md from the code
	$(PY) scripts/reference.py

pictures: .venv/.for-work  ## render the pictures of README.md
	$(PY) scripts/pictures.py

clean:  ## remove everything that set-up and tests made here
	rm -rf .venv .cache dist build

.venv/.for-use: uv.lock pyproject.toml scripts/setup.sh $(MOVED)
	@sh scripts/setup.sh use

.venv/.for-work: uv.lock pyproject.toml scripts/setup.sh $(MOVED)
	@sh scripts/setup.sh work
