//! `acp_spawn`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manyhands_acp::{AcpError, Bounds, HostCapabilities, Reply, Session, SessionOptions, drive};
use manyhands_agent::SessionKey;
use manyhands_config::{AcpAgent, Confinement};
use manyhands_core::{
    CallContext, CallId, Effects, ErrorCode, Group, Outcome, Progress, ToolError, ToolSpec,
    TypedTool,
};
use manyhands_guard::{SandboxLimits, Stdin};
use manyhands_hands::Root;
use manyhands_hands::shell::{Job, Started, Terms, find_program};
use manyhands_host::machine::{Host, ResolvedPath, SEARCH_PATH, blocking, jail_failure, located};
use manyhands_host::web::Web;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::acp_desk::{AcpHandler, last_log_lines};
use super::envelope::{Subtask, summary};
use super::spawn::{Observe, OutputSchema};
use crate::ground::AgentToolDeps;

/// Time limit of the call; the agent's own `timeout` is shorter.
pub(super) const DEADLINE: Duration = Duration::from_secs(3_660);
/// Such agents running at a time.
const MAX_AGENTS: usize = 8;
/// Variables of the gateway's environment passed to an agent.
const ENVIRONMENT: [&str; 9] = [
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// Resource limits of an agent: such runtimes are large.
const LIMITS: SandboxLimits = SandboxLimits {
    cpu_seconds: 3_600,
    memory_bytes: 8 << 30,
    processes: 512,
    file_bytes: 4 << 30,
    open_files: 4_096,
};

/// Give a task to an agent that somebody else made and that speaks the Agent Client Protocol, such as a coding agent, and wait for
/// its result in the subtask envelope. The owner names such agents in `acp.agents`. It works in a folder of its own with its own
/// model, knows nothing of your conversation, asks the owner where it needs permission, and is stopped when this call is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Which agent, by its name in `acp.agents`; a name that is not there is answered with those that are.
    #[schemars(length(min = 1))]
    agent: String,
    /// What to do. It knows nothing of your conversation: say all it needs.
    #[schemars(length(min = 1))]
    task: String,
    /// Where it works: a folder in the agent's own, which it is when not given.
    cwd: Option<String>,
    /// A JSON Schema that the result has to fit, which is checked; or a name for it, with which the result has to be
    /// JSON of any shape. A result that does not match is requested once more; then the task fails.
    output_schema: Option<OutputSchema>,
    /// Progress to report. `default`: only how it ended. `long_shell`: each tool it uses and how that
    /// went. `web_extract`: each page it fetches and each search it makes.
    observe_profile: Option<Observe>,
}

pub(super) struct AcpSpawn {
    minds: AgentToolDeps,
    host: Host,
    web: Web,
    slots: Semaphore,
}

impl AcpSpawn {
    pub(super) fn new(minds: AgentToolDeps, host: Host, web: Web) -> Self {
        Self {
            minds,
            host,
            web,
            slots: Semaphore::new(MAX_AGENTS),
        }
    }
}

impl TypedTool for AcpSpawn {
    type Params = Params;
    type Output = Subtask<Value>;

