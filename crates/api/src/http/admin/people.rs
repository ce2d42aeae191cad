//! To-dos and contacts, for the owner's page and command line.

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

/// Completed items listed by default.
const DONE: usize = 100;
/// Most completed items in one response.
const MAX_DONE: usize = 10_000;

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoQuery {
    /// Maximum number of completed items, newest first; 100 by default.
    #[schemars(range(min = 0, max = 10000))]
    done: Option<usize>,
}

/// A list of to-dos.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoList {
    /// Number of open items.
    open_count: usize,
    /// Number of completed items.
    done_count: usize,
    /// Open items.
    open: Vec<Todo>,
    /// Completed items, newest first.
    done: Vec<Todo>,
    /// Recurring items.
    recurring: Vec<Todo>,
}

/// Lists open, completed and recurring items.
pub async fn todos(
    State(gateway): State<Arc<Gateway>>,
    Owner(_): Owner,
    which: Result<Query<TodoQuery>, QueryRejection>,
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

/// A contact.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Contact")]
pub struct ContactView {
    /// Whether it is active.
    active: bool,
    /// Addresses it can be reached at.
    reachable_ids: Vec<String>,
    #[serde(flatten)]
    profile: Profile,
}

/// A list of contacts.
#[derive(Serialize, JsonSchema)]
pub struct ContactList {
    /// Number of contacts.
    count: usize,
    /// Contacts, active ones first.
    contacts: Vec<ContactView>,
}

/// The response with a contact.
#[derive(Serialize, JsonSchema)]
pub struct ContactShown {
    /// The contact.
    contact: ContactView,
}

impl From<Contact> for ContactView {
    fn from(contact: Contact) -> Self {
        let ids = contact.profile.reachable_ids();
        Self {
            active: contact.active,
            reachable_ids: ids.iter().map(ToString::to_string).collect(),
            profile: contact.profile,
        }
    }
}

/// Lists all contacts, active ones first.
pub async fn contacts(State(gateway): State<Arc<Gateway>>, Owner(_): Owner) -> Answer<ContactList> {
    let book = gateway.people().contacts.clone();
    let all = blocking(move || Ok(book.list()?)).await?;
    let all: Vec<ContactView> = all.into_iter().map(ContactView::from).collect();
    answer(ContactList {
        count: all.len(),
        contacts: all,
    })
}

/// Returns a contact.
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
