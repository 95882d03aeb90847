# Everything happens inside .venv; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

RESULTS ?= results/small

.PHONY: bench demo docs studio test lint imports types pytest dist lowest setup clean

setup: $(READY)

$(READY): setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing PyTorch, the solvers and tools into $(VENV), nowhere else. This takes some minutes, once."
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python .ci/install.py all,torch,dev
	touch $(READY)

demo: $(READY)
	$(BIN)/python examples/01_drawn_birds.py --report demo/report.html

# A model of handwritten digits in the browser, to be steered; Ctrl-C closes it.
studio: $(READY)
	$(BIN)/python examples/02_digits.py --report demo/digits.html --studio demo/studio

# The small suite on all installed solvers; started again, it goes on where it stopped.
bench: $(READY)
	$(BIN)/python -m benchmarks run --suite small --methods projected,compact,paper,search --certified --time-limit 5 \
	  --jobs 2 --out $(RESULTS)
	$(BIN)/python -m benchmarks report $(RESULTS)

# The site, in site/index.html; a broken link or an unknown name ends it.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: lint imports types docs pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Which room may import which: the contracts in pyproject.toml.
imports: $(READY)
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

pytest: $(READY)
	$(BIN)/pytest -n 2

# Wheel and sdist, built and tried in an empty environment.
dist:
	.ci/dist $(PYTHON)

# The core tests with the oldest versions that setup.cfg allows.
lowest:
	.ci/lowest $(PYTHON)

clean:
	rm -rf $(VENV) build demo dist site
