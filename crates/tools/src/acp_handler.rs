//! Requests of an agent in `acp.agents` and their answers: files through the jail, commands in the
//! sandbox, permissions through the call path.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_acp::{
    AgentEvent, AgentHost, CommandLine, ExitStatus, Permission, PermissionRequest, Terminal,
    TerminalOutput,
};
use manyhands_agent::{CallStats, TurnEvent};
use manyhands_config::{AcpAgent, AcpPermissions};
use manyhands_core::{
    ApprovalId, CallContext, CallRequest, Progress, Step, Taint, ToolError, Witness,
};
use manyhands_guard::{Exit, SandboxLimits, Stdin};
use manyhands_hands::files::{TextWriteMode, read_text, write_text};
use manyhands_hands::shell::{Job, Started, Terms, find_program};
use manyhands_host::machine::{
    Host, ResolvedPath, SEARCH_PATH, Syntax, blocking, file_failure, jail_failure,
};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::agent_deps::AgentToolDeps;
use crate::command;
use crate::subtask::Observe;

/// Time limit of a call of `acp_spawn`; the agent's own `timeout` is shorter.
pub const DEADLINE: Duration = Duration::from_secs(3_660);
/// Largest file read or written for an agent.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Terminal output kept, unless the agent asks for less.
const MAX_SCREEN: usize = 1024 * 1024;
/// Bytes of an agent's standard error kept.
const MAX_WORDS: usize = 4 * 1024;
/// How long pipes may stay open after a command has ended.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Answers the requests of one agent.
pub struct AcpHandler {
    name: String,
    permissions: AcpPermissions,
    place: ResolvedPath,
    host: Host,
    minds: AgentToolDeps,
    observe: Observe,
    context: CallContext,
    cancel: CancellationToken,
    steps: Arc<AtomicU64>,
}

impl AcpHandler {
    pub fn new(
        name: &str,
        agent: &AcpAgent,
        place: ResolvedPath,
        (host, minds): (Host, AgentToolDeps),
        observe: Observe,
        (context, cancel): (CallContext, CancellationToken),
    ) -> Self {
        Self {
            name: name.to_owned(),
            permissions: agent.permissions,
            place,
            host,
            minds,
            observe,
            context,
            cancel,
            steps: Arc::default(),
        }
    }

    /// Reports progress to the caller.
    pub fn report(&self, message: String) {
        report(&self.context, &self.steps, message);
    }

    /// Applies the owner's rules, and asks the owner if they say so.
    async fn permitted(&self, question: &PermissionRequest) -> Result<(), ToolError> {
        let arguments = json!({
            "agent": self.name,
            "title": question.title,
            "kind": question.kind,
            "input": question.input,
        });
        let minutes = self.host.settings().limits.approval_minutes;
        let mut request = CallRequest::new("acp_permit", arguments, self.context.caller.clone());
        request.agent = self.context.agent.clone();
        // The agent waits as long as an approval is valid; the deadline of `acp_spawn` bounds it.
        request.approval_wait = Duration::from_secs(u64::from(minutes) * 60);
        request.lineage = self.context.lineage.clone();
        // The agent's request is untrusted text, unless the owner vouches for the agent.
        request.taint = match self.permissions {
            AcpPermissions::Allow => self.context.taint.clone(),
            AcpPermissions::Ask | AcpPermissions::Deny => {
                let agent = Taint::by(format!("acp:{}", self.name));
                self.context.taint.clone().or(&agent)
            }
        };
        request.witness = Some(Arc::new(ApprovalNotice {
            context: self.context.clone(),
            steps: self.steps.clone(),
            about: format!(
                "{} wants to {}: {}",
                self.name, question.kind, question.title
            ),
        }));
        let path = self.minds.minds()?.path();
        // Only whether it was allowed matters: `acp_permit` answers with its own arguments.
        path.invoke(request).await.map(drop)
    }

