//! Validates the text of a configuration and finds all problems in it.
//!
//! The TOML tree is walked along the schema. Whatever the walk accepts is what the types accept, so all problems
//! are found in one pass, each with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Problem;
use crate::format::flaw;
use crate::nearest::suggest;
use crate::path::KeyPath;
use crate::settings::Settings;
use crate::shape::{Kind, Shape, root};
use crate::toml_value::{plain, type_word};

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The default; it is not in the file.
    Default,
    /// The file, on this line (1-based).
    File {
        /// The line.
        line: usize,
    },
}

/// Where each setting comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance(BTreeMap<String, usize>);

impl Provenance {
    /// Returns the source of the setting at `path`.
    pub fn of(&self, path: &KeyPath) -> Source {
        match self.0.get(&path.to_string()) {
            Some(line) => Source::File { line: *line },
            None => Source::Default,
        }
    }
}

/// Parses and validates `text`; fails with all problems.
pub(crate) fn check(text: &str) -> Result<(Settings, Provenance), Vec<Problem>> {
    let text = &*crate::appended::merged(text);
    let lines = Lines::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    // With syntax errors the tree is incomplete, and validation would only report consequences.
    if !errors.is_empty() {
        return Err(errors.iter().map(|e| syntax(&lines, e)).collect());
    }
    let mut walk = Walk {
        lines: &lines,
        problems: Vec::new(),
        found: Provenance::default(),
    };
    let value = walk.table(root(), &KeyPath::default(), document.get_ref(), 1);
    if walk.problems.is_empty() {
        return match serde_json::from_value(value) {
            Ok(settings) => Ok((settings, walk.found)),
            // Map keys such as agent names are validated only by their types, which report one error without a line.
            Err(error) => Err(vec![Problem::at(1, "", error.to_string())]),
        };
    }
    // Tables are visited in the order of their names, users read from top to bottom.
    walk.problems.sort_by_key(|problem| problem.line);
    Err(walk.problems)
}

fn syntax(lines: &Lines, error: &toml::de::Error) -> Problem {
    let at = error.span().map_or(0, |span| span.start);
    // Only the message: the full error quotes the line, which may contain a secret.
    let message = error.message().trim().replace('\n', ", ");
    Problem {
        column: Some(lines.column(at)),
        ..Problem::at(lines.line(at), "", message)
    }
}

struct Walk<'t> {
    lines: &'t Lines<'t>,
    problems: Vec<Problem>,
    found: Provenance,
}

