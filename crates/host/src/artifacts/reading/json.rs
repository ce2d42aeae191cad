//! Values of a JSON file.

use std::sync::Arc;

use manyhands_core::{ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::path::{self, Selected};
use super::window::Window;
use super::{TextPart, TextRange, TextSource, large};

/// The largest file parsed as a whole, in bytes; of larger ones only the selected parts are in
/// memory. Smaller in tests, which read many files.
pub(super) const MOST: usize = if cfg!(test) { 1 << 19 } else { 16 << 20 };
/// The most indices of one request.
const MAX_INDICES: usize = 10_000;

/// A request for values of a JSON file: those at a path, or elements of a list.
#[derive(Debug)]
pub struct JsonAsk {
    /// The JSON path; the whole document when `None`.
    pub path: Option<String>,
    /// Which elements of a list.
    pub indices: Option<Indices>,
}

/// Elements of a list: single ones and ranges, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub struct Indices(Vec<(usize, usize)>);

impl Indices {
    /// Parses `0,1,2` or `0-5`.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
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
        // A single range may reach past the end of the list. Many of them could repeat the list, so
        // their sum is limited.
        if ranges.len() > 1 && count.is_none_or(|count| count > MAX_INDICES) {
            let message = format!("must name at most {MAX_INDICES} elements");
            return Err(ToolError::parameter("array_indices", message));
        }
        Ok(Self(ranges))
    }

    /// Returns whether an element is selected.
    pub(super) fn takes(&self, place: usize) -> bool {
        self.0
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&place))
    }

    /// The last element that can be selected.
    pub(super) fn last(&self) -> usize {
        self.0.iter().map(|(_, last)| *last).max().unwrap_or(0)
    }

    /// The selected elements of a list of `count`, in the requested order.
    pub(super) fn of<'a>(
        &self,
        count: usize,
        element: impl Fn(usize) -> Option<&'a Value>,
    ) -> Result<Vec<&'a Value>, ToolError> {
        let mut found = Vec::new();
        for (first, last) in &self.0 {
            if *first >= count {
                let message = format!("there is no element {first}: the list has {count}");
                return Err(ToolError::parameter("array_indices", message));
            }
            found.extend((*first..=(*last).min(count - 1)).filter_map(&element));
        }
        Ok(found)
    }
}

impl JsonAsk {
    /// A page of the result, as indented JSON. `places` limits how many files are read at once.
    pub async fn read(
        self,
        mut source: TextSource,
        page: TextRange,
        places: &Arc<Semaphore>,
    ) -> Result<TextPart, ToolError> {
        let place = places.clone().acquire_owned().await;
        let place = place.map_err(|e| ToolError::internal(e.to_string()))?;
        let (text, whole) = source.all(MOST).await?;
        if !whole {
            return large::read(self, text, source, page, place).await;
        }
        let done = tokio::task::spawn_blocking(move || {
            let part = self.answer(&text, page);
            drop(place);
            part
        });
        done.await.map_err(|e| ToolError::internal(e.to_string()))?
    }

    fn answer(&self, text: &str, page: TextRange) -> Result<TextPart, ToolError> {
        let document: Value = serde_json::from_str(text).map_err(|e| not_json(&e))?;
        let found = match &self.path {
            Some(path) => path::find(&document, path)?,
            None => Selected::One(&document),
        };
        let Some(indices) = &self.indices else {
            return match found {
                Selected::One(value) => shown(value, page),
                Selected::Many(values) => shown(&values, page),
            };
        };
        let elements = match &found {
            Selected::One(Value::Array(list)) => list.iter().collect(),
            Selected::One(other) => return Err(no_list(self.path.as_deref(), other)),
            // A query that can only match one value selects the list that it is.
            Selected::Many(values) => match (&values[..], self.is_singular()) {
                ([Value::Array(list)], true) => list.iter().collect(),
                _ => values.clone(),
            },
        };
        shown(
            &indices.of(elements.len(), |place| elements.get(place).copied())?,
            page,
        )
    }

    /// Returns whether the path is a query that matches at most one value.
    pub(super) fn is_singular(&self) -> bool {
        let path = self.path.as_deref().unwrap_or_default();
        large::split(path).is_some_and(|query| query.is_singular())
    }
}

pub(super) fn not_json(error: &serde_json::Error) -> ToolError {
    ToolError::new(ErrorCode::Failed, format!("the file is not JSON: {error}"))
        .hint("use search, start_line and end_line, or offset and limit instead")
}

/// The error for elements requested of something that is not a list.
pub(super) fn no_list(path: Option<&str>, found: &Value) -> ToolError {
    let kind = match found {
        Value::Object(_) => "an object",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null => "null",
        Value::Array(_) => "a list",
    };
    let message = match path {
        Some(path) => format!("needs a list, and json_path {path:?} selects {kind}"),
        None => format!("needs a list, and the file is {kind}"),
    };
    ToolError::parameter("array_indices", message)
        .hint("select a list with json_path, such as data.items")
}

fn shown(value: &impl serde::Serialize, page: TextRange) -> Result<TextPart, ToolError> {
    let mut window = Window::new(page);
    let written = serde_json::to_writer_pretty(&mut window, value);
    match written {
        Err(error) if !window.is_full() => Err(ToolError::internal(error.to_string())),
        _ => window.finish(),
    }
}
