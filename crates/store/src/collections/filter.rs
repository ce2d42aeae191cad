//! Filters of rows: tests of fields, combined with `and`, `or` and `not`.
//!
//! A filter compiles to literals with placeholders. Field names and values are parameters, so nothing in them can become
//! SQL.

use serde_json::{Map, Value};

use crate::sql::Statement;

const MAX_DEPTH: usize = 8;
const MAX_TESTS: usize = 100;
const MAX_FIELD: usize = 200;

/// A filter of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter(FilterNode);

#[derive(Debug, Clone, PartialEq)]
enum FilterNode {
    All(Vec<FilterNode>),
    Any(Vec<FilterNode>),
    Not(Box<FilterNode>),
    Test { field: Field, op: Op, value: Value },
}

/// A sort order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    field: Field,
    descending: bool,
}

/// What is wrong with a filter, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(String);

#[derive(Debug, Clone, PartialEq)]
enum Field {
    Id,
    Created,
    Updated,
    /// A path in SQLite's spelling: `$."a"."b"`.
    Data(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    In,
    Contains,
    Exists,
}

const OPS: [(&str, Op); 9] = [
    ("eq", Op::Eq),
    ("ne", Op::Ne),
    ("lt", Op::Lt),
    ("lte", Op::Lte),
    ("gt", Op::Gt),
    ("gte", Op::Gte),
    ("in", Op::In),
    ("contains", Op::Contains),
    ("exists", Op::Exists),
];

fn wrong<T>(at: &str, why: impl std::fmt::Display) -> Result<T, FilterError> {
    Err(FilterError(format!("{at}: {why}")))
}

impl Filter {
    /// Parses a filter: `{"field", "op", "value"}`, or `{"and": […]}`,
    /// `{"or": […]}`, `{"not": {…}}`.
    pub fn parse(object: &Map<String, Value>) -> Result<Self, FilterError> {
        node(object, "filter", 0, &mut 0).map(Self)
    }

    pub(super) fn compile(&self, statement: Statement) -> Statement {
        self.0.compile(statement)
    }
}

impl Sort {
    /// Orders by `field`.
    pub fn by(field: &str, descending: bool) -> Result<Self, FilterError> {
        let field = parse_field(field, "sort")?;
        Ok(Self { field, descending })
    }

    pub(super) fn compile(&self, statement: Statement) -> Statement {
        let order = if self.descending { " DESC" } else { " ASC" };
        self.field.value(statement).then(order)
    }
}

fn node(
    object: &Map<String, Value>,
    at: &str,
    depth: usize,
    tests: &mut usize,
) -> Result<FilterNode, FilterError> {
    if depth > MAX_DEPTH {
        return wrong(at, format!("filters may be {MAX_DEPTH} deep, not more"));
    }
    if object.contains_key("field") {
        *tests += 1;
        if *tests > MAX_TESTS {
            return wrong(at, format!("there may be {MAX_TESTS} tests, not more"));
        }
        return test(object, at);
    }
    let mut entries = object.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return wrong(
            at,
            "must be {\"field\", \"op\", \"value\"}, or one of and, or, not",
        );
    };
    let at = format!("{at}.{key}");
    let mut below = |value: &Value, at: &str| match value {
        Value::Object(object) => node(object, at, depth + 1, tests),
        _ => wrong(at, "must be an object"),
    };
    let list = |below: &mut dyn FnMut(&Value, &str) -> Result<FilterNode, FilterError>| match value
    {
        Value::Array(items) if !items.is_empty() => {
            let each = items.iter().enumerate();
            each.map(|(n, item)| below(item, &format!("{at}.{n}")))
                .collect()
        }
        _ => wrong(&at, "must be a list of filters"),
    };
    match key.as_str() {
        "and" => list(&mut below).map(FilterNode::All),
        "or" => list(&mut below).map(FilterNode::Any),
        "not" => Ok(FilterNode::Not(Box::new(below(value, &at)?))),
        _ => wrong(&at, "is not known: use field, and, or, not"),
    }
}

fn test(object: &Map<String, Value>, at: &str) -> Result<FilterNode, FilterError> {
    if let Some(key) = object
        .keys()
        .find(|key| !["field", "op", "value"].contains(&key.as_str()))
    {
        return wrong(at, format!("{key:?} is not known: use field, op and value"));
    }
    let Some(Value::String(field)) = object.get("field") else {
        return wrong(&format!("{at}.field"), "must be a text");
    };
    let field = parse_field(field, &format!("{at}.field"))?;
    let words = || OPS.map(|(word, _)| word).join(", ");
    let op = match object.get("op") {
        None => Op::Eq,
        Some(Value::String(op)) => match OPS.into_iter().find(|(word, _)| word == op) {
            Some((_, op)) => op,
            None => return wrong(&format!("{at}.op"), format!("must be one of {}", words())),
        },
        Some(_) => return wrong(&format!("{at}.op"), format!("must be one of {}", words())),
    };
    let at = format!("{at}.value");
    let Some(value) = object.get("value").cloned() else {
        return wrong(&at, "is required");
    };
    let scalar = |value: &Value| !value.is_array() && !value.is_object();
    let fits = match op {
        Op::Eq | Op::Ne => scalar(&value),
        Op::Lt | Op::Lte | Op::Gt | Op::Gte => value.is_number() || value.is_string(),
        Op::Contains => value.is_number() || value.is_string(),
        Op::Exists => value.is_boolean(),
        Op::In => value
            .as_array()
            .is_some_and(|all| all.len() <= MAX_TESTS && all.iter().all(scalar)),
    };
    let wanted = match op {
        Op::Eq | Op::Ne => "a text, a number, true, false or null",
        Op::Exists => "true or false",
        Op::In => "a list of at most 100 texts, numbers, true, false or null",
        _ => "a text or a number",
    };
    match fits {
        true => Ok(FilterNode::Test { field, op, value }),
        false => wrong(&at, format!("must be {wanted}")),
    }
}