    /// A file below the agent's folder.
    fn file(&self, path: PathBuf) -> Result<ResolvedPath, String> {
        let root = &self.place.root;
        // Resolved beneath the folder's handle, so links cannot lead outside.
        let path = root.locate(&path.to_string_lossy());
        Ok(ResolvedPath {
            root: root.clone(),
            path: path.map_err(|e| e.to_string())?,
        })
    }
}

fn report(context: &CallContext, steps: &AtomicU64, message: String) {
    context.progress.report(Step {
        // MCP requires progress to increase with every notification; how much there will be is
        // unknown.
        done: steps.fetch_add(1, Ordering::Relaxed) + 1,
        total: None,
        message: Some(message),
    });
}

/// Reports that an approval is pending, and how to give it.
#[derive(Debug)]
struct ApprovalNotice {
    context: CallContext,
    steps: Arc<AtomicU64>,
    about: String,
}

#[async_trait]
impl Witness for ApprovalNotice {
    async fn approval_pending(&self, approval: ApprovalId) {
        let message = format!(
            "{}; allow it with `manyhands approvals approve {approval}`",
            self.about
        );
        report(&self.context, &self.steps, message);
    }

    async fn starting(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

#[async_trait]
impl AgentHost for AcpHandler {
    fn on_event(&self, event: AgentEvent) {
        let what = match event {
            AgentEvent::ToolStarted { title, kind, input } => TurnEvent::ToolStarted {
                call_id: String::new(),
                tool: kind.to_owned(),
                arguments: match input.is_object() {
                    true => input,
                    // Some agents send no input; their title is then the only description, and
                    // `Observe` reads it from here.
                    false => json!({ "cmd": title }),
                },
                call: None,
            },
            AgentEvent::ToolDone {
                title, ok, took, ..
            } => TurnEvent::ToolDone {
                call_id: String::new(),
                tool: title,
                ok,
                shown: String::new(),
                stats: Box::new(CallStats {
                    ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                    ..CallStats::default()
                }),
                pictures: Vec::new(),
            },
        };
        if let Some(message) = self.observe.progress_message(&what) {
            self.report(message);
        }
    }

    async fn request_permission(&self, question: PermissionRequest) -> Permission {
        // Not left to the rules of the policy, which could allow it.
        if self.permissions == AcpPermissions::Deny {
            self.report(format!("denied by acp.agents: {}", question.title));
            return Permission::Deny;
        }
        match self.permitted(&question).await {
            Ok(()) => {
                self.report(format!("allowed: {}", question.title));
                Permission::Allow
            }
            Err(error) => {
                self.report(format!("denied: {}: {}", question.title, error.message));
                Permission::Deny
            }
        }
    }

    async fn read(&self, path: PathBuf) -> Result<String, String> {
        let place = self.file(path)?;
        let read = blocking(move || {
            let text = read_text(place.root.jail(), &place.path, MAX_FILE);
            text.map_err(|e| file_failure(&e, &place.shown()))
        });
        let file = read.await.map_err(|e| e.message)?;
        // A truncated file would be written back truncated after an edit.
        match file.truncated {
            true => Err(format!("cannot read files larger than {MAX_FILE} bytes")),
            false => Ok(file.text),
        }
    }

    async fn write(&self, path: PathBuf, content: String) -> Result<(), String> {
        if content.len() as u64 > MAX_FILE {
            return Err(format!("cannot write files larger than {MAX_FILE} bytes"));
        }
        let place = self.file(path)?;
        let write = blocking(move || {
            let jail = place.root.jail();
            let written = write_text(
                jail,
                &place.path,
                &content,
                TextWriteMode::Overwrite,
                MAX_FILE,
            );
            written.map_err(|e| jail_failure(&e, &place.shown()))
        });
        write.await.map(drop).map_err(|e| e.message)
    }

    async fn run(&self, line: CommandLine) -> Result<Arc<dyn Terminal>, String> {
        let all = self.host.settings();
        let settings = &all.tools.bash;
        let setting = "tools.bash.deny_paths";
        let whole = std::iter::once(&line.command).chain(&line.args);
        let whole: Vec<&str> = whole.map(String::as_str).collect();
        // The same checks as for `bash`, over the whole command line.
        command::check(
            &whole.join(" "),
            &settings.deny_paths,
            setting,
            !all.auth_profiles.is_empty(),
        )
        .map_err(|e| e.message)?;
        let place = match line.cwd {
            Some(path) => self.file(path)?,
            None => self.place.clone(),
        };
        let shown = PathBuf::from(place.shown());
        let cwd = blocking(move || {
            let folder = place.root.sub(&place.path);
            folder.map_err(|e| jail_failure(&e, &place.shown()))
        });
        let shell = find_program("bash", SEARCH_PATH).map_err(|e| format!("bash {e}"))?;
        let mut args = vec!["--noprofile".into(), "--norc".into(), "-c".into()];
        if line.args.is_empty() {
            args.push(self.host.expand_aliases(&line.command, Syntax::Bash).into());
        } else {
            // A program with its exact arguments, without word splitting.
            args.push("\"$0\" \"$@\"".into());
            args.push(line.command.into());
            args.extend(line.args.into_iter().map(Into::into));
        }
        // Only variables the owner passes on, so that the gateway's secrets stay out.
        let mut env = command::environment(&self.host, &settings.injected_env_vars);
        env.insert("PATH".to_owned(), SEARCH_PATH.to_owned());
        env.extend(variables(line.env)?);
        let capacity = line.output_bytes.map_or(MAX_SCREEN, |bytes| {
            usize::try_from(bytes).unwrap_or(MAX_SCREEN).min(MAX_SCREEN)
        });
        let job = Job {
            program: shell,
            args,
            cwd: cwd.await.map_err(|e| e.message)?,
            cwd_shown: shown,
            env,
            writable: vec![self.place.root.jail().clone()],
            readable: Vec::new(),
            network: self.context.network,
            timeout: DEADLINE,
            // Output is streamed into a bounded buffer; the supervisor keeps none.
            max_stdout: 0,
            max_stderr: 0,
            max_kept: 0,
            progress: Progress::default(),
        };
        let terms = Terms {
            stdin: Stdin::None,
            home: None,
            sandbox: Some(SandboxLimits::default()),
        };
        // A child token: the command ends with the agent, and can be stopped alone.
        let stop = self.cancel.child_token();
        let started = self.host.start(&job, terms, &stop).map_err(|e| e.message)?;
        Ok(RunningCommand::of(started, capacity, stop))
    }
}

/// Rejects environment variables that no program could be given.
fn variables(named: Vec<(String, String)>) -> Result<BTreeMap<String, String>, String> {
    let legal = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    match named
        .iter()
        .find(|(name, value)| !legal(name) || value.contains('\0'))
    {
        Some((name, _)) => Err(format!("the variable {name:?} must not be set")),
        None => Ok(named.into_iter().collect()),
    }
}

/// A command running for an agent. Dropping it stops the command.
struct RunningCommand {
    shown: Arc<Mutex<TailBuffer>>,
    exited: watch::Receiver<Option<ExitStatus>>,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

impl RunningCommand {
    fn of(mut started: Started, capacity: usize, stop: CancellationToken) -> Arc<dyn Terminal> {
        let shown = Arc::new(Mutex::new(TailBuffer::new(capacity)));
        let (exit, exited) = watch::channel(None);
        let (out, err) = (started.running.stdout.take(), started.running.stderr.take());
        let tail = shown.clone();
        tokio::spawn(async move {
            let drained = async { tokio::join!(fill(out, &tail), fill(err, &tail)) };
            let mut drained = std::pin::pin!(drained);
            // A command may close its pipes and go on, or end while a background process keeps them
            // open.
            let early = tokio::select! {
                ended = started.running.wait() => Some(ended),
                _ = &mut drained => None,
            };
            let ended = match early {
                Some(ended) => {
                    let _ = tokio::time::timeout(LAST_WORDS, drained).await;
                    ended
                }
                None => started.running.wait().await,
            };
            let how = match ended {
                Ok((Exit::Code(code), _)) => ExitStatus::Code(code),
                Ok((Exit::Signal(name), _)) => ExitStatus::Signal(name),
                // The protocol knows only codes and signals.
                Err(lost) => ExitStatus::Signal(lost.to_string()),
            };
            let _ = exit.send(Some(how)); // the receiver may be gone
        });
        Arc::new(Self {
            shown,
            exited,
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
        })
    }
}

#[async_trait]
impl Terminal for RunningCommand {
    fn output(&self) -> TerminalOutput {
        // The exit status is read first: output written before it is then complete.
        let exited = self.exited.borrow().clone();
        let tail = self.shown.lock().expect("no panic while held");
        TerminalOutput {
            text: tail.text(),
            cut: tail.cut,
            exited,
        }
    }

    async fn exited(&self) -> ExitStatus {
        let mut exited = self.exited.clone();
        let ended = exited.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| ExitStatus::Signal("lost".to_owned()))
    }

    fn kill(&self) {
        self.stop.cancel();
    }
}

/// The end of the output, up to a limit.
struct TailBuffer {
    bytes: VecDeque<u8>,
    capacity: usize,
    cut: bool,
}

impl TailBuffer {
    fn new(capacity: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            capacity,
            cut: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        // Of a chunk larger than the whole buffer only the end can remain.
        let bytes = match bytes.len() > self.capacity {
            true => &bytes[bytes.len() - self.capacity..],
            false => bytes,
        };
        let over = (self.bytes.len() + bytes.len()).saturating_sub(self.capacity);
        self.cut |= over > 0;
        self.bytes.drain(..over);
        self.bytes.extend(bytes);
    }

    /// The text, without a character cut in two.
    fn text(&self) -> String {
        let (first, second) = self.bytes.as_slices();
        let mut all = [first, second].concat();
        if self.cut {
            // A UTF-8 character has at most three continuation bytes. Those at the start have lost
            // the byte they belong to.
            let rest = all.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80);
            let rest = rest.count();
            all.drain(..rest);
        }
        String::from_utf8_lossy(&all).into_owned()
    }
}

async fn fill(stream: Option<impl AsyncRead + Unpin>, tail: &Mutex<TailBuffer>) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        tail.lock()
            .expect("no panic while held")
            .push(&chunk[..read]);
    }
}

