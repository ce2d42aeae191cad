//! `code-execution_execute`

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, CallRequest, CatalogueEntry, Decision, Effects, ErrorCode, Invoke, Outcome,
    Question, Reach, Taint, Tool, ToolError, ToolSpec, output_schema,
};
use manyhands_federation::servers::{address, wrapped};
use manyhands_host::artifacts::ArtifactReader;
use manyhands_path::Path;
use manyhands_script::{
    Fault, FaultKind, Host, HostError, HostRequest, Level, Limits, LogLine, Report, Run,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::registration::{Registration, always, with_params};
use crate::scripts::Scripts;

/// The tool whose rights and rules apply when a script reads artifacts.
const READS: &str = "gateway_read_artifact";
/// Longest code, in bytes.
const MAX_CODE: u64 = 100_000;
/// Larger results, in bytes, are stored as an artifact.
const MAX_INLINE: usize = 200;
/// Default time limit, in milliseconds.
const DEFAULT_TIMEOUT: u64 = 600_000;
/// Time reserved for stopping a script after its time limit.
const STOP_MARGIN: Duration = Duration::from_secs(5);
/// Log lines included in an error.
const LOG_IN_ERROR: usize = 20;
/// Largest artifact a script can read, in bytes.
const MAX_READ: u64 = 8 * 1024 * 1024;

/// Execute JavaScript code in a sandbox with access to tools and file helpers. The code is the body of an async function: use await and return.
///
/// Available: callTool(serverPath, toolName, toolArgs) calls a tool and gives its result as a plain value, or throws an Error with code and
/// message (a list that an MCP server wraps as { result: [...] } is given as the list itself); codeExec.createArtifact(filename, content, fileType) keeps a file (csv, txt, json, html, xml, js, ts, md, py) and gives { success, id, url, filename, mimeType, size };
/// codeExec.readArtifact(identifier) reads one by id, filename or URL and gives { success, content, size, filename, mimeType };
/// console.log/error/warn; setTimeout/setInterval/clearTimeout/clearInterval; URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, atob,
/// btoa, crypto.randomUUID. Promise.all makes calls run together. There is no fetch, import, require, process or file system.
///
/// A call that needs the owner's approval ends the whole run at once with approval_required and the approval id; run the same code again once it is
/// approved.
///
/// A returned value of more than 200 bytes is kept as an artifact, and the response has its artifactId and a preview. Never write unbounded loops around
/// callTool: every call takes time, and the whole run has to end in time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// JavaScript code to execute in the sandbox, at most 100 KB.
    #[schemars(length(min = 1))]
    code: String,
    /// Timeout in milliseconds: 600000 (10 minutes) by default, from 1000 (1 second) to 900000 (15 minutes).
    #[schemars(range(min = 1000, max = 900_000))]
    timeout: Option<u64>,
    /// Which connection callTool uses for a service that has several: service name to PCID, as found by capabilities_discover. The first one
    /// when omitted. Code should NOT contain PCIDs. A service or PCID that does not exist is an error.
    connection_selections: Option<BTreeMap<String, String>>,
}

/// The outcome of a script.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The returned value, if short.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// Artifact with the returned value, if long.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    /// Start of the returned value.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
    /// Size of the returned value, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_size: Option<usize>,
    /// Chat of the created artifacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<String>,
    /// Duration in milliseconds.
    execution_time: u64,
    /// Console output.
    logs: Vec<String>,
    /// Whether console output was truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    logs_truncated: bool,
    /// Created files.
    created_artifacts: Vec<Value>,
    /// Number of tool calls.
    calls: u32,
    /// Accounts used, one entry per service.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections_used: Vec<UsedConnection>,
}

/// An account used by a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UsedConnection {
    /// The service.
    service: String,
    /// The account's id.
    #[serde(rename = "PCID")]
    pcid: String,
    /// The account's name.
    name: String,
    /// Number of other accounts of the service, if none was selected.
    others: usize,
}

