# From a bare checkout, with nothing but python3, pip's registry and make:
#   make demo    train, compare and explain rankers on built-in data; ends with a report
#   make test    the whole test suite
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check bench docs clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed-test
	$(BIN)/python -m pytest -n 2

check: .venv/installed-check
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

bench: .venv/installed-test
	$(BIN)/python -m benchmarks

docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf .venv .demo docs/_build

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(PIP) -e '.[report]'
	touch $@

.venv/installed-test: .venv/bin/python pyproject.toml
	$(PIP) -e '.[test]'
	touch $@ .venv/installed

.venv/installed-check: .venv/installed-test
	$(PIP) -e '.[check]'
	touch $@

.venv/installed-docs: .venv/installed-test
	$(PIP) -e '.[docs]'
	touch $@
