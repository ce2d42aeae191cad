//! What is to be done, and the contacts: for the owner's page and command line.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use manyhands_agent::contacts::{Contact, Profile};
use manyhands_core::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::query;
use crate::families::unified::todo_update::ShownEntry;
use crate::gateway::Gateway;
use crate::host::blocking;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};

/// How many done items are listed when nobody says.
const DONE: usize = 100;
/// The most.
const MAX_DONE: usize = 10_000;

/// Which items.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// How many of the done ones, newest first; 100 when not said.
    #[schemars(range(min = 0, max = 10000))]
    done: Option<usize>,
}

/// What is to be done, what was done, and what comes again.
pub async fn todos(
    State(gateway): State<Arc<Gateway>>,
    Owner(_): Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer {
    let most = query(which)?.done.unwrap_or(DONE);
    if most > MAX_DONE {
        let message = format!("must be between 0 and {MAX_DONE}");
        return Err(Refusal(ToolError::parameter("done", message)));
    }
    let book = gateway.people().todos.clone();
    let all = blocking(move || Ok(book.list()?)).await?;
    let shown = |items: Vec<_>, most: usize| -> Vec<ShownEntry> {
        items.into_iter().take(most).map(ShownEntry::from).collect()
    };
    answer(json!({
        "openCount": all.open.len(),
        "doneCount": all.done.len(),
        "open": shown(all.open, usize::MAX),
        "done": shown(all.done, most),
        "recurring": shown(all.recurring, usize::MAX),
    }))
}

/// A contact as it is told.
#[derive(Serialize)]
struct Shown {
    /// Whether it is among the active ones.
    active: bool,
    /// Under which addresses it is reached.
    reachable_ids: Vec<String>,
    #[serde(flatten)]
    profile: Profile,
}

impl From<Contact> for Shown {
    fn from(contact: Contact) -> Self {
        let ids = contact.profile.reachable_ids();
        Self {
            active: contact.active,
            reachable_ids: ids.iter().map(ToString::to_string).collect(),
            profile: contact.profile,
        }
    }
}

/// Every contact, the active ones first.
pub async fn contacts(State(gateway): State<Arc<Gateway>>, Owner(_): Owner) -> Answer {
    let book = gateway.people().contacts.clone();
    let all = blocking(move || Ok(book.list()?)).await?;
    let all: Vec<Shown> = all.into_iter().map(Shown::from).collect();
    answer(json!({ "count": all.len(), "contacts": all }))
}

/// One contact.
pub async fn contact(
    State(gateway): State<Arc<Gateway>>,
    Owner(_): Owner,
    Path(id): Path<String>,
) -> Answer {
    let book = gateway.people().contacts.clone();
    let found = blocking(move || Ok(book.find(&id)?)).await?;
    answer(json!({ "contact": Shown::from(found) }))
}
