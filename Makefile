# The two commands of a newcomer are `make demo` and `make test`; both make their own environment in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Says whether a Docker daemon answers; without one the demo needs the libraries of the tasks themselves.
DOCKER := $(shell docker version --format '{{.Server.Version}}' >/dev/null 2>&1 && echo yes)

# What the scripted model of the demo is asked: it answers two well, one in part, one wrongly, and one is cut short.
DEMO   := dpo-preference-loss step-length-prompt-construction empathy-gap-delta simpo-loss \
	nsa-selected-and-sliding-attention

# Tests at a time: one more than cores, because tests wait for processes that they start.
JOBS   ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 1) + 1 )))
# Whoever runs out of tests takes some of another: modules mostly stay together, and nobody waits at the end.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal

# Commands that tests start are compiled once, also on a machine that is set to keep no bytecode.
export PYTHONDONTWRITEBYTECODE :=

# What `make test-fast` runs; FAST="not docker" adds the slow ones.
FAST   ?= not docker and not slow

.PHONY: demo test test-fast test-all test-agents lint layers docs bench clean

demo: $(VENV)/$(if $(DOCKER),base,local).installed
	@echo "== the golden files: every instance must pass"
	$(BIN)/lmrbench evaluate gold --out runs/demo-gold
	@echo "== answers of an imaginary model: good ones, wrong ones, and rows that cannot be read (exit status 1 says so)"
	$(BIN)/lmrbench evaluate benchmark/examples/predictions.jsonl --out runs/demo-examples || test $$? -eq 1
	@echo "== both side by side"
	$(BIN)/lmrbench report runs/demo-gold runs/demo-examples --out runs/demo-report.md
	@echo "== a model from nothing to a report: a scripted one, which has ready answers to five instances"
	$(BIN)/python benchmark/examples/scripted_model.py -- $(BIN)/lmrbench run --model scripted --base-url {url} \
		$(DEMO:%=--instance %) --out runs/demo-model

# The extra `agents`, apart: its libraries do not agree with the others of this environment.
MINI    = $(shell $(BIN)/python -c 'import tomllib; print(*map(repr, tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["agents"]))')

# Everything; of the benchmark's own tasks, those that changed since they were proved are checked whole.
test: $(if $(LINTED),$(VENV)/dev.installed,lint)
	$(PYTEST)

# Without Docker, and without the tests marked slow, in about three minutes on two cores.
test-fast: $(VENV)/dev.installed
	$(PYTEST) -m "$(FAST)"

# Every task whole, with all its variants: about an hour.
test-all: lint
	LMRBENCH_IN_DEPTH=1 $(PYTEST)

# What others wrote, for real: OpenHands in an image of its own, mini-swe-agent in a folder of its own, and Inspect.
# What is missing fails here; everywhere else it is skipped.
test-agents: $(VENV)/dev.installed $(VENV)/agents.installed
	$(BIN)/lmrbench agent image openhands
	LMRBENCH_TEST_AGENTS=1 LMRBENCH_AGENTS_PATH=$(CURDIR)/$(VENV)/agents $(BIN)/pytest -m agents

lint: $(VENV)/dev.installed layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

layers: $(VENV)/dev.installed
	PYTHONPATH=.:evaluate $(BIN)/lint-imports --no-cache --no-logo

docs: $(VENV)/docs.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

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

$(VENV)/docs.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[docs]'
	@touch $@

$(VENV)/local.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[local]'
	@touch $@

$(VENV)/agents.installed: $(BIN)/python pyproject.toml
	rm -rf $(VENV)/agents
	$(BIN)/pip install --quiet --target $(VENV)/agents $(MINI)
	$(BIN)/pip install --quiet -e '.[inspect]'
	@touch $@

$(VENV)/dev.installed: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $@
