//! Parses settings files: JSON with comments, TOML or YAML.

use std::path::Path;

use serde_json::Value;

/// Format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are allowed.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// Chosen by the file extension.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|end| end.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }

    /// Parses the text.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        // Editors on Windows write a byte order mark, which JSON does not allow.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        match self {
            Self::Json => {
                serde_json::from_str(&plain_json(text)).map_err(|e| format!("invalid JSON: {e}"))
            }
            Self::Toml => toml::from_str(text).map_err(|e| format!("invalid TOML: {e}")),
            Self::Yaml => serde_saphyr::from_str(text).map_err(|e| format!("invalid YAML: {e}")),
        }
    }
}

/// Removes comments and trailing commas. Line numbers stay the same, for error messages.
fn plain_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // Position of the last comma that is followed by nothing but space so far.
    let mut comma = None;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                comma = None;
                out.push(c);
                while let Some(inside) = rest.next() {
                    out.push(inside);
                    match inside {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut star = false;
                for inside in rest.by_ref() {
                    if inside == '\n' {
                        out.push('\n');
                    }
                    if star && inside == '/' {
                        break;
                    }
                    star = inside == '*';
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            (c, _) if c.is_whitespace() => out.push(c),
            (c, _) => {
                comma = None;
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        let text = "// first\n{ \"a\": \"http://x // no\", /* two\nlines */ \"b\": [1, 2,], // end\n \"c\\\"//\": \"\\\\\", }\n";
        let expected = json!({ "a": "http://x // no", "b": [1, 2], "c\"//": "\\" });
        assert_eq!(Format::Json.parse(text), Ok(expected));
        assert_eq!(plain_json(text).lines().count(), text.lines().count());
        for wrong in ["{", "{ \"a\": 1,, }", "/*", "\"", "{} x"] {
            assert!(Format::Json.parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_empty_file_says_nothing() {
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            assert_eq!(format.parse(" \n"), Ok(Value::Null));
        }
    }
}
