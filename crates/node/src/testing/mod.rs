//! The contract of the seven tools as a table: every parameter, output field, limit and error of
//! the text, held against whatever offers the tools.
//!
//! A case is one call and what must come of it. They run in order, and a later one may use what
//! an earlier one kept.

mod expect;
mod files;
mod process;
mod search;
mod shell;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use expect::mismatch;

/// How often a case is tried that waits for something to happen.
const TRIES: usize = 20_000;

/// One call, and what must come of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it claims.
    pub name: &'static str,
    /// The tool, without a node's name before it.
    pub tool: &'static str,
    /// The arguments. A text `$name` stands for what an earlier case kept under that name.
    pub args: Value,
    /// What must come of it.
    pub expect: Expect,
    /// Under which name which field of the result is kept.
    pub capture: Option<(&'static str, &'static str)>,
    /// Whether it is called again until it is so.
    pub wait: bool,
    /// Whether the result is so long that a gateway may shorten it.
    pub long: bool,
}

/// What must come of a call.
#[derive(Debug, Clone)]
pub enum Expect {
    /// A result that has these fields. Texts that begin with `$` say what kind of value is
    /// there: `$uuid`, `$number`, `$string`, `$absent`, `$has …`, `$starts …`, `$ends …`,
    /// `$chars …`. The field `$only` says that there are no others.
    Result(Value),
    /// An error whose text holds all of these.
    Error(Vec<&'static str>),
}

impl Case {
    fn returns(tool: &'static str, name: &'static str, args: Value, result: Value) -> Self {
        Self {
            name,
            tool,
            args,
            expect: Expect::Result(result),
            capture: None,
            wait: false,
            long: false,
        }
    }