impl Walk<'_> {
    fn table(&mut self, shape: &Shape, at: &KeyPath, table: &DeTable<'_>, line: usize) -> Value {
        let mut object = Map::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = at.join(name);
            let line = self.lines.line(key.span().start);
            match shape.child(name) {
                Some(child) => {
                    let child = self.value(child, &path, value, line, None);
                    object.insert(name.to_owned(), child);
                }
                None => self.problems.push(Problem {
                    nearest: suggest(shape, name),
                    ..Problem::at(line, &path, format!("unknown key `{path}`"))
                }),
            }
        }
        if let Kind::Table { required, min, .. } = &shape.kind {
            for key in required
                .iter()
                .filter(|key| !table.contains_key(key.as_str()))
            {
                let path = at.join(key);
                self.problem(line, &path, format!("`{path}` is missing"));
            }
            if table.len() < *min {
                let names: Vec<String> = shape.keys().iter().map(|(k, _)| k.clone()).collect();
                let keys = crate::shape::one_of(&names);
                self.problem(line, at, format!("`{at}` needs at least {keys}"));
            }
        }
        Value::Object(object)
    }

    /// Validates one value. `line` is its key's line; `check` is inherited from an enclosing list.
    fn value(
        &mut self,
        shape: &Shape,
        at: &KeyPath,
        value: &Spanned<DeValue<'_>>,
        line: usize,
        check: Option<&str>,
    ) -> Value {
        // Recorded before validation: an invalid value still has a line to report.
        self.found.0.insert(at.to_string(), line);
        let check = shape.check.as_deref().or(check);
        match (&shape.kind, value.get_ref()) {
            (Kind::Table { .. } | Kind::Map(_), DeValue::Table(table)) => {
                return self.table(shape, at, table, line);
            }
            (Kind::List { item, min }, DeValue::Array(list)) => {
                if list.len() < *min {
                    let wanted = "must not be empty; leave the key out to mean all";
                    self.problem(line, at, format!("`{at}` {wanted}"));
                }
                let items = list.iter().enumerate().map(|(index, entry)| {
                    let line = self.line_of(entry.span(), line);
                    self.value(item, &at.join(index.to_string()), entry, line, check)
                });
                return Value::Array(items.collect());
            }
            (Kind::Text, DeValue::String(text)) => {
                if let Some(flaw) = check.and_then(|name| flaw(name, text)) {
                    self.problem(line, at, format!("`{at}` {flaw}"));
                }
            }
            (Kind::Word(words), DeValue::String(text)) => {
                if !words.iter().any(|word| word == text) {
                    let wanted = shape.describe();
                    self.problem(line, at, format!("`{at}` must be {wanted}"));
                }
            }
            (Kind::Integer { min, max }, DeValue::Integer(_)) => {
                let number = plain(value.get_ref()).ok().and_then(|v| v.as_i64());
                // `None` is an integer beyond i64, which is too large for every setting.
                if number.is_none_or(|n| n > *max) {
                    self.problem(line, at, format!("`{at}` must be at most {max}"));
                } else if number.is_some_and(|n| n < *min) {
                    self.problem(line, at, format!("`{at}` must be at least {min}"));
                }
            }
            (Kind::Float, DeValue::Float(_) | DeValue::Integer(_))
            | (Kind::Bool, DeValue::Boolean(_))
            | (Kind::Any, _) => {}
            (_, found) => {
                let (wanted, found) = (shape.describe(), type_word(found));
                self.problem(line, at, format!("`{at}` must be {wanted}, not {found}"));
            }
        }
        match plain(value.get_ref()) {
            Ok(value) => value,
            Err(why) => {
                // For the other kinds the mismatch was reported above already.
                if matches!(shape.kind, Kind::Any | Kind::Float) {
                    self.problem(line, at, format!("`{at}` {why}"));
                }
                Value::Null
            }
        }
    }

    /// Line of a list entry; some table spans are empty, and the list's line is used then.
    fn line_of(&self, span: Range<usize>, list: usize) -> usize {
        if span.is_empty() {
            list
        } else {
            self.lines.line(span.start)
        }
    }

    fn problem(&mut self, line: usize, key: &KeyPath, message: String) {
        self.problems.push(Problem::at(line, key, message));
    }
}