pub(crate) const TOOL: Registration = Registration {
    name: "code-execution_execute",
    enabled: always,
    build: |deps| CatalogueEntry::Tool(Arc::new(Execute::new(&deps.scripts))),
};

struct Execute {
    spec: ToolSpec,
    scripts: Scripts,
}

impl Execute {
    fn new(scripts: &Scripts) -> Self {
        // A script by itself only computes; its calls take the path like any other.
        let spec = super::spec(TOOL.name)
            .effects(Effects::READS)
            .waits_for_turns();
        let mut spec = with_params::<Params>(spec);
        spec.output_schema = Some(output_schema::<Output>());
        // The deadline exceeds the script's own limit, so that the script's error with its log
        // wins.
        spec.deadline = Duration::from_millis(DEFAULT_TIMEOUT) + STOP_MARGIN;
        Self {
            spec,
            scripts: scripts.clone(),
        }
    }
}

#[async_trait]
impl Tool for Execute {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn deadline_of(&self, arguments: &Value) -> Duration {
        let requested = arguments["timeout"].as_u64().unwrap_or(DEFAULT_TIMEOUT);
        Duration::from_millis(requested) + STOP_MARGIN
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let params: Params = serde_json::from_value(arguments)
            .map_err(|e| ToolError::parameter("arguments", e.to_string()))?;
        if params.code.len() as u64 > MAX_CODE {
            return Err(ToolError::parameter("code", "must have at most 100 KB"));
        }
        let timeout = Duration::from_millis(params.timeout.unwrap_or(DEFAULT_TIMEOUT));
        // Weak: the path holds the tools, and a strong reference back would leak the gateway.
        let gone = || ToolError::new(ErrorCode::Unavailable, "the gateway is stopping");
        let path = self
            .scripts
            .path
            .get()
            .and_then(Weak::upgrade)
            .ok_or_else(gone)?;
        let selected = params.connection_selections.unwrap_or_default();
        self.scripts.check_selections(&selected, &context.agent)?;
        // Selections of this call override those inherited from an outer script.
        let mut connections = (*context.connections).clone();
        connections.extend(selected);
        let host = Arc::new(ScriptHost {
            path,
            scripts: self.scripts.clone(),
            taint: Mutex::new(context.taint.clone()),
            context: context.clone(),
            connections: Arc::new(connections),
            used: Mutex::default(),
            blocked: Mutex::default(),
            // A child token: ending the run must not cancel the surrounding call.
            end: context.cancel.child_token(),
            created: Mutex::default(),
        });
        let run = Run {
            code: params.code,
            timeout,
            limits: Limits::default(),
            host: host.clone(),
        };
        let report = self.scripts.pool.run(run, host.end.clone()).await;
        host.output(report).await
    }
}

/// What a script can access: tools through the path, with the rights of its caller.
struct ScriptHost {
    path: Arc<Path>,
    scripts: Scripts,
    context: CallContext,
    /// Untrusted text read before or during the run; later calls may follow its instructions.
    taint: Mutex<Taint>,
    connections: Arc<BTreeMap<String, String>>,
    /// Accounts used by calls.
    used: Mutex<BTreeSet<UsedConnection>>,
    /// The call that needs the owner's approval and ended the run.
    blocked: Mutex<Option<ToolError>>,
    /// Ends the run.
    end: CancellationToken,
    created: Mutex<CreatedArtifacts>,
}

/// Files created by a script.
#[derive(Default)]
struct CreatedArtifacts {
    chat: Option<String>,
    files: Vec<Value>,
}

