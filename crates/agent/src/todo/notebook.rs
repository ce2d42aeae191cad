//! The TODO files of one folder, and who may write them when.
//!
//! What is done is written into `TODO.DONE.md` before it is struck out of `TODO.md`; an item that stands in both,
//! by its name, is done. So a crash between the two loses nothing and doubles nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use manyhands_core::{Clock, Ids, ToolError};
use manyhands_guard::Jail;
use sha2::{Digest as _, Sha256};

use super::document::{Document, Kept, Kind};
use super::entry::{Entry, short};
use super::recur::Recurrence;
use crate::pages::{Page, PageError, Sheet, again};

/// The largest `TODO.md` and `TODO.RECUR.md`.
const MAX_OPEN: u64 = 1024 * 1024;
/// The largest `TODO.DONE.md`.
const MAX_DONE: u64 = 8 * 1024 * 1024;

/// Why the files were not changed.
#[derive(Debug, thiserror::Error)]
pub enum TodoError {
    /// A file could not be read or written.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The item is not there, or not any more.
    #[error("no matching todo item in TODO.md")]
    Gone,
}

impl From<TodoError> for ToolError {
    fn from(error: TodoError) -> Self {
        match error {
            TodoError::Page(error) => error.into(),
            TodoError::Gone => Self::not_found(error.to_string())
                .hint("see what is open with `read_file` on file_state_dir/TODO.md"),
        }
    }
}

/// An item as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub id: String,
    /// What the line says.
    pub entry: Entry,
}

impl From<Kept> for Item {
    fn from(kept: Kept) -> Self {
        Self {
            id: kept.id,
            entry: kept.entry,
        }
    }
}

/// Everything there is, newest first as the files have it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Todos {
    /// What is to be done.
    pub open: Vec<Item>,
    /// What was done.
    pub done: Vec<Item>,
    /// What comes again.
    pub recurring: Vec<Item>,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The item it was about.
    pub item: Item,
    /// Items that were struck out for it.
    pub removed: Vec<Item>,
    /// How many are open now.
    pub open: usize,
    /// How many are done now.
    pub done: usize,
}

/// The TODO files of one folder. Clones are the same, and one of them writes at a time. All calls block.
#[derive(Clone)]
pub struct Notebook(Arc<Inner>);

struct Inner {
    open: Sheet,
    done: Sheet,
    recurring: Sheet,
    writing: Mutex<()>,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

/// A file as it was read and as it is to be.
struct Draft {
    page: Page,
    document: Document,
}

impl Notebook {
    /// The files in `folder`; they are made when something is written down.
    pub fn new(folder: &Jail, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self(Arc::new(Inner {
            open: Sheet::new(folder, "TODO.md", MAX_OPEN),
            done: Sheet::new(folder, "TODO.DONE.md", MAX_DONE),
            recurring: Sheet::new(folder, "TODO.RECUR.md", MAX_OPEN),
            writing: Mutex::default(),
            clock,
            ids,
        }))
    }

    /// What there is. What is due of what comes again is written down first.
    pub fn list(&self) -> Result<Todos, TodoError> {
        self.write_due()?;
        let _one = self.0.writing.lock().unwrap_or_else(|e| e.into_inner());
        self.0.todos()
    }

    /// Writes an item down, before all others, and strikes out those it takes the place of.
    pub fn add(&self, entry: Entry, instead_of: &[String]) -> Result<Change, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        inner.tried(|| {
            let (mut open, done) = (inner.draft(Kind::Open)?, inner.draft(Kind::Done)?);
            let finished = names(&done.document);
            let before = live(&open.document, &finished);
            let entry = Entry {
                done: false,
                created_at: entry.created_at.clone().or_else(|| Some(inner.minute())),
                id: Some(inner.fresh(&open.document, &finished)),
                ..entry.clone()
            };
            let gone = |kept: &Kept| instead_of.contains(&kept.id);
            let removed = before.into_iter().filter(gone).map(Item::from);
            let removed: Vec<Item> = removed.collect();
            let struck: BTreeSet<&String> = removed.iter().map(|item| &item.id).collect();
            open.document.remove(|kept| {
                is_finished(kept, &finished) || !kept.entry.done && struck.contains(&kept.id)
            });
            open.document.insert(&entry);
            let count = inner.save(&inner.open, &mut open)?;
            Ok(Change {
                item: Item {
                    id: entry.id.clone().unwrap_or_default(),
                    entry,
                },
                removed,
                open: count,
                done: done.document.entries().len(),
            })
        })
    }

