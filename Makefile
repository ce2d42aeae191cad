# `make help` lists the targets.

TARGET := $(or $(CARGO_TARGET_DIR),target)
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)

# The product as the tests build it. Cargo unifies the features of everything it builds together: `cargo build -p manyhands`
# selects other features of tokio than the tests do, and so compiles nearly everything again. An example makes cargo
# select the features that tests need, too.
BINARY := $(abspath $(TARGET))/debug/manyhands
BUILD := cargo build --workspace --locked --bin manyhands --example conformance

# Third-party clients, agents and servers that tests run, from npm, as the lock files pin them.
PACKAGES := $(patsubst %/package-lock.json,%/node_modules/.installed,$(filter-out tests/interop/%,$(wildcard tests/*/package-lock.json)))

# The official MCP suite. It needs a newer Node.js than most machines have.
CONFORMANCE_VERSION := 0.2.0-alpha.12
NODE_VERSION := 22
SUITE := $(abspath $(TARGET))/conformance

# The page: a prebuilt one that MANYHANDS_PAGE names, or built here. Development builds do without; what people use
# does not (see crates/page/build/source.rs).
NPM := $(and $(wildcard web/package.json),$(shell command -v npm 2>/dev/null))
PAGE := $(if $(MANYHANDS_PAGE),,$(if $(NPM),web/dist/.built))
PAGE_SOURCES := $(shell find web/src web/guide web/public web/worker web/tools web/index.html web/*.js web/*.ts web/package.json docs/guide docs/*.md -type f 2>/dev/null)
PAGE_CHECKED := $(if $(NPM),web/node_modules/.checked)
PAGE_TESTS := $(shell find web/tests web/browser web/*.json docs/openapi.json docs/protocol.json -type f 2>/dev/null)

# The chat platforms' own libraries, from PyPI.
PLATFORMS := $(abspath $(TARGET))/platforms

# Third-party clients and servers, from PyPI and npm.
INTEROP := $(abspath $(TARGET))/interop
# Suites that `make test` runs: one per protocol. Those in Node.js share one installation.
INTEROP_CI := acp mcp_node openapi v1_node ws_node ws_python

# A small real model and the server of llama.cpp, from PyPI.
MODEL := $(abspath $(TARGET))/test-model

# Nothing is compiled twice there, and nobody attaches a debugger.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := false
endif

.DEFAULT_GOAL := help
.PHONY: help up dist test-dist test-packaging page page-required page-check packages vectors test browser screenshots bench fmt lint conformance interop interop-ci interop-newer platforms deny test-model fuzz

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: page-required ## Build the gateway and start it on this machine
	@$(MAKE) --no-print-directory -j2 vectors page
	cargo build --profile quick --locked -p manyhands
	$(TARGET)/quick/manyhands up

vectors: ## Fetch word vectors, so that tools are found by meaning too
	@tools/vectors $(TARGET)/vectors

page: $(PAGE) ## Build the page that the gateway serves

page-required:
	@tools/page-required "$(MANYHANDS_PAGE)" "$(NPM)"

# DIST_PROFILE=quick compiles faster, to try the packaging. DIST_PROGRAM=file packs a program that is compiled already.
dist: page-required $(PAGE) ## Build all packages of a release into target/dist
	@packaging/dist.sh $(TARGET)

test-dist: web/node_modules/.installed tests/model-server/node_modules/.installed ## Install each package of target/dist in clean systems and try it there (as root)
	@packaging/installs/run $(TARGET)

test-packaging: ## Check the packaging scripts with a program of a few lines
	@cd packaging && python3 -m unittest discover --quiet --start-directory tests --top-level-directory .

page-check: $(PAGE_CHECKED) ## Check the page: types, lints, unit tests

packages: $(PACKAGES) ## Install the third-party clients and servers that the tests run
	tests/mcp-servers/python $(TARGET) >/dev/null
	tests/interop/run --install $(INTEROP) $(INTEROP_CI)

test: $(PAGE) ## Check everything: format, lints, all tests
	@$(MAKE) --no-print-directory -j3 lint page-check packages test-packaging
ifneq ($(NEXTEST),)
	cargo nextest run --workspace --locked
else
	cargo test --workspace --locked --lib --bins --tests
endif
	@$(MAKE) --no-print-directory browser interop-ci

browser: $(PAGE) $(if $(PAGE),tests/mcp-servers/node_modules/.installed) ## Check the page in a real browser against the real binary
ifneq ($(PAGE),)
	$(BUILD)
	cd web && MANYHANDS_BIN=$(BINARY) npm run browser
else
	@echo "Node.js is missing, so there is no page to check in a browser"
endif

screenshots: $(PAGE) ## Take pictures of every page, dark and light, desktop and phone, into web/screenshots
	$(BUILD)
	cd web && MANYHANDS_BIN=$(BINARY) npm run screenshots

bench: $(PAGE) ## Measure speed and size, release build
	cargo build --release --locked -p manyhands
	cargo run --release --locked -p manyhands-bench -- $(TARGET)/release/manyhands
ifneq ($(PAGE),)
	cd web && MANYHANDS_BIN=$(abspath $(TARGET))/release/manyhands npm run load
endif

fuzz: ## Search for inputs that break parsers of untrusted input; FUZZ_SECONDS=20 for each of them
	tools/fuzz $(TARGET)

# rustfmt does not follow modules that a build script declares, as it does for each tool.
TOOLS := $(wildcard crates/tools/src/*/*.rs)

fmt: ## Format all code
	cargo fmt --all -- $(TOOLS)

# The page comes first: the build script of the crate that embeds it must not see it half written.
# Without make's job server: cargo decides itself how many compilers it starts.
lint: | $(PAGE) ## Check format and lints, change nothing
	cargo fmt --all -- --check $(TOOLS)
	env -u MAKEFLAGS cargo clippy --workspace --all-targets --locked -- -D warnings

conformance: $(SUITE)/.ready-$(CONFORMANCE_VERSION) tests/conformance/node_modules/.installed ## Run the official suites against a gateway of its own; DATA=folder adds those whose data lie there
	$(BUILD)
	tests/conformance/run $(BINARY) $(SUITE)
	tests/mcp-servers/conformance $(TARGET)/debug/examples/conformance $(SUITE)
ifdef DATA
	tests/conformance/jsonpath $(BINARY) $(DATA)/jsonpath/cts.json
	$(MAKE) --no-print-directory platforms DATA=$(DATA)
endif

interop: ## Run third-party clients and servers against the binary; SUITES="v1_python acp" runs some of them
	$(BUILD)
	tests/interop/run $(BINARY) $(INTEROP) $(SUITES)

interop-ci: ## Run the quick suites of `make interop`
	@$(MAKE) --no-print-directory interop SUITES="$(INTEROP_CI)"

interop-newer: ## List third-party packages of `make interop` that have newer versions
	tests/interop/run --newer $(INTEROP)

platforms: $(PLATFORMS)/.ready ## Check requests of the channels against the platforms' published descriptions (DATA=folder) and their own libraries
	@test -n "$(DATA)" || { echo "name the folder with the descriptions: make platforms DATA=folder" >&2; exit 1; }
	rm -f $(PLATFORMS)/journal
	MANYHANDS_JOURNAL=$(PLATFORMS)/journal cargo test --locked --quiet -p manyhands-channels --lib
	$(PLATFORMS)/bin/python tests/platforms/validate/run $(DATA) $(PLATFORMS)/journal
	$(PLATFORMS)/bin/python tests/platforms/validate/second-opinion $(PLATFORMS)/journal
	cargo build --workspace --locked --example telegram --example slack --example discord
	for one in telegram slack discord; do $(PLATFORMS)/bin/python tests/platforms/second/$$one $(TARGET)/debug/examples/$$one || exit 1; done

test-model: $(MODEL)/.ready ## Check everything from the command line to a small real model, which is installed first
	$(BUILD)
	$(MODEL)/bin/python tests/model/run $(BINARY)

deny: ## Check licences, banned crates and, where the database is available, security advisories
	@tools/deny

$(PACKAGES) web/node_modules/.installed: %/node_modules/.installed: %/package-lock.json
	tools/npm-packages $*
	@touch $@

web/dist/.built: $(PAGE_SOURCES) web/node_modules/.installed
	@rm -f $@
	cd web && npm run build
	touch $@

web/node_modules/.checked: $(PAGE_SOURCES) $(PAGE_TESTS) web/node_modules/.installed
	cd web && npm run check && npm run lint && npm test
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
