# Two commands do everything: `make backfill` (decode the sample library, or LIBRARY=… to OUTPUT=…) and `make test`.
# Everything that they need is set up on the way, once; both can be run again at any time.

PYTHON  ?= python3.11
VENV    ?= .venv
LIBRARY ?= samples/library
OUTPUT  ?= out
ARGS    ?=
OFFICE  ?=

BIN      = $(VENV)/bin
STAMPS   = $(VENV)/stamps
PIP      = $(BIN)/pip --disable-pip-version-check
DEBIAN   = requirements/debian.txt $(if $(OFFICE),requirements/debian-office.txt)

.PHONY: backfill test lint format setup lock dist clean

backfill: setup
	$(BIN)/universal-decoder backfill --input "$(LIBRARY)" --output "$(OUTPUT)" $(ARGS)

test: setup
	$(BIN)/pytest -n 2 $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(STAMPS)/package
	@sh requirements/debian.sh $(DEBIAN)

# --no-deps: the lock is complete, and leaves out torch, which unstructured[all-docs] asks for (requirements/README.md).
$(STAMPS)/lock: requirements/light.txt
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) is not installed: install Python 3.11 (Debian: apt-get install python3.11-venv), or name one with PYTHON=…" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@echo "Installing 1.8 GB of packages into $(VENV), about 2 minutes…"
	$(PIP) install --quiet --no-deps --require-hashes -r requirements/light.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: $(STAMPS)/lock setup.py pyproject.toml
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lock: setup
	$(PIP) install --quiet uv==0.13.9
	$(BIN)/uv pip compile --quiet setup.py $(LOCKING) --override requirements/light-overrides.txt --python-version 3.11.2 -o requirements/light.txt
	$(BIN)/uv pip compile --quiet setup.py $(LOCKING) --python-version 3.11.7 -o requirements/full.txt

LOCKING  = --extra test --extra lint --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate --no-header

dist: setup
	$(PIP) install --quiet build==1.6.1
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
