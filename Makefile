PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
REPRODUCE := $(VENV)/.reproduce
DEV := $(VENV)/.dev
OLDEST := .venv-oldest
LEAGUE := .venv-league/league/bin/python -m benchmarks.league
PINS := pyproject.toml constraints.txt
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Small matrices: one BLAS thread per process is faster than many.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup test oldest lint league reproduce reproduction bench clean mnist

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: $(DEV) ## make .venv with everything that tests and lint need

test: $(DEV) ## run the tests and the doctests
	$(BIN)/python -m pytest -n auto --dist worksteal

oldest: $(OLDEST)/.made ## run the tests of the integrations with the oldest versions they claim
	$(OLDEST)/bin/python -m pytest -p no:cacheprovider -n auto --dist worksteal src/uncubed/integrations tests/integrations

lint: $(DEV) ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: $(REPRODUCE) ## the paper's experiments, quick setting: minutes, and a report
	$(BIN)/uncubed reproduce all --quick

reproduction: $(REPRODUCE) ## the same in full: 20 seeds, long horizons, the trade-off, into docs/reproduction
	$(BIN)/uncubed reproduce all --out docs/reproduction

bench: $(CORE) ## time per round, by decile
	$(BIN)/python benchmarks/flat.py --rounds 20000

league: $(CORE) ## the league: all systems on the same problems, nights, goes on where it was
	$(BIN)/python -m benchmarks.league install
	$(LEAGUE) run --systems fast --problems league --seeds 10 --evaluations 200 --jobs 2
	$(LEAGUE) overhead
	$(LEAGUE).bandits run --seeds 10 --problems priors --limit 600 --jobs 2
	$(LEAGUE).bandits run --seeds 3 --problems tables --limit 1800 --jobs 2
	for seeds in 1 2 3 4 5; do \
		$(LEAGUE) run --systems slow --problems long --seeds $$seeds --evaluations 200 --limit 1800 --jobs 2 && \
		$(LEAGUE) run --systems slow --problems slow --seeds $$seeds --evaluations 100 --limit 900 --jobs 2 || exit; \
	done
	$(LEAGUE) report

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) $(OLDEST) .venv-league build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

mnist: $(REPRODUCE) ## get and verify the MNIST images into data/mnist
	$(BIN)/python -m uncubed.experiments.mnist data/mnist

# Installed once; again only when the pins change.
$(DEV): $(PINS) | $(VENV)/.made
	@echo "Installing uncubed[dev] into $(VENV)"
	@$(INSTALL) -e '.[dev]'
	@touch $(CORE) $(REPRODUCE) $(DEV)

$(CORE): $(PINS) | $(VENV)/.made
	@echo "Installing uncubed into $(VENV)"
	@$(INSTALL) -e .
	@touch $(CORE)

$(REPRODUCE): $(PINS) | $(VENV)/.made
	@echo "Installing uncubed[reproduce] into $(VENV)"
	@$(INSTALL) -e '.[reproduce]'
	@touch $(CORE) $(REPRODUCE)

$(OLDEST)/.made: pyproject.toml constraints-oldest.txt
	@echo "Installing the oldest versions into $(OLDEST)"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt \
	  -e '.[optuna,sklearn,ray,dask]' 'psycopg[binary]' pytest pytest-xdist hypothesis threadpoolctl
	@touch $@

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "uncubed needs Python >= 3.11; there is no $(PYTHON). Try make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("uncubed needs Python >= 3.11; $(PYTHON) is %d.%d. Try make PYTHON=/path/to/python" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@