    /// Writes down what comes again. The first is due at its time.
    pub fn add_recurring(&self, entry: Entry, when: &Recurrence) -> Result<Change, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        inner.tried(|| {
            let mut all = inner.draft(Kind::Recurring)?;
            let entry = Entry {
                done: false,
                created_at: Some(inner.minute()),
                id: Some(inner.fresh(&all.document, &BTreeSet::new())),
                next: Some(when.next()),
                repeat: Some(when.repeat().to_string()),
                ..entry.clone()
            };
            all.document.insert(&entry);
            inner.save(&inner.recurring, &mut all)?;
            let now = inner.todos()?;
            Ok(Change {
                item: Item {
                    id: entry.id.clone().unwrap_or_default(),
                    entry,
                },
                removed: Vec::new(),
                open: now.open.len(),
                done: now.done.len(),
            })
        })
    }

    /// Moves an open item to what is done.
    pub fn complete(&self, id: &str) -> Result<Change, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        let name = inner.tried(|| inner.name(id))?;
        let item = inner.tried(|| inner.record(&name))?;
        if let Err(error) = inner.tried(|| inner.strike()) {
            // It is done all the same: whoever reads sees that, and the next change strikes it out.
            tracing::warn!(%error, "a todo item that is done could not be struck out of TODO.md yet");
        }
        let now = inner.todos()?;
        Ok(Change {
            item,
            removed: Vec::new(),
            open: now.open.len(),
            done: now.done.len(),
        })
    }

    /// Writes down what is due of what comes again; how many these were. Of several that were missed, one is.
    pub fn write_due(&self) -> Result<usize, TodoError> {
        let inner = &self.0;
        if inner.due()?.is_empty() {
            return Ok(0);
        }
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        let due = inner.due()?;
        for kept in &due {
            inner.tried(|| inner.write_one(kept))?;
        }
        Ok(due.len())
    }
}

impl Inner {
    fn tried<T>(&self, work: impl FnMut() -> Result<T, TodoError>) -> Result<T, TodoError> {
        again(
            work,
            |error| matches!(error, TodoError::Page(error) if error.is_race()),
        )
    }

    fn now(&self) -> String {
        self.clock.now().rfc3339()
    }

    /// The time as lines have it.
    fn minute(&self) -> String {
        self.now()
            .chars()
            .take(16)
            .collect::<String>()
            .replace('T', " ")
    }

    fn sheet(&self, kind: Kind) -> &Sheet {
        match kind {
            Kind::Open => &self.open,
            Kind::Done => &self.done,
            Kind::Recurring => &self.recurring,
        }
    }

    fn draft(&self, kind: Kind) -> Result<Draft, TodoError> {
        let page = self.sheet(kind).read()?;
        let document = Document::of(kind, page.text.as_deref(), &self.now());
        Ok(Draft { page, document })
    }

    /// Writes a file with its count; how many items that is.
    fn save(&self, sheet: &Sheet, draft: &mut Draft) -> Result<usize, TodoError> {
        let all = draft.document.entries();
        let is_done = std::ptr::eq(sheet, &self.done);
        let count = all
            .iter()
            .filter(|kept| is_done || !kept.entry.done)
            .count();
        if draft.page.text.as_deref() != Some(&*draft.document.text()) {
            draft.document.stamp(count, &self.now());
        }
        sheet.write(&draft.page, &draft.document.text())?;
        Ok(count)
    }

    /// A name that no line has.
    fn fresh(&self, document: &Document, taken: &BTreeSet<String>) -> String {
        let here = names(document);
        loop {
            let name = short(&self.ids.random::<5>());
            if !here.contains(&name) && !taken.contains(&name) {
                return name;
            }
        }
    }

    fn todos(&self) -> Result<Todos, TodoError> {
        // What is struck out was done before, so this order misses nothing.
        let open = self.draft(Kind::Open)?.document;
        let done = self.draft(Kind::Done)?.document;
        let recurring = self.draft(Kind::Recurring)?.document;
        let items = |kept: Vec<Kept>| kept.into_iter().map(Item::from).collect();
        Ok(Todos {
            open: items(live(&open, &names(&done))),
            done: items(done.entries()),
            recurring: items(recurring.entries()),
        })
    }