    fn spec(&self) -> ToolSpec {
        let effects = Effects::READS.and(Effects::WRITES);
        super::spec("acp_spawn")
            .effects(effects.and(Effects::RUNS).and(Effects::LEAVES))
            .group(Group::Extra)
            .deadline(DEADLINE)
            .waits()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        refuse_sub(context)?;
        // Everything that can be wrong with the call is checked before a program starts.
        if let Some(schema) = &params.output_schema {
            schema.check().await?;
        }
        let agent = self.agent(&params.agent)?;
        let place = self.place(&agent, params.cwd.as_deref())?;
        let program = program(&agent)?;
        // Held until the call ends; `try_acquire`, since a queue of hour-long tasks would look
        // stuck.
        let _slot = self.slots.try_acquire().map_err(|_| {
            let message = format!("the limit of {MAX_AGENTS} concurrent agents is reached");
            ToolError::new(ErrorCode::RateLimited, message).hint("wait until one ends, then retry")
        })?;
        // Whatever ends this call also ends the agent and everything it started.
        let cancel = context.cancel.child_token();
        let _end = cancel.clone().drop_guard();
        let job = self.job(&params.agent, &agent, &place, program).await?;
        let started = self.start(&params.agent, &agent, &job)?;
        let handler = AcpHandler::new(
            &params.agent,
            &agent,
            place,
            (self.host.clone(), self.minds.clone()),
            params.observe_profile.unwrap_or_default(),
            (context.clone(), cancel.clone()),
        );
        let running = AcpTask {
            name: &params.agent,
            agent: &agent,
            handler: Arc::new(handler),
            schema: params.output_schema.as_ref(),
            cwd: job.cwd_shown.clone(),
            terminal: agent.terminal && self.host.settings().tools.bash.enabled,
            cancel,
        };
        let done = running.run(started, params.task).await;
        // Checked after the run: only then are the agent's processes gone.
        if context.cancel.is_cancelled() {
            let message = format!("{} was stopped because its caller was", params.agent);
            return Err(ToolError::new(ErrorCode::Cancelled, message));
        }
        let (status, summary, output, error) = match done {
            Ok((summary, output)) => ("done", summary, output, String::new()),
            Err(error) => ("failed", summary(&error), Value::Null, error),
        };
        running.handler.tell(format!("{status}: {summary}"));
        Outcome::of(&Subtask {
            task_id: self.minds.ids.next::<CallId>().to_string(),
            status,
            summary,
            output_kind: match params.output_schema {
                Some(_) => "json",
                None => "text",
            },
            output_schema: params
                .output_schema
                .as_ref()
                .map_or(Value::Null, OutputSchema::value),
            output,
            error,
        })
    }
}

/// Rejects calls of sub-agents, which must not delegate.
fn refuse_sub(context: &CallContext) -> Result<(), ToolError> {
    let of_sub = |key: &String| key.parse::<SessionKey>().is_ok_and(|key| key.is_sub());
    if context.lineage.iter().any(of_sub) {
        let message = "a sub-agent cannot spawn agents";
        return Err(ToolError::new(ErrorCode::Forbidden, message)
            .hint("do it yourself, or report in your answer what remains to be done"));
    }
    Ok(())
}

impl AcpSpawn {
    fn agent(&self, name: &str) -> Result<AcpAgent, ToolError> {
        let settings = self.host.settings();
        let known = &settings.acp.agents;
        known.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let message = match names.is_empty() {
                true => "no agents are configured in acp.agents".to_owned(),
                false => format!("'{name}' is not one of {}", names.join(", ")),
            };
            ToolError::parameter("agent", message)
                .hint("the owner adds one to config.toml: [acp.agents.NAME] with command and args")
        })
    }

    /// The folder the agent works in.
    fn place(&self, agent: &AcpAgent, cwd: Option<&str>) -> Result<ResolvedPath, ToolError> {
        let root = match &agent.cwd {
            None => self.host.workspace().clone(),
            Some(folder) => opened(folder, "cwd", false)?,
        };
        let path = located(root.locate(cwd.unwrap_or(".")), "cwd")?;
        Ok(ResolvedPath { root, path })
    }

    /// The program with its folder and environment.
    async fn job(
        &self,
        name: &str,
        agent: &AcpAgent,
        place: &ResolvedPath,
        program: PathBuf,
    ) -> Result<Job, ToolError> {
        let here = place.clone();
        let cwd = blocking(move || {
            let folder = here.root.sub(&here.path);
            folder.map_err(|e| jail_failure(&e, &here.shown()))
        })
        .await;
        let cwd = cwd.map_err(|e| ToolError::parameter("cwd", e.message))?;
        let mut env = self.host.inherit(ENVIRONMENT);
        env.insert("PATH".to_owned(), SEARCH_PATH.to_owned());
        env.extend(self.variables(name, &agent.env).await?);
        let mut readable = agent.read.clone();
        readable.push(program.clone());
        Ok(Job {
            args: agent.args.iter().map(Into::into).collect(),
            program,
            cwd,
            cwd_shown: place.shown().into(),
            env,
            writable: vec![place.root.jail().clone()],
            readable,
            network: agent.network,
            timeout: DEADLINE,
            max_stdout: 0,
            max_stderr: 0,
            max_kept: 0,
            progress: Progress::default(),
        })
    }

    /// The variables of an agent, including those from the vault.
    async fn variables(
        &self,
        name: &str,
        named: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, ToolError> {
        let mut variables = BTreeMap::new();
        for (key, value) in named {
            let value = match value.starts_with("vault:") {
                false => value.clone(),
                true => {
                    let secret = self.web.secret(value).await?.ok_or_else(|| {
                        let message =
                            format!("acp.agents.{name}.env.{key}: no {value} in the vault");
                        ToolError::new(ErrorCode::Unavailable, message)
                            .hint("the owner can store it with `manyhands secret set`")
                    })?;
                    secret.expose().to_owned()
                }
            };
            variables.insert(key.clone(), value);
        }
        Ok(variables)
    }

    fn start(&self, name: &str, agent: &AcpAgent, job: &Job) -> Result<Started, ToolError> {
        let home = match &agent.home {
            Some(home) => opened(home, "home", true)?,
            None => opened(
                &self.host.beside("acp").join(file_name(name)?),
                "home",
                true,
            )?,
        };
        let terms = Terms {
            stdin: Stdin::Piped,
            home: Some(home),
            sandbox: match agent.sandbox {
                Confinement::On => Some(LIMITS),
                Confinement::Off => None,
            },
        };
        // Dropping it stops the agent; a cancelled call first lets it end in order.
        self.host.start(job, terms, &CancellationToken::new())
    }
}

