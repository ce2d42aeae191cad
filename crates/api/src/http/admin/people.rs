//! What is to be done, and the contacts: for the owner's page and command line.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use manyhands_core::ToolError;
use manyhands_gateway::Gateway;
use manyhands_host::machine::blocking;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_people::contacts::{Contact, Profile};
use manyhands_tools::ShownEntry as Todo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query;

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

/// The items.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoList {
    /// How many are open.
    open_count: usize,
    /// How many were done.
    done_count: usize,
    /// What is to be done.
    open: Vec<Todo>,
    /// What was done, newest first.
    done: Vec<Todo>,
    /// What comes again.
    recurring: Vec<Todo>,
}

/// What is to be done, what was done, and what comes again.
pub async fn todos(
    State(gateway): State<Arc<Gateway>>,
    Owner(_): Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer<TodoList> {
    let most = query(which)?.done.unwrap_or(DONE);
    if most > MAX_DONE {
        let message = format!("must be between 0 and {MAX_DONE}");
        return Err(Refusal(ToolError::parameter("done", message)));
    }
    let book = gateway.people().todos.clone();
    let all = blocking(move || Ok(book.list()?)).await?;
    let shown = |items: Vec<_>, most: usize| -> Vec<Todo> {
        items.into_iter().take(most).map(Todo::from).collect()
    };
    answer(TodoList {
        open_count: all.open.len(),
        done_count: all.done.len(),
        open: shown(all.open, usize::MAX),
        done: shown(all.done, most),
        recurring: shown(all.recurring, usize::MAX),
    })
}

/// A contact as it is told.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Contact")]
pub struct Shown {
    /// Whether it is among the active ones.
    active: bool,
    /// Under which addresses it is reached.
    reachable_ids: Vec<String>,
    #[serde(flatten)]
    profile: Profile,
}

/// Contacts.
#[derive(Serialize, JsonSchema)]
pub struct ContactList {
    /// How many.
    count: usize,
    /// The contacts, the active ones first.
    contacts: Vec<Shown>,
}

/// One contact.
#[derive(Serialize, JsonSchema)]
pub struct ContactShown {
    /// The contact.
    contact: Shown,
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
pub async fn contacts(State(gateway): State<Arc<Gateway>>, Owner(_): Owner) -> Answer<ContactList> {
    let book = gateway.people().contacts.clone();
    let all = blocking(move || Ok(book.list()?)).await?;
    let all: Vec<Shown> = all.into_iter().map(Shown::from).collect();
    answer(ContactList {
        count: all.len(),
        contacts: all,
    })
}

/// One contact.
pub async fn contact(
    State(gateway): State<Arc<Gateway>>,
    Owner(_): Owner,
    Path(id): Path<String>,
) -> Answer<ContactShown> {
    let book = gateway.people().contacts.clone();
    let found = blocking(move || Ok(book.find(&id)?)).await?;
    answer(ContactShown {
        contact: found.into(),
    })
}
