//! The TODO files of one folder and how they change together.
//!
//! A completed item is added to `TODO.DONE.md` before it is removed from `TODO.md`, and an id that is in both files
//! counts as done. So a crash between the two writes neither loses nor duplicates an item.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use manyhands_core::{Clock, Ids, ToolError};
use manyhands_guard::Jail;
use sha2::{Digest as _, Sha256};

use super::document::{PlacedEntry, TodoDocument, TodoFile};
use super::entry::{TodoEntry, short};
use super::recur::Recurrence;
use crate::text_file::{FileVersion, TextFile, TextFileError, again};

/// Largest `TODO.md` and `TODO.RECUR.md`, in bytes.
const MAX_OPEN: u64 = 1024 * 1024;
/// Largest `TODO.DONE.md`, in bytes.
const MAX_DONE: u64 = 8 * 1024 * 1024;

/// The files were not changed.
#[derive(Debug, thiserror::Error)]
pub enum TodoError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] TextFileError),
    /// The item does not exist (any more).
    #[error("no matching todo item in TODO.md")]
    Gone,
}

impl From<TodoError> for ToolError {
    fn from(error: TodoError) -> Self {
        match error {
            TodoError::File(error) => error.into(),
            TodoError::Gone => Self::not_found(error.to_string())
                .hint("list open items with `read_file` on file_state_dir/TODO.md"),
        }
    }
}

/// An item and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoItem {
    /// Stored or derived id.
    pub id: String,
    /// The parsed line.
    pub entry: TodoEntry,
}

impl From<PlacedEntry> for TodoItem {
    fn from(kept: PlacedEntry) -> Self {
        Self {
            id: kept.id,
            entry: kept.entry,
        }
    }
}

/// All items, in file order: newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Todos {
    /// Open items.
    pub open: Vec<TodoItem>,
    /// Completed items.
    pub done: Vec<TodoItem>,
    /// Recurring items.
    pub recurring: Vec<TodoItem>,
}

/// Result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoChange {
    /// The item that was added or completed.
    pub item: TodoItem,
    /// Items that were removed as its duplicates.
    pub removed: Vec<TodoItem>,
    /// Number of open items now.
    pub open: usize,
    /// Number of completed items now.
    pub done: usize,
}

/// The TODO files of one folder. Clones share one write lock. All calls block on file I/O.
#[derive(Clone)]
pub struct Notebook(Arc<TodoFiles>);

struct TodoFiles {
    open: TextFile,
    done: TextFile,
    recurring: TextFile,
    writing: Mutex<()>,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

/// A file as it was read, and its edited content.
struct TodoDraft {
    version: FileVersion,
    document: TodoDocument,
}

impl Notebook {
    /// Uses the files in `folder`; they are created with the first item.
    pub fn new(folder: &Jail, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self(Arc::new(TodoFiles {
            open: TextFile::new(folder, "TODO.md", MAX_OPEN),
            done: TextFile::new(folder, "TODO.DONE.md", MAX_DONE),
            recurring: TextFile::new(folder, "TODO.RECUR.md", MAX_OPEN),
            writing: Mutex::default(),
            clock,
            ids,
        }))
    }

    /// All items, after adding the recurring ones that are due.
    pub fn list(&self) -> Result<Todos, TodoError> {
        self.write_due()?;
        let _one = self.0.writing.lock().unwrap_or_else(|e| e.into_inner());
        self.0.todos()
    }

    /// Adds an item above all others and removes those it replaces.
    pub fn add(&self, entry: TodoEntry, instead_of: &[String]) -> Result<TodoChange, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        inner.tried(|| {
            let (mut open, done) = (inner.draft(TodoFile::Open)?, inner.draft(TodoFile::Done)?);
            let finished = names(&done.document);
            let before = live(&open.document, &finished);
            let entry = TodoEntry {
                done: false,
                created_at: entry.created_at.clone().or_else(|| Some(inner.minute())),
                // Unlike that of any finished item too: an id must never mean two.
                id: Some(inner.fresh(&open.document, &finished)),
                ..entry.clone()
            };
            // Ids of items that somebody completed meanwhile match nothing and are ignored.
            let gone = |kept: &PlacedEntry| instead_of.contains(&kept.id);
            let removed = before.into_iter().filter(gone).map(TodoItem::from);
            let removed: Vec<TodoItem> = removed.collect();
            let struck: BTreeSet<&String> = removed.iter().map(|item| &item.id).collect();
            // Also removes completed items that a crash left in TODO.md.
            open.document.remove(|kept| {
                is_finished(kept, &finished) || !kept.entry.done && struck.contains(&kept.id)
            });
            open.document.insert(&entry);
            let count = inner.save(&inner.open, &mut open)?;
            Ok(TodoChange {
                item: TodoItem {
                    id: entry.id.clone().unwrap_or_default(),
                    entry,
                },
                removed,
                open: count,
                done: done.document.entries().len(),
            })
        })
    }

