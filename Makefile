# `make help` lists what there is; every target says in its own line what it does.

TARGET := $(or $(CARGO_TARGET_DIR),target)
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)

# Real clients of ACP, MCP and of OpenAI's format, real ACP agents and MCP servers, for the black-box tests, exactly as the lock files name them.
CLIENTS := tests/acp-client/node_modules/.package-lock.json tests/mcp-client/node_modules/.package-lock.json tests/mcp-servers/node_modules/.package-lock.json tests/openai-client/node_modules/.package-lock.json tests/model-server/node_modules/.package-lock.json

# The official MCP suite. It needs a newer Node than most machines have.
CONFORMANCE_VERSION := 0.2.0-alpha.12
NODE_VERSION := 22
SUITE := $(abspath $(TARGET))/conformance
FIXTURE := tests/conformance/node_modules/.package-lock.json

# A small real model and the server of llama.cpp, from PyPI.
MODEL := $(abspath $(TARGET))/test-model

ifdef CI
export CARGO_INCREMENTAL := 0
endif

.DEFAULT_GOAL := help
.PHONY: help up vectors test bench fmt lint conformance deny test-model

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: vectors ## Build the gateway and start it on this machine
	cargo build --profile quick --locked -p manyhands
	$(TARGET)/quick/manyhands up

vectors: ## Fetch word vectors, so that tools are found by meaning too
	@tools/vectors $(TARGET)/vectors

test: lint $(CLIENTS) ## Check everything: format, lints, all tests
	cargo test --workspace --locked --doc
ifneq ($(NEXTEST),)
	cargo nextest run --workspace --locked
else
	cargo test --workspace --locked --lib --bins --tests
endif

bench: ## Measure speed and size, release build
	cargo build --release --locked -p manyhands
	cargo run --release --locked -p manyhands-bench -- $(TARGET)/release/manyhands

fmt: ## Format all code
	cargo fmt --all

lint: ## Check format and lints, change nothing
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

conformance: $(SUITE)/.ready-$(CONFORMANCE_VERSION) $(FIXTURE) ## Run the official suites against a gateway of its own; DATA=folder adds those whose data lie there
	cargo build --locked -p manyhands
	cargo build --locked -p manyhands-upstream --example conformance
	tests/conformance/run $(TARGET)/debug/manyhands $(SUITE)
	tests/mcp-servers/conformance $(TARGET)/debug/examples/conformance $(SUITE)
ifdef DATA
	tests/conformance/jsonpath $(TARGET)/debug/manyhands $(DATA)/jsonpath/cts.json
endif

test-model: $(MODEL)/.ready ## Check the whole way to a small real model, which is installed first
	cargo build --locked -p manyhands
	$(MODEL)/bin/python tests/model/run $(TARGET)/debug/manyhands

deny: ## Check licences and banned crates
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is missing; install it with: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check licenses bans sources

$(CLIENTS) $(FIXTURE): tests/%/node_modules/.package-lock.json: tests/%/package-lock.json
	# `npm ci` refuses a lock file whose packages for other systems the registry does not offer; `install` keeps to it all the same.
	cd tests/$* && { npm ci --no-audit --no-fund 2>/dev/null || npm install --no-save --no-audit --no-fund; }
	touch $@

$(SUITE)/.ready-$(CONFORMANCE_VERSION):
	mkdir -p $(SUITE)
	cd $(SUITE) && echo '{ "private": true }' > package.json
	cd $(SUITE) && npm install --no-audit --no-fund node@$(NODE_VERSION) @modelcontextprotocol/conformance@$(CONFORMANCE_VERSION)
	touch $@

$(MODEL)/.ready: tests/model/requirements.txt
	python3 -m venv $(MODEL)
	$(MODEL)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps -r $<
	touch $@
