//! Which sessions wait for which: refuses questions that could only be answered after their requester got an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{ErrorCode, ToolError};

use crate::key::SessionKey;

/// The most questions between the first requester and the last session asked.
const MAX_LINEAGE: usize = 5;

/// Requester and asked session of every open question.
#[derive(Debug, Default)]
pub(crate) struct WaitGraph(Arc<Mutex<Vec<Edge>>>);

/// A requester and the session it waits for.
type Edge = (String, String);

fn lock(edges: &Mutex<Vec<Edge>>) -> MutexGuard<'_, Vec<Edge>> {
    edges.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WaitGraph {
    /// Records that the last session of `lineage` waits for `key`; refused if that closes a cycle or the chain gets too
    /// long.
    pub(crate) fn begin(
        &self,
        lineage: &[String],
        key: &SessionKey,
    ) -> Result<WaitGuard, ToolError> {
        // Checked and added under one lock: two sessions that ask each other at the same moment would otherwise both pass.
        let mut edges = lock(&self.0);
        let waiting = reached(&edges, key.as_str());
        if let Some(first) = lineage.iter().find(|one| waiting.contains(one)) {
            let message = match first == key.as_str() {
                true => format!("this was asked in a turn of {key}, which cannot answer before"),
                false => format!("{key} waits for {first}, so each would wait for the other"),
            };
            let hint = "answer in your reply instead of sending a message back";
            return Err(ToolError::new(ErrorCode::Conflict, message).hint(hint));
        }
        // Each level costs a model's full turn and holds all those above it open.
        if lineage.len() > MAX_LINEAGE {
            let message = format!(
                "{} sessions wait for one another already, and more may not",
                lineage.len()
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("do it yourself, or say in your reply what is left to do"));
        }
        let edge = lineage
            .last()
            .map(|waiting| (waiting.clone(), key.to_string()));
        edges.extend(edge.clone());
        Ok(WaitGuard {
            edges: self.0.clone(),
            edge,
        })
    }
}

/// A session and everything it waits for, directly or through others.
fn reached(edges: &[Edge], from: &str) -> Vec<String> {
    let mut reached = vec![from.to_owned()];
    let mut at = 0;
    while at < reached.len() {
        for (waiting, asked) in edges {
            if *waiting == reached[at] && !reached.contains(asked) {
                reached.push(asked.clone());
            }
        }
        at += 1;
    }
    reached
}

/// Keeps an edge in the graph until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitGuard {
    edges: Arc<Mutex<Vec<Edge>>>,
    edge: Option<Edge>,
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut edges = lock(&self.edges);
        let own = edges
            .iter()
            .position(|edge| Some(edge) == self.edge.as_ref());
        // Only one of equal edges: the same session may wait for another several times.
        own.map(|at| edges.swap_remove(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(waits: &WaitGraph, lineage: &[&str], key: &str) -> Result<WaitGuard, ErrorCode> {
        let lineage: Vec<String> = lineage.iter().map(|one| key_of(one).to_string()).collect();
        waits
            .begin(&lineage, &key_of(key))
            .map_err(|error| error.code)
    }

    fn key_of(text: &str) -> SessionKey {
        text.parse().unwrap()
    }

    #[test]
    fn waiting_in_a_circle_is_refused() {
        let waits = WaitGraph::default();
        let first = begin(&waits, &["a"], "b").unwrap();
        assert_eq!(
            begin(&waits, &["a"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "itself"
        );
        assert_eq!(
            begin(&waits, &["a", "b"], "a").unwrap_err(),
            ErrorCode::Conflict
        );
        assert_eq!(
            begin(&waits, &["b"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "a waits for b"
        );
        let second = begin(&waits, &["b"], "c").unwrap();
        assert_eq!(
            begin(&waits, &["c"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "through b"
        );
        drop(first);
        drop(begin(&waits, &["c"], "a").unwrap());
        assert_eq!(lock(&waits.0).len(), 1);
        drop(second);
        assert!(lock(&waits.0).is_empty());
    }

    #[test]
    fn waits_may_be_nested_five_deep() {
        let waits = WaitGraph::default();
        assert!(begin(&waits, &["a", "b", "c", "d", "e"], "f").is_ok());
        let deeper = begin(&waits, &["a", "b", "c", "d", "e", "f"], "g");
        assert_eq!(deeper.unwrap_err(), ErrorCode::Forbidden);
        assert!(begin(&waits, &[], "a").is_ok(), "a person asks");
    }
}
