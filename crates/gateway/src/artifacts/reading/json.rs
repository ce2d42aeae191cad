//! Values of a JSON file.

use std::sync::Arc;

use manyhands_core::{ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::path::{self, Found};
use super::window::Window;
use super::{Page, Part, Source, too_large};

/// The largest file that is read as JSON, in bytes.
const MOST: usize = 16 * 1024 * 1024;
/// The most indices that can be asked for.
const MAX_INDICES: usize = 10_000;

/// What is asked of a JSON file.
#[derive(Debug)]
pub(crate) enum JsonAsk {
    /// Values at a path.
    Path(String),
    /// Elements of the list that the file is.
    Indices(Indices),
}

/// Elements of a list: single ones and ranges, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Indices(Vec<(usize, usize)>);

impl Indices {
    /// Reads `0,1,2` or `0-5`.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = || {
            let message = "must be indices or ranges such as 0,1,2 or 0-5";
            ToolError::parameter("array_indices", message)
        };
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let mut ranges = Vec::new();
        for part in text.split(',') {
            let range = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if range.1 < range.0 {
                return Err(wrong());
            }
            ranges.push(range);
        }
        let count = ranges.iter().try_fold(0_usize, |sum, (first, last)| {
            sum.checked_add(last - first)?.checked_add(1)
        });
        // A range may reach past the end of the list; many of them may not repeat it.
        if ranges.len() > 1 && count.is_none_or(|count| count > MAX_INDICES) {
            let message = format!("must name at most {MAX_INDICES} elements");
            return Err(ToolError::parameter("array_indices", message));
        }
        Ok(Self(ranges))
    }

    fn of<'a>(&self, list: &'a [Value]) -> Result<Vec<&'a Value>, ToolError> {
        let mut found = Vec::new();
        for (first, last) in &self.0 {
            let part = list.get(*first..).unwrap_or_default();
            if part.is_empty() {
                let message = format!("there is no element {first}: the list has {}", list.len());
                return Err(ToolError::parameter("array_indices", message));
            }
            found.extend(part.iter().take(last - first + 1));
        }
        Ok(found)
    }
}

impl JsonAsk {
    /// A page of the answer, as indented JSON. Few files are read like this at once.
    pub(crate) async fn read(
        self,
        source: Source,
        page: Page,
        places: &Arc<Semaphore>,
    ) -> Result<Part, ToolError> {
        let what = match self {
            Self::Path(_) => "json_path",
            Self::Indices(_) => "array_indices",
        };
        let place = places.clone().acquire_owned().await;
        let place = place.map_err(|e| ToolError::internal(e.to_string()))?;
        let all = source.all(MOST).await?;
        let all = all.ok_or_else(|| too_large(what, MOST))?;
        let done = tokio::task::spawn_blocking(move || {
            let part = self.answer(&all, page);
            drop(place);
            part
        });
        done.await.map_err(|e| ToolError::internal(e.to_string()))?
    }

    fn answer(&self, bytes: &[u8], page: Page) -> Result<Part, ToolError> {
        let document: Value = serde_json::from_slice(bytes).map_err(|e| {
            ToolError::new(ErrorCode::Failed, format!("the file is not JSON: {e}"))
                .hint("use search, start_line and end_line, or offset and limit instead")
        })?;
        match self {
            Self::Path(path) => match path::find(&document, path)? {
                Found::One(value) => shown(value, page),
                Found::Many(values) => shown(&values, page),
            },
            Self::Indices(indices) => match &document {
                Value::Array(list) => shown(&indices.of(list)?, page),
                _ => Err(
                    ToolError::parameter("array_indices", "needs a file that is a list")
                        .hint("use json_path for other files, such as data.items[0]"),
                ),
            },
        }
    }
}

fn shown(value: &impl serde::Serialize, page: Page) -> Result<Part, ToolError> {
    let mut window = Window::new(page);
    let written = serde_json::to_writer_pretty(&mut window, value);
    match written {
        Err(error) if !window.is_full() => Err(ToolError::internal(error.to_string())),
        _ => window.finish(),
    }
}
