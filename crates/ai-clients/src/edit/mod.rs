//! Puts our entry into a client's settings, and takes it out again.
//!
//! Every editor changes text, and its result is parsed and compared with what was intended: a file in a style that an
//! editor does not understand is refused, never damaged.

mod jsonc;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use std::path::Path;

use serde_json::{Map, Value};

use crate::{Client, ENTRY, Format, Layout};

/// Where the entry is in a file.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    format: Format,
    key: &'static str,
    layout: Layout,
}

impl Place {
    /// Where a client's file has it.
    pub fn of(client: Client, file: &Path) -> Self {
        Self {
            format: Format::of(file),
            key: client.key(),
            layout: client.layout(),
        }
    }

    /// The entry in a text, if there is one.
    pub fn read(self, text: &str) -> Result<Option<Value>, String> {
        let document = self.format.parse(text)?;
        let servers = &document[self.key];
        Ok(match self.layout {
            Layout::Map => servers.get(ENTRY).cloned(),
            Layout::List => position(servers).map(|at| servers[at].clone()),
        })
    }

    /// What a text means.
    pub fn document(self, text: &str) -> Result<Value, String> {
        self.format.parse(text)
    }

    /// Whether a text has the key of the servers.
    pub fn has_servers(self, text: &str) -> Result<bool, String> {
        Ok(self.format.parse(text)?.get(self.key).is_some())
    }

    /// Returns the text with the entry.
    pub fn with(self, text: &str, entry: &Value) -> Result<String, String> {
        let before = self.format.parse(text)?;
        let expected = self.expected(before, Some(entry))?;
        let edited = match self.format {
            Format::Json => jsonc::set(text, &[self.key, ENTRY], entry)?,
            Format::Toml => toml::set(text, self.key, ENTRY, entry)?,
            Format::Yaml => yaml::set(text, self.key, self.layout, ENTRY, entry)?,
        };
        self.checked(edited, &expected)
    }

    /// Returns the text without the entry, and without the servers around it if they were `added` with it and are empty
    /// now; `None` if it has none.
    pub fn without(self, text: &str, added: bool) -> Result<Option<String>, String> {
        if self.read(text)?.is_none() {
            return Ok(None);
        }
        let expected = self.expected(self.format.parse(text)?, None)?;
        let edited = match self.format {
            Format::Json => jsonc::remove(text, &[self.key, ENTRY])?,
            Format::Toml => toml::remove(text, self.key, ENTRY),
            Format::Yaml => yaml::remove(text, self.key, self.layout, ENTRY)?,
        };
        let edited = edited.ok_or(self.refusal())?;
        let empty = match &expected[self.key] {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        if !empty {
            return self.checked(edited, &expected).map(Some);
        }
        let mut without = expected.clone();
        if let Some(map) = without.as_object_mut() {
            map.shift_remove(self.key);
        }
        if self.format == Format::Toml {
            // The servers as such may or may not have a header.
            let checked = self.checked(edited.clone(), &without);
            return checked
                .or_else(|_| self.checked(edited, &expected))
                .map(Some);
        }
        if !added {
            return self.checked(edited, &expected).map(Some);
        }
        let shorter = match self.format {
            Format::Yaml => yaml::remove_empty(&edited, self.key, self.layout)?,
            Format::Json | Format::Toml => jsonc::remove(&edited, &[self.key])?,
        };
        self.checked(shorter.unwrap_or(edited), &without).map(Some)
    }

    /// The document as it should be after the edit.
    fn expected(self, mut document: Value, entry: Option<&Value>) -> Result<Value, String> {
        if document.is_null() {
            document = Value::Object(Map::new());
        }
        let top = document.as_object_mut();
        let top = top.ok_or("the top level is not an object")?;
        let servers = top.entry(self.key).or_insert(Value::Null);
        if servers.is_null() {
            *servers = match self.layout {
                Layout::Map => Value::Object(Map::new()),
                Layout::List => Value::Array(Vec::new()),
            };
        }
        let at = position(servers);
        match (servers, self.layout, entry) {
            (Value::Object(map), Layout::Map, Some(entry)) => {
                map.insert(ENTRY.to_owned(), entry.clone());
            }
            (Value::Object(map), Layout::Map, None) => {
                map.shift_remove(ENTRY);
            }
            (Value::Array(list), Layout::List, Some(entry)) => {
                let mut named = Map::from_iter([("name".to_owned(), Value::from(ENTRY))]);
                named.extend(entry.as_object().cloned().unwrap_or_default());
                match at {
                    Some(at) => list[at] = Value::Object(named),
                    None => list.insert(0, Value::Object(named)),
                }
            }
            (Value::Array(list), Layout::List, None) => {
                if let Some(at) = at {
                    list.remove(at);
                }
            }
            (_, Layout::Map, _) => return Err(format!("{} is not an object", self.key)),
            (_, Layout::List, _) => return Err(format!("{} is not a list", self.key)),
        }
        Ok(document)
    }

    fn checked(self, edited: String, expected: &Value) -> Result<String, String> {
        match self.format.parse(&edited) {
            Ok(Value::Null) if *expected == Value::Object(Map::new()) => Ok(edited),
            Ok(meaning) if meaning == *expected => Ok(edited),
            _ => Err(self.refusal()),
        }
    }

    fn refusal(self) -> String {
        format!(
            "its {} cannot be edited without rewriting other parts of the file",
            self.key
        )
    }
}

fn position(servers: &Value) -> Option<usize> {
    let mut list = servers.as_array()?.iter();
    list.position(|one| one["name"] == ENTRY)
}