impl ScriptHost {
    async fn invoke(&self, tool: &str, arguments: Value, reach: Reach) -> Result<Value, ToolError> {
        let mut request = CallRequest::new(tool, arguments, self.context.caller.clone());
        request.agent = self.context.agent.clone();
        // Taint collected so far applies to this call, so a script cannot launder what it read.
        request.taint = self.taint();
        request.chat = self.context.chat.clone();
        request.lineage = self.context.lineage.clone();
        request.connections = self.connections.clone();
        request.answers = self.context.answers.clone();
        request.reach = reach;
        // No waiting: the run ends with the approval id instead and can be repeated.
        request.approval_wait = Duration::ZERO;
        // Scripts receive whole results; only what they return is shortened.
        request.full_result = true;
        // Before the call: the tool may be gone from the catalogue afterwards.
        let effects = self.effects(tool, &request.arguments);
        let outcome = self.path.invoke(request).await;
        // Outside of turns nothing is tainted: the caller wrote the script before it read anything.
        if !self.context.lineage.is_empty() {
            let known = outcome
                .as_ref()
                .ok()
                .and_then(|outcome| outcome.taint.clone());
            let by_effects =
                || Taint::when(effects.may_return_untrusted_text(), format!("tool:{tool}"));
            let read = known.unwrap_or_else(by_effects);
            self.taint
                .lock()
                .expect("no panic while held")
                .absorb(&read);
        }
        if let Err(error) = &outcome
            && error.code == ErrorCode::ApprovalRequired
        {
            self.block(error.clone()).await;
        }
        outcome.map(|outcome| outcome.value)
    }

    /// Ends the run because a call needs the owner's approval. A script that could catch the error
    /// would continue as if the call had failed, and nobody would learn what to approve.
    async fn block(&self, error: ToolError) {
        self.blocked
            .lock()
            .expect("no panic while held")
            .get_or_insert(error);
        self.end.cancel();
        std::future::pending::<()>().await; // dropped with the run
    }

    fn taint(&self) -> Taint {
        self.taint.lock().expect("no panic while held").clone()
    }

    fn effects(&self, tool: &str, arguments: &Value) -> Effects {
        let catalogue = self.scripts.catalogue.load();
        let tool = catalogue.resolve(tool);
        tool.map_or_else(Effects::default, |tool| {
            tool.effects_of(arguments, &catalogue)
        })
    }

    async fn tool(&self, server: &str, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        if arguments.get("PCID").is_some() {
            let message = "callTool: PCID must not be in the arguments";
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .hint("select the connection with the parameter connectionSelections"));
        }
        let catalogue = self.scripts.catalogue.load_full();
        let spec = address::find(&catalogue, server, tool)?.spec();
        let name = spec.name.to_string();
        // Nested scripts would multiply time and memory limits.
        if name == TOOL.name {
            let message = "a script cannot run another script";
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        self.note_connection(spec);
        let value = self
            .invoke(&name, arguments, self.context.reach.clone())
            .await?;
        Ok(wrapped::list_of(spec, value))
    }

    /// Records the account a call uses.
    fn note_connection(&self, spec: &ToolSpec) {
        let servers = &self.scripts.servers;
        let Some(service) = servers.service_of(spec) else {
            return;
        };
        let wanted = self.connections.get(&service).map(String::as_str);
        // An impossible selection is rejected by the call itself.
        if let Ok(Some(choice)) = servers
            .accounts()
            .choose(&service, &self.context.agent, wanted)
        {
            let used = UsedConnection {
                service,
                pcid: choice.id.to_string(),
                name: choice.name,
                others: choice.others,
            };
            self.used.lock().expect("no panic while held").insert(used);
        }
    }

    async fn create(
        &self,
        filename: &str,
        content: &str,
        kind: Option<&str>,
    ) -> Result<Value, ToolError> {
        let kind = kind.map(str::to_owned);
        let kind = kind.or_else(|| filename.rsplit_once('.').map(|(_, kind)| kind.to_owned()));
        // All files of a run go into one chat, created by the first.
        let mut arguments = json!({ "filename": filename, "content": content, "fileType": kind });
        let chat = self
            .created
            .lock()
            .expect("no panic while held")
            .chat
            .clone();
        if let Some(chat) = chat {
            arguments["chatId"] = json!(chat);
        }
        let mut stored = self
            .invoke("gateway_write_artifact", arguments, Reach::default())
            .await?;
        let mut created = self.created.lock().expect("no panic while held");
        if let Some(chat) = stored["chatId"].as_str() {
            // Two files may be created at once; the first to return decides the chat of the later
            // ones.
            created.chat.get_or_insert_with(|| chat.to_owned());
        }
        created.files.push(stored.clone());
        drop(created);
        stored["success"] = json!(true);
        Ok(stored)
    }

