//! Pinned tool definitions: a server cannot change what a model sees without the owner's approval.

use std::collections::{BTreeMap, BTreeSet};

use manyhands_store::{Pin, PinnedDefinition};
use manyhands_upstream::{REQUEST, fingerprint, suspicious};
use serde_json::Value;

/// The most tools of one server that are stored.
const MAX_PINS: usize = 20_000;

/// When a new tool needs approval.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewTools<'a> {
    /// Always, after the first list.
    pub(super) hold: bool,
    /// In the first list, if its requests go to another server than this one.
    pub(super) server: Option<&'a str>,
}

/// Compares the tools a server lists with the stored definitions. The first list is accepted;
/// later, a changed definition is held next to the accepted one, and so is a new tool if the
/// settings say so. Held from the start: definitions with hidden characters, and tools that would
/// send their requests, and with them the connection's credentials, to an address that was never
/// accepted.
pub(super) fn settle(known: &[Pin], listed: &[Value], new: NewTools<'_>) -> Vec<Pin> {
    let first = known.is_empty();
    let places: BTreeSet<String> = match first {
        true => new.server.map(str::to_owned).into_iter().collect(),
        false => known.iter().filter_map(accepted_place).collect(),
    };
    let elsewhere = |definition: &Value| {
        let place = definition[REQUEST]["server"].as_str();
        place.is_some_and(|place| !places.contains(place))
    };
    let mut names = BTreeSet::new();
    let mut pins = Vec::new();
    for definition in listed {
        let Some(name) = definition["name"].as_str().filter(|name| !name.is_empty()) else {
            continue;
        };
        if !names.insert(name) {
            continue; // of two with the same name the first counts
        }
        let says = said(definition);
        let before = known.iter().find(|pin| pin.name == name);
        let (taken, held) = match before.and_then(|pin| pin.approved.clone()) {
            Some(taken) if taken.hash == says.hash => (Some(says), None),
            Some(taken) => (Some(taken), Some(says)),
            None if (new.hold && !first)
                || before.is_some()
                || hides(definition)
                || elsewhere(definition) =>
            {
                (None, Some(says))
            }
            None => (Some(says), None),
        };
        pins.push(Pin {
            name: name.to_owned(),
            approved: taken,
            pending: held,
            present: true,
        });
    }
    // Keep the accepted definition of a tool that disappeared, so that it cannot come back changed
    // as if it were new.
    let gone = known
        .iter()
        .filter(|pin| !names.contains(pin.name.as_str()));
    let gone: Vec<Pin> = gone
        .map(|pin| Pin {
            pending: None,
            present: false,
            ..pin.clone()
        })
        .filter(|pin| pin.approved.is_some())
        .collect();
    pins.extend(gone);
    pins.truncate(MAX_PINS);
    pins
}

/// The accepted address of a tool's requests.
fn accepted_place(pin: &Pin) -> Option<String> {
    let definition: Value = serde_json::from_str(&pin.approved.as_ref()?.definition).ok()?;
    Some(definition[REQUEST]["server"].as_str()?.to_owned())
}

/// Which held definitions the owner accepts.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcceptSelection<'a> {
    /// Only this tool; `None` accepts all.
    pub tool: Option<&'a str>,
    /// Hashes of the definitions the owner saw, by tool. A definition that changed since is not
    /// accepted.
    pub shown: Option<&'a BTreeMap<String, String>>,
}

/// Accepts held definitions and returns the names of their tools.
pub(super) fn accept(pins: &mut [Pin], wanted: &AcceptSelection<'_>) -> Vec<String> {
    let is_wanted = |pin: &&mut Pin| {
        let named = wanted.tool.is_none_or(|tool| tool == pin.name);
        let seen = |held: &PinnedDefinition| {
            let shown = wanted.shown.map(|shown| shown.get(&pin.name));
            shown.is_none_or(|shown| shown == Some(&held.hash))
        };
        // A definition that changed after the owner looked at it was not what they accepted.
        named && pin.pending.as_ref().is_some_and(seen)
    };
    let accepted = pins.iter_mut().filter(is_wanted).map(|pin| {
        pin.approved = pin.pending.take();
        pin.name.clone()
    });
    accepted.collect()
}

fn said(definition: &Value) -> PinnedDefinition {
    PinnedDefinition {
        hash: fingerprint(definition),
        definition: definition.to_string(),
    }
}