/// Opens a folder named in the settings.
fn opened(folder: &Path, key: &str, make: bool) -> Result<Root, ToolError> {
    let wrong = |why: String| {
        let message = format!("the agent's {key}, {}, {why}", folder.display());
        ToolError::new(ErrorCode::Unavailable, message).hint("the owner sets it in acp.agents")
    };
    if !folder.is_absolute() {
        return Err(wrong("is not an absolute path".to_owned()));
    }
    if !make && !folder.is_dir() {
        return Err(wrong("is not a folder".to_owned()));
    }
    Root::open(folder).map_err(|e| wrong(format!("cannot be opened: {e}")))
}

/// Checks that an agent's name can be a folder name.
fn file_name(name: &str) -> Result<&str, ToolError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        true => Ok(name),
        false => {
            let message = format!("'{name}' cannot be the name of its home folder");
            Err(ToolError::new(ErrorCode::Unavailable, message).hint(
                "the owner can set `home` in acp.agents, or use a name of A-Z, a-z, 0-9, - and _",
            ))
        }
    }
}

/// Full path of an agent's program.
fn program(agent: &AcpAgent) -> Result<PathBuf, ToolError> {
    let command = agent.command.as_str();
    let wrong = |why: String| {
        let message = format!("the agent's program, {command}, {why}");
        ToolError::new(ErrorCode::Unavailable, message)
            .hint("the owner sets `command` in acp.agents")
    };
    if Path::new(command).is_absolute() {
        return match Path::new(command).is_file() {
            true => Ok(PathBuf::from(command)),
            false => Err(wrong("does not exist".to_owned())),
        };
    }
    let search = agent.env.get("PATH").map_or(SEARCH_PATH, String::as_str);
    find_program(command, search).map_err(|e| wrong(e.to_string()))
}

/// A running task.
struct AcpTask<'a> {
    name: &'a str,
    agent: &'a AcpAgent,
    handler: Arc<AcpHandler>,
    schema: Option<&'a OutputSchema>,
    cwd: PathBuf,
    terminal: bool,
    cancel: CancellationToken,
}

