//! Paths into JSON: dots and brackets, or RFC 9535 queries that begin with `$`.

use manyhands_core::ToolError;
use serde_json::Value;
use serde_json_path::JsonPath;

/// The longest path.
const MAX_PATH: usize = 1_000;
/// The most values a query may visit.
const MAX_STEPS: u64 = 20_000_000;
/// Size limits of regular expressions, and their compile cost compared with visiting a value. They
/// are compiled again for every value tried.
const REGEX: [(usize, u64); 3] = [(8 << 10, 1_000), (32 << 10, 5_000), (128 << 10, 20_000)];

/// The cost of a query in a document; an error if it is too high.
pub(super) fn cost(path: &str, document: &Value) -> Result<u64, ToolError> {
    let size = Size::of(document);
    let cost = steps(path, size).saturating_mul(expressions(path)?);
    if cost > MAX_STEPS {
        let message = format!("would visit too many of the {} values", size.values);
        return Err(ToolError::parameter("json_path", message)
            .hint("name more of the path, and use fewer \"..\", lists of selectors and filters"));
    }
    Ok(cost)
}

/// The result of a path.
#[derive(Debug)]
pub(super) enum Selected<'a> {
    /// The value named by dots and brackets.
    One(&'a Value),
    /// All values that match a query.
    Many(Vec<&'a Value>),
}

/// Evaluates `path` in `document`.
pub(super) fn find<'a>(document: &'a Value, path: &str) -> Result<Selected<'a>, ToolError> {
    check_length(path)?;
    match is_query(path) {
        true => {
            let parsed = parse(path)?;
            cost(path, document)?;
            Ok(Selected::Many(parsed.query(document).all()))
        }
        false => dotted(document, path).map(Selected::One),
    }
}

/// Returns whether a path is a query, rather than names and indices.
pub(super) fn is_query(path: &str) -> bool {
    path.trim_start().starts_with('$')
}

pub(super) fn check_length(path: &str) -> Result<(), ToolError> {
    match path.len() > MAX_PATH {
        true => wrong(format!("must have at most {MAX_PATH} bytes")),
        false => Ok(()),
    }
}

pub(super) fn wrong<T>(message: String) -> Result<T, ToolError> {
    Err(ToolError::parameter("json_path", message))
}

pub(super) fn parse(path: &str) -> Result<JsonPath, ToolError> {
    JsonPath::parse(path).or_else(|e| wrong(format!("is not a JSONPath query: {e}")))
}

/// A step of a path of names and indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyStep {
    /// A member by name; in a list, the element with that number.
    Name(String),
    /// An element; negative indices count from the end.
    Index(i64),
}

impl KeyStep {
    /// Its text form.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Name(name) => name.chars().take(100).collect(),
            Self::Index(index) => format!("[{index}]"),
        }
    }

    /// The element of a list, if it denotes one.
    pub(super) fn index(&self) -> Option<i64> {
        match self {
            Self::Name(name) => name.parse().ok(),
            Self::Index(index) => Some(*index),
        }
    }

    /// Appends it to the path so far.
    pub(super) fn after(&self, path: &str) -> String {
        match self {
            Self::Name(name) if path.is_empty() => name.clone(),
            Self::Name(name) => format!("{path}.{name}"),
            Self::Index(index) => format!("{path}[{index}]"),
        }
    }
}

/// Parses `data.items`, `results[0].name`, `results.0` or `list[-1]`.
pub(super) fn steps_of(path: &str) -> Result<Vec<KeyStep>, ToolError> {
    let mut found = Vec::new();
    for part in path.split('.') {
        let (name, indices) = match part.find('[') {
            Some(bracket) => part.split_at(bracket),
            None => (part, ""),
        };
        if !name.is_empty() {
            found.push(KeyStep::Name(name.to_owned()));
        } else if indices.is_empty() {
            return wrong(
                "has an empty part; write data.items or results[0], or a query that begins with $"
                    .to_owned(),
            );
        }
        for index in indices.split_inclusive(']') {
            let inner = index
                .strip_prefix('[')
                .and_then(|index| index.strip_suffix(']'));
            let Some(Ok(number)) = inner.map(|inner| inner.trim().parse::<i64>()) else {
                return wrong(format!(
                    "{index:?} is not an index such as [0]; begin with $ for more than names and indices"
                ));
            };
            found.push(KeyStep::Index(number));
        }
    }
    Ok(found)
}

fn dotted<'a>(document: &'a Value, path: &str) -> Result<&'a Value, ToolError> {
    let mut at = document;
    let mut done = String::new();
    for step in steps_of(path)? {
        let found = match (at, &step) {
            (Value::Object(fields), KeyStep::Name(name)) => fields.get(name),
            (Value::Array(list), step) => step.index().and_then(|number| {
                let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let place = if number < 0 { number + count } else { number };
                list.get(usize::try_from(place).ok()?)
            }),
            _ => None,
        };
        at = found.ok_or_else(|| absent(&step, &done, &seen(at)))?;
        done = step.after(&done);
    }
    Ok(at)
}

