//! The real binary, from outside: every face, every refusal, every crash.
//!
//! Each test starts its own gateway on its own home and port, so all of them run at once.
//! A test of a refusal has a positive control and asserts that nothing changed.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "black-box tests start real processes, look at the real clock and say what they saw"
)]

mod abuse;
mod abuse_host;
mod access;
mod acp;
mod agent_tools;
mod aimock;
mod arguments;
mod artifacts;
mod artifacts_url;
mod audit;
mod backup;
mod boundaries;
mod chat_cli;
mod chat_delete;
mod chat_http;
mod chat_live;
mod chat_outcomes;
mod chat_sessions;
mod chat_socket;
mod chat_terminal;
mod chats;
mod code;
mod config_host;
mod connect;
mod contract;
mod contract_host;
mod contract_url_fetch;
mod contract_web;
mod contract_web_search;
mod crash;
mod cron;
mod daemon;
mod disk_use;
mod docs;
mod doctor;
mod documents;
mod entry_points;
mod escape;
mod everyday;
mod failures;
mod federation;
mod full_disk;
mod harness;
mod homes;
mod hostile_model;
mod http;
mod interfaces;
mod interfaces_artifacts;
mod interfaces_host;
mod large_results;
mod lockout;
mod maintenance;
mod mcp;
mod mcp_client;
mod memory;
mod models_add;
mod nodes;
#[path = "../npm.rs"]
mod npm;
mod oauth;
mod openai;
mod openapi;
mod origin;
mod overview;
mod page;
mod path;
mod policy_host;
mod providers;
mod races;
mod resources;
mod rfc6455;
mod schemas;
mod servers_catalogue;
mod servers_cli;
mod servers_http;
mod service;
mod skills;
mod socket;
mod sql;
mod ssrf;
mod ssrf_names;
mod ssrf_redirects;
mod ssrf_secrets;
mod ssrf_spellings;
mod telemetry;
mod terminals;
mod tls;
mod token_leak;
mod tool_request;
mod upgrade;
mod workspace_socket;