fn parse_field(field: &str, at: &str) -> Result<Field, FilterError> {
    match field {
        "$id" => return Ok(Field::Id),
        "$created" => return Ok(Field::Created),
        "$updated" => return Ok(Field::Updated),
        _ => {}
    }
    let legal = |part: &str| {
        !part.is_empty()
            && !part
                .chars()
                .any(|c| c.is_control() || matches!(c, '"' | '\\'))
    };
    if field.len() > MAX_FIELD || !field.split('.').all(legal) {
        let why = "must be a name such as status or address.city, or $id, $created, $updated";
        return wrong(at, why);
    }
    let path: String = field
        .split('.')
        .map(|part| format!(".\"{part}\""))
        .collect();
    Ok(Field::Data(format!("${path}")))
}

impl Field {
    fn value(&self, statement: Statement) -> Statement {
        match self {
            Self::Id => statement.then("id"),
            Self::Created => statement.then("created"),
            Self::Updated => statement.then("updated"),
            Self::Data(path) => {
                let with = statement.then_with("json_extract(data, ", path.as_str());
                with.then(")")
            }
        }
    }

    /// The JSON type: NULL where there is no such field.
    fn kind(&self, statement: Statement) -> Statement {
        match self {
            Self::Id => statement.then("'text'"),
            Self::Created | Self::Updated => statement.then("'integer'"),
            Self::Data(path) => {
                let with = statement.then_with("json_type(data, ", path.as_str());
                with.then(")")
            }
        }
    }
}

impl FilterNode {
    fn compile(&self, statement: Statement) -> Statement {
        match self {
            Self::All(nodes) => joined(nodes, " AND ", statement),
            Self::Any(nodes) => joined(nodes, " OR ", statement),
            Self::Not(node) => node.compile(statement.then("NOT ")),
            Self::Test { field, op, value } => {
                // SQL has a third truth value: without this a test of a missing field would be NULL, and so would its
                // negation.
                let inner = statement.then("(COALESCE((");
                compile_test(field, *op, value, inner).then("), 0) <> 0)")
            }
        }
    }
}

fn joined(nodes: &[FilterNode], between: &'static str, statement: Statement) -> Statement {
    let mut statement = statement.then("(");
    for (n, node) in nodes.iter().enumerate() {
        let next = if n == 0 {
            statement
        } else {
            statement.then(between)
        };
        statement = node.compile(next);
    }
    statement.then(")")
}

fn compile_test(field: &Field, op: Op, value: &Value, statement: Statement) -> Statement {
    match op {
        Op::Eq => equals(field, value, statement),
        Op::Ne => equals(field, value, statement.then("NOT COALESCE((")).then("), 0)"),
        Op::Lt => compares(field, " < ", value, statement),
        Op::Lte => compares(field, " <= ", value, statement),
        Op::Gt => compares(field, " > ", value, statement),
        Op::Gte => compares(field, " >= ", value, statement),
        Op::In => {
            let mut statement = statement.then("1 = 0");
            for value in value.as_array().into_iter().flatten() {
                statement = equals(field, value, statement.then(" OR (")).then(")");
            }
            statement
        }
        Op::Contains => contains(field, value, statement),
        Op::Exists => {
            let kind = field.kind(statement);
            let there = value.as_bool().unwrap_or(true);
            kind.then(if there { " IS NOT NULL" } else { " IS NULL" })
        }
    }
}

fn equals(field: &Field, value: &Value, statement: Statement) -> Statement {
    match value {
        Value::Null => field.value(statement).then(" IS NULL"),
        Value::Bool(true) => field.kind(statement).then(" = 'true'"),
        Value::Bool(false) => field.kind(statement).then(" = 'false'"),
        other => compares(field, " = ", other, statement),
    }
}

/// Compares numbers only with numbers and texts only with texts: SQLite orders all numbers before all texts.
fn compares(field: &Field, how: &'static str, value: &Value, statement: Statement) -> Statement {
    let kinds = match value {
        Value::Number(_) => " IN ('integer', 'real') AND ",
        _ => " = 'text' AND ",
    };
    let left = field.value(field.kind(statement).then(kinds));
    bound(left.then(how), value)
}

fn contains(field: &Field, value: &Value, statement: Statement) -> Statement {
    let mut statement = statement.then("1 = 0");
    if let Value::String(text) = value {
        let kind = field
            .kind(statement.then(" OR ("))
            .then(" = 'text' AND instr(lower(");
        let found = field.value(kind).then_with("), lower(", text.as_str());
        statement = found.then(")) > 0)");
    }
    if let Field::Data(path) = field {
        let kind = field
            .kind(statement.then(" OR ("))
            .then(" = 'array' AND EXISTS");
        let each = kind.then_with(" (SELECT 1 FROM json_each(data, ", path.as_str());
        let each = each.then(") AS item WHERE item.value = ");
        statement = bound(each, value).then("))");
    }
    statement
}

/// Binds a value. Fractions are passed as text and cast, because parameters are integers or texts.
fn bound(statement: Statement, value: &Value) -> Statement {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) => statement.then_with("", whole),
            None => statement
                .then_with("CAST(", number.to_string())
                .then(" AS REAL)"),
        },
        Value::String(text) => statement.then_with("", text.as_str()),
        _ => statement.then("NULL"),
    }
}
