# Two commands do everything: `make backfill` (decode the sample library, or LIBRARY=… to OUTPUT=…) and `make test`.
# Everything that they need is set up on the way, once; both can be run again at any time.

PYTHON  ?= python3.11
VENV    ?= .venv
LIBRARY ?= samples/library
OUTPUT  ?= out
ARGS    ?=
OFFICE  ?=
FOLDER  ?= $(LIBRARY)
MOMENTS ?= 20
N       ?= 2000
SEED    ?= 1

BIN      = $(VENV)/bin
STAMPS   = $(VENV)/stamps
KERNEL   = transforms/partition/pdf_kernel
PIP      = $(BIN)/pip --disable-pip-version-check
DEBIAN   = requirements/debian.txt $(if $(OFFICE),requirements/debian-office.txt)

.PHONY: backfill test test-flink flink-up flink-down kill-matrix lint format setup flink-tools lock dist wheel compare-pdf compare-ranges
.PHONY: check-kernel-memory fuzz soak clean

backfill: setup
	$(BIN)/universal-decoder backfill --input "$(LIBRARY)" --output "$(OUTPUT)" $(ARGS)

test: setup
	$(BIN)/pytest -n 2 $(ARGS)

# Kills a run over the sample library at MOMENTS random moments (of SEED) and runs it again; each time it must end with the same bytes.
kill-matrix: setup
	PYTHONPATH=.:tests/end_to_end $(BIN)/python tests/end_to_end/kill_matrix.py --moments $(MOMENTS) --seed $(SEED)

# A Flink cluster on this machine: what it is made of is brought once, to ~/.cache/universal-decoder.
flink-up: setup flink-tools
	$(BIN)/python -m pipeline.flink.cluster up

flink-down:
	$(BIN)/python -m pipeline.flink.cluster down

# Starts clusters of its own, and needs none that runs. Not in parallel: each has 3 GB and two slots.
test-flink: setup flink-tools
	$(BIN)/python -m pipeline.flink.cluster fetch
	$(BIN)/pytest -m flink --durations=0 $(ARGS)

flink-tools:
	@sh requirements/debian.sh requirements/debian-flink.txt

# Thousands of broken documents, and ten thousand small ones, through the real job: see the programs' first lines.
fuzz: setup
	$(BIN)/python tests/hostile/mutations.py --documents $(N) --seed $(SEED) $(ARGS)

soak: setup
	$(BIN)/python tests/hostile/soak.py $(ARGS)

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

# The PDF kernel wants a compiler; without one the installation succeeds, and PDFs take several times as long.
$(STAMPS)/package: $(STAMPS)/lock setup.py pyproject.toml $(wildcard $(KERNEL)/*.pyx $(KERNEL)/*.pxd)
	@$(BIN)/python requirements/can_compile.py || sh requirements/debian.sh requirements/debian-build.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lock: setup
	$(PIP) install --quiet uv==0.13.9
	$(BIN)/uv pip compile --quiet setup.py $(LOCKING) --override requirements/light-overrides.txt --python-version 3.11.2 -o requirements/light.txt
	$(BIN)/uv pip compile --quiet setup.py $(LOCKING) --python-version 3.11.7 -o requirements/full.txt

LOCKING  = --extra build --extra aws --extra test --extra lint --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate --no-header

dist: setup
	$(PIP) install --quiet build==1.6.1
	$(BIN)/python -m build --no-isolation

# For this machine's Python and kind of processor, with the PDF kernel compiled: for a worker image without a compiler.
wheel: setup
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# All elements of the PDFs below FOLDER, and of 500 damaged copies, with the PDF kernel and without: ARGS='--times' for CPU seconds.
compare-pdf: setup
	$(BIN)/python benchmarks/compare_pdf.py $(FOLDER) --mutations 500 $(ARGS)

# All commits of the PDFs below FOLDER, in ranges of pages (ARGS='--pages 3 --strategy fast') and as a whole, byte for byte.
compare-ranges: setup
	$(BIN)/python benchmarks/compare_ranges.py $(FOLDER) $(ARGS)

# The kernel's tests with a kernel that reports each read and write outside of its memory, and each after its end (gcc's AddressSanitizer).
check-kernel-memory: setup
	KERNEL_FLAGS="-fsanitize=address -fno-omit-frame-pointer -g -O1" $(BIN)/python setup.py -q build --build-base build/sanitized --build-lib build/sanitized/lib
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	  PYTHONPATH=build/sanitized/lib \
	  $(BIN)/pytest -p no:cacheprovider -o pythonpath=tests/partition/pdf_kernel tests/partition/pdf_kernel $(ARGS)

clean:
	rm -rf $(VENV) build dist $(KERNEL)/*.so *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