impl AcpTask<'_> {
    /// The result, or why there is none.
    async fn run(&self, mut started: Started, task: String) -> Result<(String, Value), String> {
        let running = &mut started.running;
        let (Some(stdin), Some(stdout)) = (running.stdin.take(), running.stdout.take()) else {
            return Err("its pipes are closed".to_owned());
        };
        let errors = tokio::spawn(last_log_lines(running.stderr.take()));
        let opening = SessionOptions {
            cwd: self.cwd.clone(),
            capabilities: HostCapabilities {
                read: self.agent.files,
                write: self.agent.files,
                terminal: self.terminal,
            },
            bounds: Bounds::default(),
        };
        let driven = drive(
            (stdout, stdin),
            opening,
            self.handler.clone(),
            self.cancel.clone(),
            |session| self.talk(session, task),
        );
        let mut driven = std::pin::pin!(driven);
        let within = Duration::from_secs(self.agent.timeout);
        let ended = tokio::select! {
            ended = &mut driven => Some(ended),
            () = sleep(within) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                // The agent is asked to cancel and given a moment before it is killed.
                self.cancel.cancel();
                let _ = driven.await;
                Err(AcpError::Ended(format!(
                    "it exceeded its limit of {} seconds",
                    within.as_secs()
                )))
            }
        };
        drop(started);
        match ended {
            Ok(done) => done,
            Err(error) => {
                let mut why = format!("{}: {error}", self.name);
                if matches!(error, AcpError::Login(_)) {
                    why.push_str("; log in with its HOME, or set a key in its env in acp.agents");
                }
                let words = errors.await.unwrap_or_default();
                match words.trim() {
                    "" => Err(why),
                    words => Err(format!("{why}\nlast log lines:\n{words}")),
                }
            }
        }
    }

    async fn talk(
        &self,
        session: Session,
        task: String,
    ) -> Result<Result<(String, Value), String>, AcpError> {
        let Some(schema) = self.schema else {
            let said = said(session.prompt(&task).await?);
            return Ok(said.map(|text| (summary(&text), Value::String(text))));
        };
        let first = session
            .prompt(&format!("{task}\n\n{}", schema.asked()))
            .await?;
        let mut fits = schema.fit_said(said(first)).await;
        if let Ok(Err(why)) = &fits {
            let again = format!("Your answer cannot be used: {why}. {}", schema.asked());
            fits = schema.fit_said(said(session.prompt(&again).await?)).await;
        }
        let done = fits.and_then(|fits| {
            fits.map_err(|why| format!("the result does not match output_schema: {why}"))
        });
        Ok(done.map(|value| (summary(&value.to_string()), value)))
    }
}

/// The text of a reply, or why there is none.
fn said(reply: Reply) -> Result<String, String> {
    match reply.unfinished {
        Some(why) => Err(match reply.text.trim() {
            "" => why.to_owned(),
            text => format!("{why}; its output so far: {text}"),
        }),
        None if reply.cut => Ok(format!("{}\n[truncated]", reply.text)),
        None => Ok(reply.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(command: &str) -> AcpAgent {
        serde_json::from_value(serde_json::json!({ "command": command })).unwrap()
    }

    #[test]
    fn a_program_is_a_path_or_a_bare_name_of_the_systems() {
        assert_eq!(program(&agent("/bin/sh")).unwrap(), Path::new("/bin/sh"));
        assert!(program(&agent("sh")).unwrap().is_absolute());
        for wrong in [
            "/no/such/program",
            "./sh",
            "bin/sh",
            "no-such-program",
            "/bin",
        ] {
            let refused = program(&agent(wrong)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable, "{wrong}");
        }
    }

    #[test]
    fn a_home_is_named_by_plain_names_only() {
        assert!(file_name("claude-code_2").is_ok());
        for wrong in ["", ".", "..", "a/b", "ü", &"a".repeat(65)] {
            assert!(file_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_reply_that_did_not_end_well_says_so() {
        let reply = |text: &str, cut, unfinished| Reply {
            text: text.to_owned(),
            cut,
            unfinished,
        };
        assert_eq!(said(reply("tea", false, None)).unwrap(), "tea");
        assert!(
            said(reply("tea", true, None))
                .unwrap()
                .ends_with("[truncated]")
        );
        let why = Some("it refused to go on");
        let refused = said(reply(" ", false, why)).unwrap_err();
        assert_eq!(refused, "it refused to go on");
        assert!(
            said(reply("no", false, why))
                .unwrap_err()
                .ends_with("its output so far: no")
        );
    }
}
