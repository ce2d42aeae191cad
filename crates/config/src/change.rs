//! Compares two sets of settings.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::path::KeyPath;
use crate::read::{effective, holds_local};
use crate::settings::Settings;
use crate::shape::{Kind, Shape, root};

/// The keys that differ. A list counts as one key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// All keys that differ, dotted.
    pub keys: Vec<String>,
    /// Those that take effect only after a restart.
    pub needs_restart: Vec<String>,
}

impl Changes {
    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Compares `old` and `new`.
pub fn diff(old: &Settings, new: &Settings) -> Changes {
    let mut changes = Changes::default();
    let (old, new) = (effective(old), effective(new));
    compare(
        root(),
        &KeyPath::default(),
        &old,
        &new,
        Restart::No,
        &mut changes,
    );
    changes
}

/// Keys that decide who can reach the gateway over the network, and what it can reach.
const NETWORK_KEYS: [&str; 6] = [
    "allowed_hosts",
    "allowed_origins",
    "egress",
    "insecure_remote",
    "listen",
    "public_url",
];

/// Returns the differing keys that affect this machine: the programs and files it uses, their sandbox, and from
/// where it can be reached. Settings from elsewhere, such as a backup, need the owner's consent to each of them.
pub fn machine_changes(old: &Settings, new: &Settings) -> Vec<String> {
    let (old, new) = (effective(old), effective(new));
    let mut keys = Vec::new();
    of_machine(root(), &KeyPath::default(), &old, &new, &mut keys);
    keys
}

/// Returns the differing keys that may only be changed on the gateway's machine.
pub fn local_changes(old: &Settings, new: &Settings) -> Vec<String> {
    let is_local = |key: &String| !NETWORK_KEYS.contains(&key.as_str()) || crate::is_local(key);
    let keys = machine_changes(old, new).into_iter();
    keys.filter(is_local).collect()
}

fn of_machine(shape: &Shape, at: &KeyPath, old: &Value, new: &Value, keys: &mut Vec<String>) {
    // A key that exists on one side only is compared with null.
    static NULL: Value = Value::Null;
    if old == new {
        return;
    }
    let exposing = NETWORK_KEYS.contains(&at.to_string().as_str());
    let is_list = matches!(shape.kind, Kind::List { .. });
    // A list is compared as a whole: its entries have no stable identity.
    if shape.local || exposing || is_list && holds_local(shape) {
        keys.push(at.to_string());
        return;
    }
    let sides = [old, new].map(Value::as_object);
    let names: BTreeSet<&String> = sides
        .iter()
        .flatten()
        .flat_map(|side| side.keys())
        .collect();
    for name in names {
        if let Some(child) = shape.child(name) {
            let [old, new] = sides.map(|side| side.and_then(|side| side.get(name)));
            let (old, new) = (old.unwrap_or(&NULL), new.unwrap_or(&NULL));
            of_machine(child, &at.join(name), old, new, keys);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Restart {
    No,
    Needed,
}

fn compare(
    shape: &Shape,
    at: &KeyPath,
    old: &Value,
    new: &Value,
    above: Restart,
    changes: &mut Changes,
) {
    if old == new {
        return;
    }
    // A marked table makes everything below it need a restart.
    let restart = if shape.restart {
        Restart::Needed
    } else {
        above
    };
    // Maps chosen by the owner count as one key: their entries come and go.
    if let (true, Value::Object(old), Value::Object(new)) = (shape.is_table(), old, new) {
        for (key, child) in shape.keys() {
            let side = |table: &serde_json::Map<_, _>| table.get(key).cloned().unwrap_or_default();
            compare(
                child,
                &at.join(key),
                &side(old),
                &side(new),
                restart,
                changes,
            );
        }
        return;
    }
    changes.keys.push(at.to_string());
    if restart == Restart::Needed {
        changes.needs_restart.push(at.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, keys: &[&str], needs_restart: &[&str]) {
        let read = |text| crate::check::check(text).unwrap().0;
        let changes = diff(&read(old), &read(new));
        assert_eq!(changes.keys, keys);
        assert_eq!(changes.needs_restart, needs_restart);
        assert_eq!(changes.is_empty(), keys.is_empty());
    }

    const TLS: &str = "tls = { cert = \"a\", key = \"b\" }";

    #[test]
    fn only_keys_read_at_the_start_need_a_restart() {
        check("", "", &[], &[]);
        check("", "listen = \"127.0.0.1:7717\"", &[], &[]);
        check("", "listen = \"a:1\"", &["listen"], &["listen"]);
        check(
            "",
            "insecure_remote = true",
            &["insecure_remote"],
            &["insecure_remote"],
        );
        check("", TLS, &["tls"], &["tls"]);
        check(
            TLS,
            "tls = { cert = \"c\", key = \"b\" }",
            &["tls.cert"],
            &["tls.cert"],
        );
        check(
            "",
            "[log]\nlevel = \"warn\"\nformat = \"json\"",
            &["log.format", "log.level"],
            &["log.format", "log.level"],
        );
        check(
            "allowed_hosts = [\"a\"]",
            "[limits]\ncalls_per_day = 3\n[[policy.rules]]\ndecision = \"ask\"",
            &["allowed_hosts", "limits.calls_per_day", "policy.rules"],
            &[],
        );
    }

    #[test]
    fn settings_that_are_reserved_to_the_machine_are_listed() {
        let check = |new: &str, keys: &[&str]| {
            let read = |text| crate::check::check(text).unwrap().0;
            assert_eq!(local_changes(&read(""), &read(new)), keys, "{new}");
        };
        check("[limits]\nresult_bytes = 2000", &[]);
        check("allowed_hosts = [\"a.example\"]", &[]);
        check("[node]\nsandbox = \"off\"", &["node"]);
        check("[mcpServers.x]\ncommand = \"sh\"", &["mcpServers"]);
    }

    #[test]
    fn settings_that_affect_the_machine_are_listed() {
        let check = |new: &str, keys: &[&str]| {
            let read = |text| crate::check::check(text).unwrap().0;
            assert_eq!(machine_changes(&read(""), &read(new)), keys, "{new}");
            assert!(machine_changes(&read(new), &read(new)).is_empty());
            assert_eq!(machine_changes(&read(new), &read("")), keys, "back: {new}");
        };
        check("", &[]);
        check("[limits]\nresult_bytes = 2000", &[]);
        check("[agents.x]\n[[policy.rules]]\ndecision = \"ask\"", &[]);
        check("listen = \"0.0.0.0:7717\"", &["listen"]);
        check("insecure_remote = true", &["insecure_remote"]);
        check("allowed_hosts = [\"evil.example\"]", &["allowed_hosts"]);
        check("workspace_root = \"/\"", &["workspace_root"]);
        check("[node]\nsandbox = \"off\"", &["node"]);
        check("[mcpServers.x]\ncommand = \"sh\"", &["mcpServers"]);
        check(TLS, &["tls"]);
    }
}