/// Returns whether a definition contains characters that a person would not see.
pub(super) fn hides(definition: &Value) -> bool {
    match definition {
        Value::String(text) => suspicious(text).is_some(),
        Value::Array(items) => items.iter().any(hides),
        Value::Object(map) => map
            .iter()
            // Keys too: a model reads the names of parameters.
            .any(|(key, value)| suspicious(key).is_some() || hides(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ANY: NewTools<'_> = NewTools {
        hold: false,
        server: None,
    };
    const HOLD: NewTools<'_> = NewTools {
        hold: true,
        server: None,
    };

    fn tool(name: &str, description: &str) -> Value {
        json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
    }

    fn shown(pins: &[Pin]) -> Vec<(&str, Option<&str>, bool)> {
        let text = |said: &PinnedDefinition| {
            if said.definition.contains("new") {
                "new"
            } else {
                "old"
            }
        };
        pins.iter()
            .map(|pin| {
                (
                    pin.name.as_str(),
                    pin.approved.as_ref().map(text),
                    pin.pending.is_some(),
                )
            })
            .collect()
    }

    #[test]
    fn the_first_list_is_taken_on_and_a_change_is_held() {
        let first = settle(&[], &[tool("a", "old"), tool("b", "old")], ANY);
        assert_eq!(
            shown(&first),
            [("a", Some("old"), false), ("b", Some("old"), false)]
        );
        let mut second = settle(&first, &[tool("a", "new"), tool("b", "old")], ANY);
        assert_eq!(
            shown(&second),
            [("a", Some("old"), true), ("b", Some("old"), false)]
        );
        assert_eq!(
            accept(
                &mut second,
                &AcceptSelection {
                    tool: Some("b"),
                    shown: None
                }
            ),
            [""; 0]
        );
        let stale = BTreeMap::from([("a".to_owned(), "another".to_owned())]);
        let wanted = AcceptSelection {
            tool: None,
            shown: Some(&stale),
        };
        assert_eq!(accept(&mut second, &wanted), [""; 0]);
        assert_eq!(accept(&mut second, &AcceptSelection::default()), ["a"]);
        assert_eq!(shown(&second)[0], ("a", Some("new"), false));
        let back = settle(&second, &[tool("a", "new")], ANY);
        assert_eq!(shown(&back)[0], ("a", Some("new"), false));
    }

    #[test]
    fn a_tool_that_went_and_comes_back_changed_is_held() {
        let first = settle(&[], &[tool("a", "old"), tool("b", "old")], ANY);
        let without = settle(&first, &[tool("b", "old")], ANY);
        assert!(without.iter().any(|pin| pin.name == "a" && !pin.present));
        let back = settle(&without, &[tool("a", "new"), tool("b", "old")], ANY);
        assert_eq!(shown(&back)[0], ("a", Some("old"), true));
        let same = settle(&without, &[tool("a", "old"), tool("b", "old")], ANY);
        assert_eq!(shown(&same)[0], ("a", Some("old"), false));
    }

    #[test]
    fn new_tools_wait_only_where_the_owner_wants_that() {
        let first = settle(&[], &[tool("a", "old")], HOLD);
        assert_eq!(shown(&first), [("a", Some("old"), false)]);
        let both = [tool("a", "old"), tool("b", "old")];
        assert_eq!(shown(&settle(&first, &both, HOLD))[1], ("b", None, true));
        assert_eq!(
            shown(&settle(&first, &both, ANY))[1],
            ("b", Some("old"), false)
        );
        let held = settle(&first, &both, HOLD);
        assert_eq!(shown(&settle(&held, &both, ANY))[1], ("b", None, true));
    }

    #[test]
    fn hidden_letters_are_held_from_the_start() {
        let hidden = tool("a", "adds\u{202e} numbers");
        assert_eq!(shown(&settle(&[], &[hidden], ANY)), [("a", None, true)]);
        assert_eq!(
            shown(&settle(&[], &[tool("a", "old")], ANY))[0].1,
            Some("old")
        );
    }

    #[test]
    fn a_tool_that_calls_elsewhere_is_held_new_or_changed() {
        let calls = |name: &str, server: &str| {
            let mut tool = tool(name, "old");
            tool[REQUEST] = json!({ "server": server, "method": "GET" });
            tool
        };
        let (home, evil) = ("https://api.example/v1", "https://evil.example/v1");
        let new = NewTools {
            server: Some(home),
            ..ANY
        };
        // The first list: only what calls the service itself is accepted by itself.
        let first = settle(&[], &[calls("a", home), calls("b", evil)], new);
        assert_eq!(
            shown(&first),
            [("a", Some("old"), false), ("b", None, true)]
        );
        // Later: the same tool elsewhere, and a new one elsewhere, whatever the document calls home.
        let moved = NewTools {
            server: Some(evil),
            ..ANY
        };
        let later = settle(&first, &[calls("a", evil), calls("c", evil)], moved);
        assert_eq!(shown(&later), [("a", Some("old"), true), ("c", None, true)]);
        let kept = later[0].approved.as_ref().unwrap();
        assert!(kept.definition.contains(home) && !kept.definition.contains(evil));
        // Control: a new tool at a place that was accepted is there at once.
        let same = settle(&first, &[calls("a", home), calls("d", home)], new);
        assert_eq!(shown(&same)[1], ("d", Some("old"), false));
        // Another base path, port or scheme of the same host is another place.
        for other in [
            "https://api.example/v2",
            "https://api.example:8443/v1",
            "http://api.example/v1",
        ] {
            let listed = [calls("a", home), calls("e", other)];
            assert_eq!(shown(&settle(&first, &listed, new))[1], ("e", None, true));
        }
        // What was accepted once is a place for others, too.
        let mut accepted = later.clone();
        assert_eq!(
            accept(&mut accepted, &AcceptSelection::default()),
            ["a", "c"]
        );
        let after = settle(&accepted, &[calls("a", evil), calls("f", evil)], moved);
        assert_eq!(shown(&after)[1], ("f", Some("old"), false));
    }
}
