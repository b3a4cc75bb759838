# From a bare checkout, with nothing but python3, pip's registry and make:
#   make demo    train, compare and explain rankers on built-in data; ends with a report
#   make test    the whole test suite
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check bench docs clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

# The tests start hundreds of commands: without compiled modules each of them takes a second longer.
test: .venv/installed-test
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

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

# The neural rankers are tested with PyTorch's build for processors alone, where the package index at hand has one: the
# build with CUDA takes gigabytes. Without it their tests skip, and say why.
TORCH := $(if $(filter Linux,$(shell uname -s)),torch==2.13.0+cpu,torch>=2.3)

.venv/installed-test: .venv/bin/python pyproject.toml
	$(PIP) '$(TORCH)' || echo "no $(TORCH) here: tests of neural rankers will skip" >&2
	$(PIP) -e '.[test]'
	touch $@ .venv/installed

.venv/installed-check: .venv/installed-test
	$(PIP) -e '.[check]'
	touch $@

.venv/installed-docs: .venv/installed-test
	$(PIP) -e '.[docs]'
	touch $@