    /// Adds a recurring item.
    pub fn add_recurring(
        &self,
        entry: TodoEntry,
        when: &Recurrence,
    ) -> Result<TodoChange, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        inner.tried(|| {
            let mut all = inner.draft(TodoFile::Recurring)?;
            let entry = TodoEntry {
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
            Ok(TodoChange {
                item: TodoItem {
                    id: entry.id.clone().unwrap_or_default(),
                    entry,
                },
                removed: Vec::new(),
                open: now.open.len(),
                done: now.done.len(),
            })
        })
    }

    /// Completes an open item.
    pub fn complete(&self, id: &str) -> Result<TodoChange, TodoError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        // Three writes in this order: store the id, add to TODO.DONE.md, remove from TODO.md. After a crash at any point
        // the item is open or done, never both and never gone.
        let name = inner.tried(|| inner.name(id))?;
        let item = inner.tried(|| inner.record(&name))?;
        if let Err(error) = inner.tried(|| inner.strike()) {
            // The item is done nevertheless: readers ignore ids that are in TODO.DONE.md, and the next change removes it.
            tracing::warn!(
                event = "todo_cleanup_failed",
                %error,
                "completed item not removed from TODO.md; will retry with the next change"
            );
        }
        let now = inner.todos()?;
        Ok(TodoChange {
            item,
            removed: Vec::new(),
            open: now.open.len(),
            done: now.done.len(),
        })
    }

    /// Adds the recurring items that are due; returns how many. Several missed times of one item add it once.
    pub fn write_due(&self) -> Result<usize, TodoError> {
        let inner = &self.0;
        // Without the lock first: this runs with every read, and mostly nothing is due.
        if inner.due()?.is_empty() {
            return Ok(0);
        }
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        // Again under the lock: another caller may have added them meanwhile.
        let due = inner.due()?;
        for kept in &due {
            inner.tried(|| inner.write_one(kept))?;
        }
        Ok(due.len())
    }
}

impl TodoFiles {
    fn tried<T>(&self, work: impl FnMut() -> Result<T, TodoError>) -> Result<T, TodoError> {
        again(
            work,
            |error| matches!(error, TodoError::File(error) if error.is_race()),
        )
    }

    fn now(&self) -> String {
        self.clock.now().rfc3339()
    }

    /// The current time in the format of lines.
    fn minute(&self) -> String {
        self.now()
            .chars()
            .take(16)
            .collect::<String>()
            .replace('T', " ")
    }

    fn sheet(&self, kind: TodoFile) -> &TextFile {
        match kind {
            TodoFile::Open => &self.open,
            TodoFile::Done => &self.done,
            TodoFile::Recurring => &self.recurring,
        }
    }

    fn draft(&self, kind: TodoFile) -> Result<TodoDraft, TodoError> {
        let version = self.sheet(kind).read()?;
        let document = TodoDocument::of(kind, version.text.as_deref(), &self.now());
        Ok(TodoDraft { version, document })
    }

    /// Writes a file and its count; returns the count.
    fn save(&self, sheet: &TextFile, draft: &mut TodoDraft) -> Result<usize, TodoError> {
        let all = draft.document.entries();
        let is_done = std::ptr::eq(sheet, &self.done);
        let count = all
            .iter()
            .filter(|kept| is_done || !kept.entry.done)
            .count();
        // Without a change `updated_at` stays too, and the write below is skipped.
        if draft.version.text.as_deref() != Some(&*draft.document.text()) {
            draft.document.stamp(count, &self.now());
        }
        sheet.write(&draft.version, &draft.document.text())?;
        Ok(count)
    }

    /// An unused id.
    fn fresh(&self, document: &TodoDocument, taken: &BTreeSet<String>) -> String {
        let here = names(document);
        loop {
            let name = short(&self.ids.random::<5>());
            if !here.contains(&name) && !taken.contains(&name) {
                return name;
            }
        }
    }

    fn todos(&self) -> Result<Todos, TodoError> {
        // TODO.md is read before TODO.DONE.md: an item that is completed in between is then in both and counts as done.
        // In the other order it could be in neither.
        let open = self.draft(TodoFile::Open)?.document;
        let done = self.draft(TodoFile::Done)?.document;
        let recurring = self.draft(TodoFile::Recurring)?.document;
        let items = |kept: Vec<PlacedEntry>| kept.into_iter().map(TodoItem::from).collect();
        Ok(Todos {
            open: items(live(&open, &names(&done))),
            done: items(done.entries()),
            recurring: items(recurring.entries()),
        })
    }

