# The two commands of a newcomer are `make demo` and `make test`; both make their own environment in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Says whether a Docker daemon answers; without one the demo needs the libraries of the tasks themselves.
DOCKER := $(shell docker version --format '{{.Server.Version}}' >/dev/null 2>&1 && echo yes)

.PHONY: demo test lint bench clean

demo: $(VENV)/$(if $(DOCKER),base,local).installed
	@echo "== the golden files: every instance must pass"
	$(BIN)/lmrbench evaluate gold --out runs/demo-gold
	@echo "== answers of an imaginary model: good ones, wrong ones, and rows that cannot be read (exit status 1 says so)"
	$(BIN)/lmrbench evaluate benchmark/examples/predictions.jsonl --out runs/demo-examples || test $$? -eq 1
	@echo "== both side by side"
	$(BIN)/lmrbench report runs/demo-gold runs/demo-examples --out runs/demo-report.md

test: lint
	$(BIN)/pytest

lint: $(VENV)/dev.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev.installed
	$(BIN)/python tests/bench.py

clean:
	rm -rf $(VENV) runs lmr-bench build *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/base.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e .
	@touch $@

$(VENV)/local.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[local]'
	@touch $@

$(VENV)/dev.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[local,dev]'
	@touch $@
