# Every target needs only python3 with pip and venv; each fills .venv by itself and reuses it afterwards (`make bench`: .venv-bench).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup
BENCH := .venv-bench
PYTEST_ARGS ?=
MUTANTS_ARGS ?=
BENCH_ARGS ?=
REPRODUCTION := reproduction
REPRODUCE_ARGS ?=
comma := ,
# Tests and pages start hundreds of processes: without bytecode each of them would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup test soak mutants proofs lint format docs docs-serve docs-test bench demo reproduce clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# An editable install: only a change of pyproject.toml calls for another one.
# Spark is large, and runs nowhere but where Java is.
SPARK := $(if $(shell command -v java),$(comma)spark)
# What once had the peers in it is made anew: diffprivlib brings a package `tests`, which hides ours.
$(SETUP): pyproject.toml
	test ! -e $(VENV)/.bench || rm -rf $(VENV)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev$(SPARK)]'
	@touch $@

# The peers have an environment of their own, and what the benchmarks need of the library beside them: some bring packages
# under names of ours, or want older versions than the tests.
$(BENCH)/.setup: pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev,bench$(SPARK)]'
	@touch $@

setup: $(SETUP) ## create .venv with the library and the developer tools

test: $(SETUP) ## run the tests and doctests (PYTEST_ARGS="-k name" to choose)
	$(BIN)/python -m pytest -n auto --ignore=tests/pages $(PYTEST_ARGS)

soak: $(SETUP) ## run the long statistical tests
	$(BIN)/python -m pytest -n auto -m soak $(PYTEST_ARGS)

mutants: $(SETUP) ## put small mistakes into copies of the source: some test must notice each (MUTANTS_ARGS="--room noise")
	$(BIN)/python -m tests.mutants --jobs 2 $(MUTANTS_ARGS)

proofs: ## let Coq check the proofs (installs nothing; says which packages are missing)
	@$(PYTHON) proofs/check.py

lint: $(SETUP) ## ruff check, ruff format --check, mypy strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(SETUP) ## let ruff rewrite the files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A broken link, an unresolved reference or a public name without its words fails. The theme's advertisement is not shown.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
docs: $(SETUP) ## build the site into build/site
	$(MKDOCS) build --strict

docs-test: $(SETUP) ## run every block of every page, and open the site in a browser
	$(BIN)/python -m pytest -n auto -m "not soak" tests/pages $(PYTEST_ARGS)

docs-serve: $(SETUP) ## show the site on port 8000, built anew at each change
	$(MKDOCS) serve

bench: $(BENCH)/.setup ## measure against the peers, in .venv-bench; one JSON line per figure (BENCH_ARGS="gate")
	$(BENCH)/bin/python -m benchmarks $(BENCH_ARGS)

demo: $(SETUP) ## a gate and a top-c selection on data it makes
	$(BIN)/python examples/demo.py

reproduce: $(SETUP) ## run the paper's evaluation and write a report (REPRODUCE_ARGS="--data kosarak=FILE")
	$(BIN)/sparsegate reproduce --out $(REPRODUCTION) $(REPRODUCE_ARGS)
	@echo "Open $(abspath $(REPRODUCTION)/report.html) in a browser."

clean: ## remove .venv, .venv-bench, caches and build output
	$(MAKE) --no-print-directory -C proofs clean
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
