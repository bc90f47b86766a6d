# Two commands do everything: `make backfill` (decode the sample library, or LIBRARY=… to OUTPUT=…) and `make test`.
# Everything that they need is set up on the way, once; both can be run again at any time.

PYTHON  ?= python3.11
VENV    ?= .venv
LIBRARY ?= samples/library
OUTPUT  ?= out
ARGS    ?=
OFFICE  ?=
FOLDER  ?= $(LIBRARY)
CORPUS  ?=
MOMENTS ?= 20
N       ?= 2000
SEED    ?= 1
TRUSTGRAPH ?= 2.11.1

BIN      = $(VENV)/bin
STAMPS   = $(VENV)/stamps
KERNEL   = transforms/partition/pdf_kernel
PIP      = $(BIN)/pip --disable-pip-version-check
DEBIAN   = requirements/debian.txt $(if $(OFFICE),requirements/debian-office.txt)

.PHONY: backfill test test-flink fetch-flink flink-up flink-down kill-matrix lint format setup flink-tools lock dist wheel compare-pdf compare-ranges
.PHONY: trustgraph-up trustgraph-down test-trustgraph fetch-trustgraph compare-trustgraph trustgraph-tools
.PHONY: check-kernel-memory identical bench lock-bench fuzz soak clean

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
test-flink: fetch-flink
	$(BIN)/pytest -m flink --durations=0 $(ARGS)

# Brings what a cluster is made of, and no more.
fetch-flink: setup flink-tools
	$(BIN)/python -m pipeline.flink.cluster fetch

flink-tools:
	@sh requirements/debian.sh requirements/debian-flink.txt

# A TrustGraph on this machine, without language models: what it is made of is brought once, to ~/.cache/universal-decoder.
# TRUSTGRAPH=2.9.12 takes the last version that TrustGraph's own streaming decoder runs with. trustgraph-down ARGS=--wipe deletes its data.
trustgraph-up: setup trustgraph-tools
	$(STACK) up --version $(TRUSTGRAPH)

trustgraph-down:
	$(STACK) down --version $(TRUSTGRAPH) $(ARGS)

# Starts one of its own, and needs none that runs. Not in parallel: it has 1 GB, and the tests kill its gateway.
test-trustgraph: fetch-trustgraph
	TRUSTGRAPH=$(TRUSTGRAPH) $(BIN)/pytest -m trustgraph --durations=0 $(ARGS)

# Documents of FOLDER by path and out of its library, then back into it, and each chunk's way up to its document.
compare-trustgraph: trustgraph-up
	PYTHONPATH=.:tests/end_to_end:tests/object_store:tests/sinks:tests/trustgraph $(BIN)/python tests/trustgraph/compare_library.py \
	  "$(FOLDER)" --stack .make/trustgraph/$(TRUSTGRAPH) $(ARGS)

fetch-trustgraph: setup trustgraph-tools
	$(STACK) fetch --version $(TRUSTGRAPH)

STACK = PYTHONPATH=.:tests/object_store $(BIN)/python tests/trustgraph/stack.py

# Debian would start a broker for all of the machine at once: not in runlevel 1.
trustgraph-tools:
	@RUNLEVEL=1 sh requirements/debian.sh requirements/debian-trustgraph.txt

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

LOCKING  = --extra build --extra aws --extra trustgraph --extra test --extra lint --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate --no-header

dist: setup
	$(PIP) install --quiet build==1.6.1
	$(BIN)/python -m build --no-isolation

# For this machine's Python and kind of processor, with the PDF kernel compiled: for a worker image without a compiler.
wheel: setup
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# All elements of the PDFs below FOLDER, and of 500 damaged copies, with the PDF kernel and without: ARGS='--times' for CPU seconds.
compare-pdf: setup
	$(BIN)/python benchmarks/compare_pdf.py $(FOLDER) --mutations 500 $(ARGS)

# Whether the accelerations change anything, over the documents below CORPUS (default: the sample library) and 200 generated ones: whole
# elements of unstructured and the job's own (with their ids), PDFs without the kernel and the rest as well, and the job's elements against
# plain partition()'s, each intended difference by its name.
identical: setup
	$(BIN)/python -W ignore benchmarks/identical.py "$(or $(CORPUS),$(LIBRARY))" --generated 200
	$(BIN)/python -W ignore benchmarks/identical.py "$(or $(CORPUS),$(LIBRARY))" --generated 200 --through decoder
	$(BIN)/python -W ignore benchmarks/compare_pdf.py "$(or $(CORPUS),$(LIBRARY))" --plain
	$(BIN)/python -W ignore benchmarks/intended_differences.py "$(or $(CORPUS),$(LIBRARY))" --generated 200

# Against what people would use instead, in environments of their own (1.5 GB): writes the tables and the chart of the README.
# CORPUS=… takes other documents than the sample library and generated ones.
bench: setup $(VENV)-bench/installed $(VENV)-bench-docling/installed
	$(BIN)/python -W ignore benchmarks/bench.py $(if $(CORPUS),--corpus "$(CORPUS)") --peers $(VENV)-bench --docling $(VENV)-bench-docling $(ARGS)

$(VENV)-bench/installed $(VENV)-bench-docling/installed: $(VENV)-%/installed: requirements/%.txt
	$(PYTHON) -m venv --clear $(VENV)-$*
	$(VENV)-$*/bin/pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r $<
	@touch $@

lock-bench: setup
	$(PIP) install --quiet uv==0.13.9
	$(BIN)/uv pip compile --quiet requirements/bench.in -c requirements/light.txt $(LOCKING_BENCH) --override requirements/light-overrides.txt -o requirements/bench.txt
	$(BIN)/uv pip compile --quiet requirements/bench-docling.in $(LOCKING_BENCH) -o requirements/bench-docling.txt

LOCKING_BENCH = --python-version 3.11.2 --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate --no-header

# All commits of the PDFs below FOLDER, in ranges of pages (ARGS='--pages 3 --strategy fast') and as a whole, byte for byte.
compare-ranges: setup
	$(BIN)/python benchmarks/compare_ranges.py $(FOLDER) $(ARGS)

# The kernel's tests with a kernel that reports each read and write outside of its memory, and each after its end (gcc's AddressSanitizer).
# First of all, that they would run with it: without a compiled kernel they are skipped.
SANITIZED = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
  PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONPATH=build/sanitized/lib
check-kernel-memory: setup
	KERNEL_FLAGS="-fsanitize=address -fno-omit-frame-pointer -g -O1" $(BIN)/python setup.py -q build --build-base build/sanitized --build-lib build/sanitized/lib
	$(SANITIZED) $(BIN)/python -c "from transforms.partition.pdf_kernel import tokens; assert 'sanitized' in tokens.__file__, tokens.__file__"
	$(SANITIZED) $(BIN)/pytest -p no:cacheprovider --timeout 1800 -o pythonpath=tests/partition/pdf_kernel tests/partition/pdf_kernel $(ARGS)

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-bench-docling build dist $(KERNEL)/*.so *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