/// The end of an agent's standard error.
pub async fn last_log_lines(stream: Option<impl AsyncRead + Unpin>) -> String {
    let tail = Mutex::new(TailBuffer::new(MAX_WORDS));
    fill(stream, &tail).await;
    let tail = tail.into_inner().expect("no panic while held");
    tail.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_buffer_keeps_whole_characters() {
        let mut tail = TailBuffer::new(5);
        tail.push(b"abc");
        assert_eq!((tail.text().as_str(), tail.cut), ("abc", false));
        tail.push("dü".as_bytes());
        assert_eq!((tail.text().as_str(), tail.cut), ("bcdü", true));
        tail.push(b"1234");
        assert_eq!(tail.text(), "1234", "half of a character is no character");
        tail.push(&[b'x'; 100]);
        assert_eq!(tail.text(), "xxxxx");
        let mut none = TailBuffer::new(0);
        none.push(b"x");
        assert_eq!((none.text().as_str(), none.cut), ("", false));
    }

    #[test]
    fn odd_variables_are_refused() {
        let one = |name: &str, value: &str| variables(vec![(name.to_owned(), value.to_owned())]);
        assert!(one("A", "b=c").is_ok());
        for (name, value) in [("", "x"), ("A=B", "x"), ("A", "\0"), ("A\0", "x")] {
            assert!(one(name, value).is_err(), "{name:?}");
        }
    }
}