    async fn read(&self, identifier: &str) -> Result<Value, ToolError> {
        let reader = ArtifactReader::from(&self.context);
        let chat = self
            .created
            .lock()
            .expect("no panic while held")
            .chat
            .clone();
        let record = self
            .scripts
            .artifacts
            .named(identifier, chat.as_deref(), &reader)
            .await?;
        if record.size > MAX_READ {
            let message = format!(
                "{} has {} bytes; a script reads at most {MAX_READ}",
                record.name, record.size
            );
            return Err(ToolError::new(ErrorCode::TooLarge, message)
                .hint("read parts of it with gateway_read_artifact"));
        }
        let arguments = json!({ "file_id": record.id });
        if self.must_ask(&arguments)? {
            // The tool itself requests the approval and consumes it.
            self.invoke(READS, arguments, Reach::ANY).await?;
        }
        // The script's next calls may follow instructions in the artifact.
        if !self.context.lineage.is_empty() {
            let read = Taint::by(format!("tool:{READS}"));
            self.taint
                .lock()
                .expect("no panic while held")
                .absorb(&read);
        }
        let text = self.scripts.artifacts.text(&record, &self.end);
        let content = text.await?;
        Ok(json!({
            "success": true, "content": content, "size": record.size,
            "filename": record.name, "mimeType": record.mime,
        }))
    }

    /// Whether reading an artifact needs the owner's approval, as calling the tool would; an error
    /// if such a call is denied.
    fn must_ask(&self, arguments: &Value) -> Result<bool, ToolError> {
        let catalogue = self.scripts.catalogue.load();
        let tool = catalogue.resolve(READS).ok_or_else(|| {
            let message = format!("{READS} is disabled");
            ToolError::new(ErrorCode::Unavailable, message)
        })?;
        let verdict = self.path.authorize(Question {
            caller: &self.context.caller,
            agent: &self.context.agent,
            spec: tool.spec(),
            effects: tool.effects_of(arguments, &catalogue),
            arguments: Some(arguments),
            taint: &self.taint(),
            reach: &Reach::ANY,
            session: None,
            replies: false,
        });
        Ok(verdict.refused(tool.spec())?.decision == Decision::Ask)
    }

    async fn output(&self, report: Report) -> Result<Outcome, ToolError> {
        let logs: Vec<String> = report.logs.iter().map(line).collect();
        let execution_time = u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX);
        // Taken out, because no lock may be held across the await of `create` below.
        let used = std::mem::take(&mut *self.used.lock().expect("no panic while held"));
        let blocked = self.blocked.lock().expect("no panic while held").take();
        let failed = match (blocked, report.outcome) {
            (Some(error), _) => Err(approval_required(error)),
            (None, Err(fault)) => Err(failure(&fault, &logs)),
            (None, Ok(value)) => Ok(value),
        };
        let value = failed.map_err(|mut error| {
            let details = error.details.get_or_insert_with(|| json!({}));
            // Also for a failed run: they are what its author needs to find the mistake.
            details["logs"] = json!(logs);
            details["executionTime"] = json!(execution_time);
            if !used.is_empty() {
                details["connectionsUsed"] = json!(used);
            }
            error
        })?;
        let text = value.to_string();
        let mut output = Output {
            execution_time,
            logs,
            logs_truncated: report.logs_cut,
            calls: report.calls,
            connections_used: used.into_iter().collect(),
            ..Output::default()
        };
        if text.len() <= MAX_INLINE {
            output.result = Some(value);
        } else {
            let whole = serde_json::to_string_pretty(&value).unwrap_or(text.clone());
            let stored = self.create("result.json", &whole, Some("json")).await?;
            output.artifact_id = stored["id"].as_str().map(str::to_owned);
            output.preview = Some(text[..text.floor_char_boundary(MAX_INLINE)].to_owned());
            output.total_size = Some(text.len());
        }
        let created = std::mem::take(&mut *self.created.lock().expect("no panic while held"));
        output.chat_id = created.chat;
        output.created_artifacts = created.files;
        Outcome::of(&output)
    }
}

