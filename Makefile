PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
PINS := pyproject.toml constraints.txt
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Small matrices: one BLAS thread per process is faster than many.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup test lint reproduce bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: $(DEV) ## make .venv with everything that tests and lint need

test: $(DEV) ## run the tests and the doctests
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(DEV) ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: $(CORE) ## a short run on the example function, as a table
	$(BIN)/python examples/example_function.py

bench: $(CORE) ## time per round, by decile
	$(BIN)/python benchmarks/flat.py --rounds 20000

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Installed once; again only when the pins change.
$(DEV): $(PINS) | $(VENV)/.made
	@echo "Installing uncubed[dev] into $(VENV)"
	@$(INSTALL) -e '.[dev]'
	@touch $(CORE) $(DEV)

$(CORE): $(PINS) | $(VENV)/.made
	@echo "Installing uncubed into $(VENV)"
	@$(INSTALL) -e .
	@touch $(CORE)

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "uncubed needs Python >= 3.11; there is no $(PYTHON). Try make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("uncubed needs Python >= 3.11; $(PYTHON) is %d.%d. Try make PYTHON=/path/to/python" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@
