//! To-dos: `TODO.md`, `TODO.DONE.md` and `TODO.RECUR.md`.

mod document;
mod entry;
mod matching;
mod model;
mod notebook;
mod recur;
mod reference;

pub use crate::text_lines::one_line;
pub use entry::{MAX_CONTENT, TodoEntry};
pub use matching::{Match, alike, find, same};
pub use model::{
    MAX_SHOWN, ModelMatch, ReferenceQuery, Rewritten, TodoModel, ensure_available, items_to_keep,
    match_item, with_references,
};
pub use notebook::{Notebook, TodoChange, TodoError, TodoItem, Todos};
pub use recur::{RecurError, Recurrence, Repeat};
pub use reference::{
    MAX_PEOPLE, ReferenceError, Resolved, Speaker, check, resolve, speaks_of_self,
    without_references,
};

/// Whether a text is a chat as to-dos name it: `tg:` and a non-zero signed number.
pub fn is_chat_id(text: &str) -> bool {
    let number = text.strip_prefix("tg:");
    number.is_some_and(crate::reference_id::is_chat_number)
}