    /// Stores the id of an open item in its line; lines written by hand have none.
    fn name(&self, id: &str) -> Result<String, TodoError> {
        let (mut open, done) = (self.draft(TodoFile::Open)?, self.draft(TodoFile::Done)?);
        let finished = names(&done.document);
        let found = live(&open.document, &finished).into_iter();
        let kept = found.into_iter().find(|kept| kept.id == id);
        let kept = kept.ok_or(TodoError::Gone)?;
        let mut name = kept.entry.id.clone();
        for other in open.document.entries() {
            // A copied line gets its own id, or it would count as done together with the original.
            if !other.copied && (name.is_some() || other.line != kept.line) {
                continue;
            }
            let entry = TodoEntry {
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

    /// Adds an open item to `TODO.DONE.md`.
    fn record(&self, name: &str) -> Result<TodoItem, TodoError> {
        let (open, mut done) = (self.draft(TodoFile::Open)?, self.draft(TodoFile::Done)?);
        let found = open.document.entries().into_iter();
        let mut found = found.filter(|kept| !kept.entry.done);
        let kept = found.find(|kept| kept.entry.id.as_deref() == Some(name));
        let kept = kept.ok_or(TodoError::Gone)?;
        let entry = TodoEntry {
            done: true,
            done_at: Some(self.minute()),
            ..kept.entry
        };
        done.document.insert(&entry);
        self.save(&self.done, &mut done)?;
        let id = name.to_owned();
        Ok(TodoItem { id, entry })
    }

    /// Removes completed items from `TODO.md`.
    fn strike(&self) -> Result<(), TodoError> {
        let (mut open, done) = (self.draft(TodoFile::Open)?, self.draft(TodoFile::Done)?);
        let finished = names(&done.document);
        if open.document.remove(|kept| is_finished(kept, &finished)) > 0 {
            self.save(&self.open, &mut open)?;
        }
        Ok(())
    }

    /// The recurring items that are due. Lines without a valid time are ignored.
    fn due(&self) -> Result<Vec<PlacedEntry>, TodoError> {
        let now = self.clock.now();
        let all = self
            .draft(TodoFile::Recurring)?
            .document
            .entries()
            .into_iter();
        let due = |kept: &PlacedEntry| {
            let when = recurrence(&kept.entry);
            !kept.entry.done && when.is_some_and(|when| when.is_due(now))
        };
        Ok(all.filter(due).collect())
    }

    /// Adds one due item, then advances its next time. The new item's id is a hash of recurring id and due time, so
    /// that a crash between the two writes does not add it twice.
    fn write_one(&self, due: &PlacedEntry) -> Result<(), TodoError> {
        let time = due.entry.next.as_deref().unwrap_or_default();
        // Deterministic, so that the check below recognises an item that an interrupted run already added.
        let name = short(&Sha256::digest(format!("{} {time}", due.id)));
        let (mut open, done) = (self.draft(TodoFile::Open)?, self.draft(TodoFile::Done)?);
        if !names(&open.document).contains(&name) && !names(&done.document).contains(&name) {
            open.document.insert(&TodoEntry {
                created_at: Some(self.minute()),
                chat_id: due.entry.chat_id.clone(),
                id: Some(name),
                content: due.entry.content.clone(),
                ..TodoEntry::default()
            });
            self.save(&self.open, &mut open)?;
        }
        let mut all = self.draft(TodoFile::Recurring)?;
        let found = all.document.entries().into_iter();
        let kept = found
            .into_iter()
            // Another process may have advanced it already; then its time differs and it is left alone.
            .find(|kept| kept.id == due.id && kept.entry.next == due.entry.next);
        let next = recurrence(&due.entry).and_then(|when| when.after(self.clock.now()));
        if let (Some(kept), Some(next)) = (kept, next) {
            let entry = TodoEntry {
                next: Some(next.next()),
                ..kept.entry.clone()
            };
            all.document.replace(&kept, &entry);
            self.save(&self.recurring, &mut all)?;
        }
        Ok(())
    }
}

fn recurrence(entry: &TodoEntry) -> Option<Recurrence> {
    let (next, repeat) = (entry.next.as_deref()?, entry.repeat.as_deref()?);
    Recurrence::parse(next, repeat, entry.tz.as_deref()).ok()
}

/// The ids stored in lines.
fn names(document: &TodoDocument) -> BTreeSet<String> {
    let all = document.entries().into_iter();
    all.filter_map(|kept| kept.entry.id).collect()
}

/// Whether an item of `TODO.md` is completed.
fn is_finished(kept: &PlacedEntry, finished: &BTreeSet<String>) -> bool {
    let name = kept.entry.id.as_ref();
    name.is_some_and(|name| finished.contains(name))
}

/// The open items.
fn live(document: &TodoDocument, finished: &BTreeSet<String>) -> Vec<PlacedEntry> {
    let all = document.entries().into_iter();
    all.filter(|kept| !kept.entry.done && !is_finished(kept, finished))
        .collect()
}

#[cfg(test)]
mod tests;
