//! Routes for administering the gateway itself, with their descriptions.

use super::admin::{calls, config, config_file, doctor, rule_templates, schema};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// Health, settings and call statistics.
pub(super) fn table() -> Vec<Route> {
    use Access::Owner;
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/doctor",
            Owner,
            "Run health checks, with a remedy for each problem",
        )
        .by(doctor::diagnose),
        op(
            "get",
            "/api/config/schema",
            Owner,
            "Get the JSON Schema of the settings",
        )
        .by(schema::get),
        op(
            "delete",
            "/api/config",
            Owner,
            "Remove a value, so that its default applies",
        )
        .query::<config::Unset>()
        .by(config::unset),
        op(
            "get",
            "/api/config/file",
            Owner,
            "Get the text of config.toml, with secrets masked",
        )
        .by(config_file::get),
        op(
            "put",
            "/api/config/file",
            Owner,
            "Replace the text of config.toml",
        )
        .request::<config_file::NewConfigFile>()
        .by(config_file::put),
        op(
            "post",
            "/api/config/check",
            Owner,
            "Check a text of config.toml",
        )
        .request::<config_file::ConfigToCheck>()
        .by(config_file::check),
        op(
            "post",
            "/api/config/reload",
            Owner,
            "Apply changes made in config.toml",
        )
        .by(config::reload),
        op(
            "get",
            "/api/rules/templates",
            Owner,
            "List ready-made rules",
        )
        .by(rule_templates::list),
        op(
            "get",
            "/api/usage/calls",
            Owner,
            "Get call counts and durations by day and tool",
        )
        .query::<calls::CallUsageQuery>()
        .by(calls::list),
    ]
}