/// Maps byte offsets to lines and columns.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Self { text, starts }
    }

    fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    fn column(&self, offset: usize) -> usize {
        let start = self.starts[self.line(offset) - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        before.chars().count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LogFormat;
    use manyhands_core::Decision;

    /// The problems of `text`, one per line: `line: message`.
    #[track_caller]
    fn check_problems(text: &str, expect: &[&str]) {
        let problems = check(text).expect_err("a wrong file");
        let shown: Vec<String> = problems
            .iter()
            .map(|p| format!("{}: {p}", p.line.unwrap()))
            .collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_complete_file_is_read() {
        let text = r#"
listen = "[::1]:0"
allowed_origins = ["https://desk.example"]
tls = { cert = "/c.pem", key = "/k.pem" }

[limits]
request_bytes = 0x100
calls_per_minute = 1_000

[[policy.rules]]
decision = "ask"
effects = ["runs", "leaves"]
callers = ["client:*"]

[[policy.rules]]
decision = "deny"
tools = ["tool::shell_exec"]
reason = "not here"
[policy.rules.when."command.line"]
matches = "^rm "
equals = 3

[log]
format = "json"
"#;
        let (settings, found) = check(text).unwrap();
        assert_eq!(settings.limits.request_bytes, 256);
        assert_eq!(settings.limits.calls_per_minute, 1000);
        assert_eq!(settings.limits.result_bytes, 1_048_576, "the default");
        assert_eq!(settings.policy.rules[0].decision, Decision::Ask);
        assert!(settings.policy.rules[0].tools[0].matches("anything"));
        let when = &settings.policy.rules[1].when["command.line"];
        assert_eq!(when.matches.as_deref(), Some("^rm "));
        assert_eq!(when.equals, Some(3.into()));
        assert_eq!(settings.log.format, LogFormat::Json);

        let of = |path: &str| found.of(&path.parse().unwrap());
        assert_eq!(of("listen"), Source::File { line: 2 });
        assert_eq!(of("policy.rules.1.decision"), Source::File { line: 16 });
        assert_eq!(of("limits.result_bytes"), Source::Default);
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(check("").unwrap().0, Settings::default());
        assert_eq!(check("# nothing\n").unwrap().0, Settings::default());
    }

    #[test]
    fn all_problems_come_at_once_in_the_order_of_the_file() {
        check_problems(
            r#"listen = "nowhere"
request_bytes = 5
[limits]
request_byte = 1
calls_per_minute = 0
concurrent_calls = 5000000000
[log]
level = 3
format = "xml"
"#,
            &[
                "1: `listen` must be host:port, as in `127.0.0.1:7717` or `[::1]:7717`",
                "2: unknown key `request_bytes`; did you mean `limits.request_bytes`?",
                "4: unknown key `limits.request_byte`; did you mean `request_bytes`?",
                "5: `limits.calls_per_minute` must be at least 1",
                "6: `limits.concurrent_calls` must be at most 4294967295",
                "8: `log.level` must be text, not a whole number",
                "9: `log.format` must be one of `text`, `json`",
            ],
        );
    }

    #[test]
    fn problems_inside_lists_of_tables_have_their_own_lines() {
        check_problems(
            r#"allowed_origins = [
  "https://a.example",
  "b.example",
]
[[policy.rules]]
decision = "allow"

[[policy.rules]]
tool = ["x"]
effects = ["reads", "smells"]
when.path = { begins_with = "/" }
when.url = {}
when."a.b".matches = "("

[[policy.rules]]
decision = "maybe"
tools = []
"#,
            &[
                "3: `allowed_origins.1` must be origins, scheme and host without a path, as in `https://desk.example`",
                "8: `policy.rules.1.decision` is missing",
                "9: unknown key `policy.rules.1.tool`; did you mean `tools`?",
                "10: `policy.rules.1.effects.1` must be one of `reads`, `writes`, `runs`, `sends`, `leaves`",
                "11: unknown key `policy.rules.1.when.path.begins_with`",
                "12: `policy.rules.1.when.url` needs at least one of `contains`, `equals`, `host`, `matches`, `program`, `starts_with`",
                "13: `policy.rules.1.when.\"a.b\".matches` is not a regular expression: unclosed group",
                "16: `policy.rules.2.decision` must be one of `allow`, `ask`, `deny`",
                "17: `policy.rules.2.tools` must not be empty; leave the key out to mean all",
            ],
        );
    }

    #[test]
    fn wrong_kinds_are_named() {
        check_problems(
            "limits = 3",
            &["1: `limits` must be a table, not a whole number"],
        );
        check_problems(
            "[[log]]\nlevel = \"info\"",
            &["1: `log` must be a table, not a list"],
        );
        check_problems(
            "[policy]\nrules = [1]",
            &["2: `policy.rules.0` must be a table, not a whole number"],
        );
        check_problems(
            "[limits]\nresult_bytes = 99999999999999999999",
            &["2: `limits.result_bytes` must be at most 9223372036854775807"],
        );
        check_problems(
            "[[policy.rules]]\ndecision = \"ask\"\nwhen.x.equals = nan",
            &["3: `policy.rules.0.when.x.equals` must be a finite number"],
        );
        check_problems("[tls]\ncert = \"c\"", &["1: `tls.key` is missing"]);
    }

    #[test]
    fn syntax_errors_have_line_and_column_and_quote_nothing() {
        let text = "listen = \"127.0.0.1:7717\"\n[limits\npassword = \"hunter2\" hunter2\n";
        let problems = check(text).unwrap_err();
        assert_eq!((problems[0].line, problems[0].column), (Some(2), Some(8)));
        assert_eq!(problems[1].line, Some(3));
        let all: String = problems.iter().map(ToString::to_string).collect();
        assert!(!all.contains("hunter2"), "{all}");
        let twice = check("listen = \"a:1\"\nlisten = \"a:2\"").unwrap_err();
        assert_eq!(twice[0].line, Some(2));
        assert!(check("listen = \"127.0.0.1:7717\"\n[limits]\n").is_ok());
    }
}
