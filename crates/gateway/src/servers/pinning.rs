//! What a server's tools may change about themselves: nothing that a model sees, without the
//! owner's word.

use std::collections::{BTreeMap, BTreeSet};

use manyhands_store::{Pin, Said};
use manyhands_upstream::{fingerprint, suspicious};
use serde_json::Value;

/// How many tools of one server are kept on record.
const MAX_PINS: usize = 20_000;

/// Holds what a server lists now against what is on record. The first list of a server is taken on;
/// later a changed definition is held beside the one that was taken on, and so is a new tool where
/// the owner wants that. What hides letters from whoever reads it is held from the start.
pub(super) fn settle(known: &[Pin], listed: &[Value], hold_new: bool) -> Vec<Pin> {
    let first = known.is_empty();
    let mut names = BTreeSet::new();
    let mut pins = Vec::new();
    for definition in listed {
        let Some(name) = definition["name"].as_str().filter(|name| !name.is_empty()) else {
            continue;
        };
        if !names.insert(name) {
            continue; // the first of two with one name counts
        }
        let says = said(definition);
        let before = known.iter().find(|pin| pin.name == name);
        let (taken, held) = match before.and_then(|pin| pin.taken.clone()) {
            Some(taken) if taken.hash == says.hash => (Some(says), None),
            Some(taken) => (Some(taken), Some(says)),
            None if (hold_new && !first) || before.is_some() || hides(definition) => {
                (None, Some(says))
            }
            None => (Some(says), None),
        };
        pins.push(Pin {
            name: name.to_owned(),
            taken,
            held,
            present: true,
        });
    }
    let gone = known
        .iter()
        .filter(|pin| !names.contains(pin.name.as_str()));
    let gone: Vec<Pin> = gone
        .map(|pin| Pin {
            held: None,
            present: false,
            ..pin.clone()
        })
        .filter(|pin| pin.taken.is_some())
        .collect();
    pins.extend(gone);
    pins.truncate(MAX_PINS);
    pins
}

/// What the owner takes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Only this tool; all when not said.
    pub tool: Option<&'a str>,
    /// The hashes of what the owner was shown, by tool: what has changed again since is not taken on.
    pub shown: Option<&'a BTreeMap<String, String>>,
}

/// Takes on what is held; which tools that were.
pub(super) fn accept(pins: &mut [Pin], wanted: &Wanted<'_>) -> Vec<String> {
    let is_wanted = |pin: &&mut Pin| {
        let named = wanted.tool.is_none_or(|tool| tool == pin.name);
        let seen = |held: &Said| {
            let shown = wanted.shown.map(|shown| shown.get(&pin.name));
            shown.is_none_or(|shown| shown == Some(&held.hash))
        };
        named && pin.held.as_ref().is_some_and(seen)
    };
    let accepted = pins.iter_mut().filter(is_wanted).map(|pin| {
        pin.taken = pin.held.take();
        pin.name.clone()
    });
    accepted.collect()
}

fn said(definition: &Value) -> Said {
    Said {
        hash: fingerprint(definition),
        definition: definition.to_string(),
    }
}

/// Whether a definition holds letters that a person would not see.
pub(super) fn hides(definition: &Value) -> bool {
    match definition {
        Value::String(text) => suspicious(text).is_some(),
        Value::Array(items) => items.iter().any(hides),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| suspicious(key).is_some() || hides(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> Value {
        json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
    }

    fn shown(pins: &[Pin]) -> Vec<(&str, Option<&str>, bool)> {
        let text = |said: &Said| {
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
                    pin.taken.as_ref().map(text),
                    pin.held.is_some(),
                )
            })
            .collect()
    }

    #[test]
    fn the_first_list_is_taken_on_and_a_change_is_held() {
        let first = settle(&[], &[tool("a", "old"), tool("b", "old")], false);
        assert_eq!(
            shown(&first),
            [("a", Some("old"), false), ("b", Some("old"), false)]
        );
        let mut second = settle(&first, &[tool("a", "new"), tool("b", "old")], false);
        assert_eq!(
            shown(&second),
            [("a", Some("old"), true), ("b", Some("old"), false)]
        );
        assert_eq!(
            accept(
                &mut second,
                &Wanted {
                    tool: Some("b"),
                    shown: None
                }
            ),
            [""; 0]
        );
        let stale = BTreeMap::from([("a".to_owned(), "another".to_owned())]);
        let wanted = Wanted {
            tool: None,
            shown: Some(&stale),
        };
        assert_eq!(accept(&mut second, &wanted), [""; 0]);
        assert_eq!(accept(&mut second, &Wanted::default()), ["a"]);
        assert_eq!(shown(&second)[0], ("a", Some("new"), false));
        let back = settle(&second, &[tool("a", "new")], false);
        assert_eq!(shown(&back)[0], ("a", Some("new"), false));
    }

    #[test]
    fn a_tool_that_went_and_comes_back_changed_is_held() {
        let first = settle(&[], &[tool("a", "old"), tool("b", "old")], false);
        let without = settle(&first, &[tool("b", "old")], false);
        assert!(without.iter().any(|pin| pin.name == "a" && !pin.present));
        let back = settle(&without, &[tool("a", "new"), tool("b", "old")], false);
        assert_eq!(shown(&back)[0], ("a", Some("old"), true));
        let same = settle(&without, &[tool("a", "old"), tool("b", "old")], false);
        assert_eq!(shown(&same)[0], ("a", Some("old"), false));
    }

    #[test]
    fn new_tools_wait_only_where_the_owner_wants_that() {
        let first = settle(&[], &[tool("a", "old")], true);
        assert_eq!(shown(&first), [("a", Some("old"), false)]);
        let both = [tool("a", "old"), tool("b", "old")];
        assert_eq!(shown(&settle(&first, &both, true))[1], ("b", None, true));
        assert_eq!(
            shown(&settle(&first, &both, false))[1],
            ("b", Some("old"), false)
        );
        let held = settle(&first, &both, true);
        assert_eq!(shown(&settle(&held, &both, false))[1], ("b", None, true));
    }

    #[test]
    fn hidden_letters_are_held_from_the_start() {
        let hidden = tool("a", "adds\u{202e} numbers");
        assert_eq!(shown(&settle(&[], &[hidden], false)), [("a", None, true)]);
        assert_eq!(
            shown(&settle(&[], &[tool("a", "old")], false))[0].1,
            Some("old")
        );
    }
}