    fn fails(tool: &'static str, name: &'static str, args: Value, parts: &[&'static str]) -> Self {
        Self {
            expect: Expect::Error(parts.to_vec()),
            ..Self::returns(tool, name, args, Value::Null)
        }
    }

    fn keeping(mut self, name: &'static str, field: &'static str) -> Self {
        self.capture = Some((name, field));
        self
    }

    fn waiting(mut self) -> Self {
        self.wait = true;
        self
    }

    fn long(mut self) -> Self {
        self.long = true;
        self
    }
}

/// Every case, for tools whose workspace is `workspace`. [`prepare`] puts the files there.
pub fn cases(workspace: &Path) -> Vec<Case> {
    let mut cases = shell::cases(workspace);
    cases.extend(process::cases());
    cases.extend(files::cases(workspace));
    cases.extend(search::cases(workspace));
    cases
}

/// Puts the files into the workspace that the cases are about.
pub fn prepare(workspace: &Path) -> std::io::Result<()> {
    files::prepare(workspace)?;
    search::prepare(workspace)
}

/// Runs every case, and panics with all that are not so. `workspace` must be empty.
///
/// # Panics
/// When a case is not so.
pub async fn check(call: impl AsyncFn(&str, Value) -> Result<Value, String>, workspace: &Path) {
    check_these(call, workspace, cases(workspace)).await;
}

/// As [`check`], without results so long that a gateway may shorten them.
///
/// # Panics
/// When a case is not so.
pub async fn check_short(
    call: impl AsyncFn(&str, Value) -> Result<Value, String>,
    workspace: &Path,
) {
    let mut short = cases(workspace);
    short.retain(|case| !case.long);
    check_these(call, workspace, short).await;
}

async fn check_these(
    call: impl AsyncFn(&str, Value) -> Result<Value, String>,
    workspace: &Path,
    cases: Vec<Case>,
) {
    prepare(workspace).expect("the workspace can be written");
    let mut captured = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases {
        let args = filled_in(case.args.clone(), &captured);
        let mut tries = 0;
        let told = loop {
            tries += 1;
            let response = call(case.tool, args.clone()).await;
            let told = judge(&case, &response);
            if told.is_none() || !case.wait || tries == TRIES {
                if let (Some((name, field)), Ok(result)) = (case.capture, &response) {
                    captured.insert(name, result[field].clone());
                }
                break told;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        };
        wrong.extend(told.map(|told| format!("{}: {}: {told}", case.tool, case.name)));
    }
    assert!(
        wrong.is_empty(),
        "{} cases are not so:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What is not as it must be.
fn judge(case: &Case, response: &Result<Value, String>) -> Option<String> {
    match (&case.expect, response) {
        (Expect::Result(expected), Ok(result)) => mismatch(expected, result, "result"),
        (Expect::Error(parts), Err(text)) => {
            let missing: Vec<_> = parts.iter().filter(|word| !text.contains(**word)).collect();
            (!missing.is_empty()).then(|| format!("{missing:?} is not in the error {text:?}"))
        }
        (Expect::Result(_), Err(text)) => Some(format!("failed with {text:?}")),
        (Expect::Error(_), Ok(result)) => Some(format!("succeeded with {result}")),
    }
}

fn filled_in(args: Value, captured: &BTreeMap<&str, Value>) -> Value {
    match args {
        Value::String(text) => {
            let known = text.strip_prefix('$').and_then(|name| captured.get(name));
            known.cloned().unwrap_or(Value::String(text))
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (name, filled_in(value, captured)))
                .collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confinement, SandboxMode, ToolSettings, Toolbox};
    use manyhands_core::{Clock, Ids, SeededEntropy, SystemClock};
    use manyhands_guard::Supervisor;
    use std::sync::Arc;
    use tokio_util::sync::CancellationToken;

    async fn check_in_process(confinement: impl FnOnce(&Path) -> Confinement) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().canonicalize().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let env = [
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/nowhere"),
            ("MANYHANDS_TOKEN", "hunter2"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let toolbox = Toolbox::new(ToolSettings {
            terminals: false,
            workspace: workspace.clone(),
            env: env.into(),
            confinement: confinement(&workspace),
            supervisor: Supervisor::new(100),
            ids: Ids::new(clock.clone(), Arc::new(SeededEntropy::new(9))),
            clock,
        })
        .unwrap();
        let call = async |tool: &str, args: Value| {
            let cancel = CancellationToken::new();
            let response = toolbox
                .call(
                    tool,
                    args,
                    "call",
                    &cancel,
                    crate::tools::OutputOptions::default(),
                )
                .await;
            response.map_err(|error| error.text())
        };
        check(call, &workspace).await;
    }

    #[tokio::test]
    async fn the_tools_keep_their_contract() {
        check_in_process(|_| Confinement::default()).await;
    }

    #[tokio::test]
    async fn the_tools_keep_their_contract_in_a_jail_and_in_a_sandbox() {
        check_in_process(|workspace| Confinement {
            jail: Some(workspace.to_owned()),
            sandbox: SandboxMode::Workspace,
        })
        .await;
    }

    #[test]
    fn there_are_cases_for_every_tool_and_parameter() {
        let cases = cases(Path::new("/w"));
        assert!(cases.len() > 120, "{}", cases.len());
        for (tool, parameters) in [
            (
                "Bash",
                &["command", "workdir", "timeout", "background", "yieldMs"][..],
            ),
            (
                "Process",
                &["action", "sessionId", "data", "offset", "limit"],
            ),
            ("Read", &["path", "offset", "limit"]),
            ("Write", &["path", "content"]),
            ("Edit", &["path", "oldString", "newString", "replaceAll"]),
            ("Glob", &["pattern", "path", "noIgnore"]),
            (
                "Grep",
                &[
                    "pattern",
                    "path",
                    "include",
                    "limit",
                    "context",
                    "noIgnore",
                    "followLinks",
                ],
            ),
        ] {
            for parameter in parameters {
                let with = cases
                    .iter()
                    .filter(|case| case.args.get(parameter).is_some());
                assert!(
                    with.filter(|case| case.tool == tool).count() > 0,
                    "{tool} {parameter}"
                );
            }
        }
    }
}