#[async_trait]
impl Host for ScriptHost {
    async fn call(&self, request: HostRequest) -> Result<Value, HostError> {
        let done = match request {
            HostRequest::Tool {
                server,
                tool,
                arguments,
            } => self.tool(&server, &tool, arguments).await,
            HostRequest::CreateArtifact {
                filename,
                content,
                file_type,
            } => self.create(&filename, &content, file_type.as_deref()).await,
            HostRequest::ReadArtifact { identifier } => self.read(&identifier).await,
        };
        done.map_err(|error| HostError::new(error.code.as_str(), error.text()))
    }

    fn on_log(&self, logged: &LogLine) {
        let progress = &self.context.progress;
        if progress.has_output_listener() {
            progress.print(&format!("{}\n", line(logged)));
        }
    }
}

fn line(line: &LogLine) -> String {
    match line.level {
        Level::Log | Level::Info | Level::Debug => line.text.clone(),
        Level::Warn => format!("[warn] {}", line.text),
        Level::Error => format!("[error] {}", line.text),
    }
}

/// The error for a call that needs the owner's approval. Console output is left out: it may contain
/// untrusted text, and an error does not taint its reader.
fn approval_required(error: ToolError) -> ToolError {
    let id = error.details.as_ref().map(|details| &details["approvalId"]);
    let id = id.and_then(Value::as_str).unwrap_or("unknown");
    let message = format!(
        "the script was stopped: {} (approval id {id})",
        error.message
    );
    let hint = format!(
        "the owner can run `manyhands approvals approve {id}`; then run the same code again"
    );
    ToolError {
        message,
        hint: Some(hint),
        ..error
    }
}

/// The error for a failed script, with its last console output.
fn failure(fault: &Fault, logs: &[String]) -> ToolError {
    let code = match fault.kind {
        FaultKind::Syntax => ErrorCode::InvalidArguments,
        FaultKind::Timeout => ErrorCode::DeadlineExceeded,
        FaultKind::Cancelled => ErrorCode::Cancelled,
        FaultKind::Unavailable | FaultKind::Crashed => ErrorCode::Unavailable,
        FaultKind::Memory | FaultKind::Cpu | FaultKind::Calls | FaultKind::Output => {
            ErrorCode::TooLarge
        }
        FaultKind::Thrown => ErrorCode::Failed,
    };
    // A value JSON cannot represent is not a matter of size.
    let code = match (fault.kind, fault.name.as_str()) {
        (FaultKind::Output, "TypeError") => ErrorCode::Failed,
        _ => code,
    };
    let mut message = match fault.kind {
        FaultKind::Syntax => format!("code: {fault}"),
        _ => fault.to_string(),
    };
    if let Some(at) = fault.line {
        let column = fault
            .column
            .map(|column| format!(", column {column}"))
            .unwrap_or_default();
        message.push_str(&format!(" (line {at}{column})"));
    }
    if let Some(excerpt) = &fault.excerpt {
        message.push('\n');
        message.push_str(excerpt);
    }
    let shown = &logs[logs.len().saturating_sub(LOG_IN_ERROR)..];
    if !shown.is_empty() {
        message.push_str("\nlogs:\n");
        message.push_str(&shown.join("\n"));
    }
    ToolError::new(code, message).details(json!({ "fault": fault }))
}
