# make test        the whole test suite
# make reproduce   every cell of an experiment that has no record yet; CONFIG=paper (default) or builtin
# make bench       speed, side by side with other solvers
# make lint        style
# Each makes its own .venv when there is none. PYTHON chooses the interpreter it is made with.

PYTHON ?= python3
CONFIG ?= paper
RESULTS ?= results
BENCH ?=
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: test reproduce bench lint format clean

test: .venv/dev
	.venv/bin/python -m pytest

reproduce: .venv/run
	.venv/bin/pdmbench reproduce --config $(CONFIG) --results $(RESULTS)

bench: .venv/dev
	.venv/bin/python -m benchmarks $(BENCH)

lint: .venv/dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

format: .venv/dev
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

.venv/run: pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable .
	touch $@

.venv/dev: pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/run

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
