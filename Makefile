# Newcomers start with `make demo` and `make test`; both create their own environment in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Installs into .venv; CI sets a faster one: "uv pip install".
INSTALL ?= $(BIN)/pip install
# Set if a Docker daemon answers; without one, the demo needs the libraries that the tasks import.
DOCKER := $(shell docker version --format '{{.Server.Version}}' >/dev/null 2>&1 && echo yes)

# Instances for the scripted model of the demo: two right answers, one partly right, one wrong, one cut short.
DEMO   := dpo-preference-loss step-length-prompt-construction empathy-gap-delta simpo-loss \
	nsa-selected-and-sliding-attention

# Parallel tests: one more than cores, because tests wait for processes that they start.
JOBS   ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 1) + 1 )))
# Idle workers take tests from others: modules mostly stay together, and no worker idles at the end.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal

# Compile the commands that tests start once, even on a machine configured to keep no bytecode.
export PYTHONDONTWRITEBYTECODE :=

# Selection of `make test-fast`; FAST="not docker and not nightly" adds the slow tests.
FAST   ?= not docker and not slow and not nightly

.PHONY: demo test test-fast test-minimum test-all test-agents lint layers stubs docs bench clean

demo: $(VENV)/$(if $(DOCKER),base,local).installed
	@echo "== about five minutes on two cores, and the first time as long again to install and to build an image"
	@echo "== the golden files: every instance must pass"
	$(BIN)/lmrbench evaluate gold --out runs/demo-gold > /dev/null
	@echo "== answers of an imaginary model: right ones, wrong ones, and unreadable rows (hence exit status 1)"
	$(BIN)/lmrbench evaluate benchmark/examples/predictions.jsonl --out runs/demo-examples > /dev/null || test $$? -eq 1
	@echo "== both side by side"
	$(BIN)/lmrbench report runs/demo-gold runs/demo-examples --out runs/demo-report.md
	@echo "== from a model to a report: a scripted model with ready answers to five instances"
	$(BIN)/python benchmark/examples/scripted_model.py -- $(BIN)/lmrbench run --model scripted --base-url {url} \
		$(DEMO:%=--instance %) --out runs/demo-model

# Everything; tasks of the benchmark are fully checked only if they changed since they were proved.
test: $(if $(LINTED),$(VENV)/dev.installed,lint)
	$(PYTEST) -m "not nightly"

# Without Docker, and without the tests marked slow.
test-fast: $(VENV)/dev.installed
	@echo "== about six minutes on two cores"
	$(PYTEST) -m "$(FAST)"

# The same with the oldest libraries that pyproject.toml allows, in an environment of its own.
test-minimum:
	$(PYTHON) -m venv build/minimum
	build/minimum/bin/pip install --quiet uv
	VIRTUAL_ENV=build/minimum build/minimum/bin/uv pip install --resolution lowest-direct -e '.[report,ray]'
	VIRTUAL_ENV=build/minimum build/minimum/bin/uv pip install -e '.[local]' \
		hypothesis libcst psutil 'pytest<9' pytest-timeout pytest-xdist selenium
	build/minimum/bin/pytest -n $(JOBS) --dist worksteal -m "$(FAST)"

# Every task in full, with all its variants: about an hour.
test-all: lint
	LMRBENCH_IN_DEPTH=1 $(PYTEST)

# Real third-party tools: agents and Harbor in images of their own, Inspect and TRL.
# These tests fail here if a tool is missing; elsewhere they are skipped.
test-agents: $(VENV)/dev.installed $(VENV)/agents.installed
	$(BIN)/lmrbench images build --agent mini-swe-agent
	$(BIN)/lmrbench images build --agent openhands
	$(BIN)/lmrbench images build --agent codex
	$(BIN)/lmrbench images build --agent claude-code
	LMRBENCH_TEST_AGENTS=1 $(BIN)/pytest -m agents

lint: $(VENV)/dev.installed layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

layers: $(VENV)/dev.installed
	PYTHONPATH=.:evaluate $(BIN)/lint-imports --no-cache --no-logo

# The types of the public names; a test compares them with the settings.
stubs: $(VENV)/dev.installed
	$(BIN)/python docs/stubs.py

docs: $(VENV)/docs.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

bench: $(VENV)/dev.installed
	$(BIN)/python tests/bench.py

clean:
	rm -rf $(VENV) runs lmr-bench build *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 4))' || { echo "Python 3.11.4 or newer is needed; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/base.installed: $(BIN)/python pyproject.toml
	$(INSTALL) --quiet -e .
	@touch $@

$(VENV)/docs.installed: $(BIN)/python pyproject.toml
	$(INSTALL) --quiet -e '.[docs]'
	@touch $@

$(VENV)/local.installed: $(BIN)/python pyproject.toml
	$(INSTALL) --quiet -e '.[local]'
	@touch $@

$(VENV)/agents.installed: $(BIN)/python pyproject.toml
	$(INSTALL) --quiet -e '.[inspect,train]'
	@touch $@

$(VENV)/dev.installed: $(BIN)/python pyproject.toml
	$(INSTALL) --quiet -e '.[dev]'
	@touch $@