    /// Gives an open item a name that stays, in its file; a line written by hand may have none.
    fn name(&self, id: &str) -> Result<String, TodoError> {
        let (mut open, done) = (self.draft(Kind::Open)?, self.draft(Kind::Done)?);
        let finished = names(&done.document);
        let found = live(&open.document, &finished).into_iter();
        let kept = found.into_iter().find(|kept| kept.id == id);
        let kept = kept.ok_or(TodoError::Gone)?;
        let mut name = kept.entry.id.clone();
        for other in open.document.entries() {
            // A copy would count as done as soon as what it was copied from is.
            if !other.copied && (name.is_some() || other.line != kept.line) {
                continue;
            }
            let entry = Entry {
                id: Some(self.fresh(&open.document, &finished)),
                ..other.entry.clone()
            };
            if other.line == kept.line {
                name.clone_from(&entry.id);
            }
            open.document.replace(&other, &entry);
        }
        self.save(&self.open, &mut open)?;
        name.ok_or(TodoError::Gone)
    }

    /// Writes an open item into what is done.
    fn record(&self, name: &str) -> Result<Item, TodoError> {
        let (open, mut done) = (self.draft(Kind::Open)?, self.draft(Kind::Done)?);
        let found = open.document.entries().into_iter();
        let mut found = found.filter(|kept| !kept.entry.done);
        let kept = found.find(|kept| kept.entry.id.as_deref() == Some(name));
        let kept = kept.ok_or(TodoError::Gone)?;
        let entry = Entry {
            done: true,
            done_at: Some(self.minute()),
            ..kept.entry
        };
        done.document.insert(&entry);
        self.save(&self.done, &mut done)?;
        let id = name.to_owned();
        Ok(Item { id, entry })
    }

    /// Strikes out what is done.
    fn strike(&self) -> Result<(), TodoError> {
        let (mut open, done) = (self.draft(Kind::Open)?, self.draft(Kind::Done)?);
        let finished = names(&done.document);
        if open.document.remove(|kept| is_finished(kept, &finished)) > 0 {
            self.save(&self.open, &mut open)?;
        }
        Ok(())
    }

    /// What is due of what comes again. A line that says no time is left alone.
    fn due(&self) -> Result<Vec<Kept>, TodoError> {
        let now = self.clock.now();
        let all = self.draft(Kind::Recurring)?.document.entries().into_iter();
        let due = |kept: &Kept| {
            let when = recurrence(&kept.entry);
            !kept.entry.done && when.is_some_and(|when| when.is_due(now))
        };
        Ok(all.filter(due).collect())
    }

    /// Writes one of these down, and when it is due again. The item's name follows from its time, so that it
    /// is written down once however often this is cut off.
    fn write_one(&self, due: &Kept) -> Result<(), TodoError> {
        let time = due.entry.next.as_deref().unwrap_or_default();
        let name = short(&Sha256::digest(format!("{} {time}", due.id)));
        let (mut open, done) = (self.draft(Kind::Open)?, self.draft(Kind::Done)?);
        if !names(&open.document).contains(&name) && !names(&done.document).contains(&name) {
            open.document.insert(&Entry {
                created_at: Some(self.minute()),
                chat_id: due.entry.chat_id.clone(),
                id: Some(name),
                content: due.entry.content.clone(),
                ..Entry::default()
            });
            self.save(&self.open, &mut open)?;
        }
        let mut all = self.draft(Kind::Recurring)?;
        let found = all.document.entries().into_iter();
        let kept = found
            .into_iter()
            .find(|kept| kept.id == due.id && kept.entry.next == due.entry.next);
        let next = recurrence(&due.entry).and_then(|when| when.after(self.clock.now()));
        if let (Some(kept), Some(next)) = (kept, next) {
            let entry = Entry {
                next: Some(next.next()),
                ..kept.entry.clone()
            };
            all.document.replace(&kept, &entry);
            self.save(&self.recurring, &mut all)?;
        }
        Ok(())
    }
}

fn recurrence(entry: &Entry) -> Option<Recurrence> {
    let (next, repeat) = (entry.next.as_deref()?, entry.repeat.as_deref()?);
    Recurrence::parse(next, repeat, entry.tz.as_deref()).ok()
}

/// The names that lines have of their own.
fn names(document: &Document) -> BTreeSet<String> {
    let all = document.entries().into_iter();
    all.filter_map(|kept| kept.entry.id).collect()
}

/// Whether an item of `TODO.md` stands among what is done.
fn is_finished(kept: &Kept, finished: &BTreeSet<String>) -> bool {
    let name = kept.entry.id.as_ref();
    name.is_some_and(|name| finished.contains(name))
}

/// The items that are open.
fn live(document: &Document, finished: &BTreeSet<String>) -> Vec<Kept> {
    let all = document.entries().into_iter();
    all.filter(|kept| !kept.entry.done && !is_finished(kept, finished))
        .collect()
}

#[cfg(test)]
mod tests;
