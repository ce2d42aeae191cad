# `make help` lists what there is; every target says in its own line what it does.

TARGET := $(or $(CARGO_TARGET_DIR),target)
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)

# Real clients of MCP and of OpenAI's format for the black-box tests, exactly as the lock files name them.
CLIENTS := tests/mcp-client/node_modules/.package-lock.json tests/openai-client/node_modules/.package-lock.json

# The official MCP suite. It needs a newer Node than most machines have.
CONFORMANCE_VERSION := 0.2.0-alpha.12
NODE_VERSION := 22
SUITE := $(abspath $(TARGET))/conformance

ifdef CI
export CARGO_INCREMENTAL := 0
endif

.DEFAULT_GOAL := help
.PHONY: help up test bench fmt lint conformance deny

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## Build the gateway and start it on this machine
	cargo build --profile quick --locked -p manyhands
	$(TARGET)/quick/manyhands up

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

conformance: $(SUITE)/.ready-$(CONFORMANCE_VERSION) ## Run the official MCP suite against a gateway of its own
	cargo build --locked -p manyhands
	tests/conformance/run $(TARGET)/debug/manyhands $(SUITE)

deny: ## Check licences and banned crates
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is missing; install it with: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check licenses bans sources

$(CLIENTS): tests/%/node_modules/.package-lock.json: tests/%/package-lock.json
	cd tests/$* && npm ci --no-audit --no-fund
	touch $@

$(SUITE)/.ready-$(CONFORMANCE_VERSION):
	mkdir -p $(SUITE)
	cd $(SUITE) && echo '{ "private": true }' > package.json
	cd $(SUITE) && npm install --no-audit --no-fund node@$(NODE_VERSION) @modelcontextprotocol/conformance@$(CONFORMANCE_VERSION)
	touch $@
