//! What is to be done: `TODO.md`, `TODO.DONE.md` and `TODO.RECUR.md`, which people edit by hand too.

mod document;
mod entry;
mod matching;
mod notebook;
mod recur;
pub(crate) mod reference;
mod semantics;

pub use entry::{Entry, MAX_CONTENT, one_line};
pub use matching::{Match, alike, find, same};
pub use notebook::{Change, Item, Notebook, TodoError, Todos};
pub use recur::{RecurError, Recurrence, Repeat};
pub use reference::{
    MAX_PEOPLE, ReferenceError, ReferenceId, Resolved, Speaker, check, resolve, speaks_of_self,
    without_references,
};
pub use semantics::{MAX_SHOWN, Meant, Rewritten, Spoken};

/// Whether a text is a chat as items have it: `tg:` and a signed number that is not zero.
pub fn is_chat_id(text: &str) -> bool {
    let number = text.strip_prefix("tg:");
    number.is_some_and(reference::is_chat_number)
}