/// Describes a value in an error message.
fn seen(at: &Value) -> String {
    match at {
        Value::Object(fields) => has(fields.keys().take(20).map(String::as_str)),
        Value::Array(list) => format!("is a list of {}", list.len()),
        Value::String(_) => "is a text".to_owned(),
        other => format!("is {other}"),
    }
}

pub(super) fn has<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("has {}", names.collect::<Vec<_>>().join(", "))
}

pub(super) fn absent(step: &KeyStep, done: &str, there: &str) -> ToolError {
    let place = if done.is_empty() { "the file" } else { done };
    let part = step.word();
    ToolError::not_found(format!(
        "json_path: there is no {part} in {place}, which {there}"
    ))
}

/// The size of a document.
#[derive(Debug, Clone, Copy)]
struct Size {
    values: u64,
    depth: u64,
}

impl Size {
    fn of(value: &Value) -> Self {
        let inner: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(list) => Box::new(list.iter()),
            Value::Object(fields) => Box::new(fields.values()),
            _ => {
                return Self {
                    values: 1,
                    depth: 1,
                };
            }
        };
        inner.map(Self::of).fold(
            Self {
                values: 1,
                depth: 1,
            },
            |all, one| Self {
                values: all.values + one.values,
                depth: all.depth.max(one.depth + 1),
            },
        )
    }
}

/// An upper bound of the values a query visits: each `..` may see a value once per ancestor, each
/// selector of a list doubles what follows, and `$` within a filter starts over for every value.
fn steps(path: &str, size: Size) -> u64 {
    let mut steps = size.values;
    let (mut quote, mut descents, mut before) = (None, 0_u32, ' ');
    let mut brackets: Vec<u64> = Vec::new();
    for (place, c) in path.trim_start().char_indices() {
        match (quote, c) {
            (Some(_), _) if before == '\\' => {
                before = ' ';
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '(') => brackets.push(1),
            (None, ',') => {
                if let Some(count) = brackets.last_mut() {
                    *count += 1;
                }
            }
            (None, ']' | ')') => steps = steps.saturating_mul(brackets.pop().unwrap_or(1)),
            (None, '.') if before == '.' => {
                descents += 1;
                if descents > 1 {
                    steps = steps.saturating_mul(size.depth);
                }
            }
            (None, '$') if place > 0 => steps = steps.saturating_mul(size.values),
            (None, _) => {}
        }
        before = c;
    }
    steps
}

/// The cost factor of the expressions of `match` and `search`. They must be literals in the query:
/// one taken from the document could be anything.
fn expressions(path: &str) -> Result<u64, ToolError> {
    let mut factor = 1_u64;
    let mut rest = path;
    while let Some(place) = ["match", "search"]
        .iter()
        .filter_map(|name| rest.find(name))
        .min()
    {
        rest = &rest[place..];
        let name = if rest.starts_with("match") {
            "match"
        } else {
            "search"
        };
        rest = &rest[name.len()..];
        let Some(arguments) = rest.trim_start().strip_prefix('(') else {
            continue; // the name of a member
        };
        let Some(expression) = last_argument(arguments).and_then(literal) else {
            return wrong(format!(
                "{name}() needs its expression as a quoted text in the query"
            ));
        };
        let fits = |limit: usize| {
            let mut builder = regex::RegexBuilder::new(&expression);
            builder.size_limit(limit).build().is_ok()
        };
        let Some((_, cost)) = REGEX.iter().find(|(limit, _)| fits(*limit)) else {
            return wrong(format!(
                "the expression of {name}() is not valid, or too large"
            ));
        };
        factor = factor.saturating_mul(*cost);
    }
    Ok(factor)
}

/// The last argument of a call, from the text after its opening bracket.
fn last_argument(text: &str) -> Option<&str> {
    let (mut quote, mut open, mut start, mut escaped) = (None, 0_u32, 0, false);
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(end), c) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => open += 1,
            (None, ')') if open == 0 => return Some(text[start..place].trim()),
            (None, ')' | ']') => open = open.saturating_sub(1),
            (None, ',') if open == 0 => start = place + 1,
            (None, _) => {}
        }
    }
    None
}

/// The content of a quoted text.
fn literal(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let inner = match quote {
        '\'' => inner.replace("\\'", "'").replace('"', "\\\""),
        _ => inner.to_owned(),
    };
    serde_json::from_str(&format!("\"{inner}\"")).ok()
}
