//! All tools of one node, within the limits set by its owner.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyhands_core::{Clock, ErrorCode, Ids, ToolError};
use manyhands_guard::{Sandbox, Supervisor};
use manyhands_hands::jobs::{JobSettings, Jobs};
use manyhands_hands::local::{LocalError, LocalFiles};
use manyhands_wire::{NodeRuntime, ToolDefinition};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CallInfo, NodeTool, OutputOptions, bash, edit, glob, grep, process, read, write};

/// Prefixes of variables that are meant for the node itself: its token and passphrase, and its telemetry exporter, whose
/// headers are credentials.
const OWN_VARIABLES: [&str; 2] = ["MANYHANDS_", "OTEL_EXPORTER_OTLP_"];

/// Limits of a node's tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directory the file tools cannot leave. Default in a sandbox: the workspace.
    pub jail: Option<PathBuf>,
    /// What commands may change.
    pub sandbox: SandboxMode,
}

/// What commands may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Everything the node's user may.
    #[default]
    Off,
    /// The workspace and the jail; no network.
    Workspace,
    /// Nothing; no network, no writing tools, no received files.
    ReadOnly,
}

/// Dependencies of a node's tools.
#[derive(Clone)]
pub struct ToolSettings {
    /// Base of relative paths.
    pub workspace: PathBuf,
    /// Environment of commands; variables starting with `MANYHANDS_` are removed.
    pub env: BTreeMap<String, String>,
    /// Limits.
    pub confinement: Confinement,
    /// Whether the owner of the gateway may open terminals.
    pub terminals: bool,
    /// Starts commands.
    pub supervisor: Supervisor,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Id generator.
    pub ids: Ids,
}

/// Why the tools cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// The workspace is not a directory.
    #[error("the workspace {} is not a directory; create it or choose another", .0.display())]
    Workspace(PathBuf),
    /// The workspace or the jail cannot be opened.
    #[error("cannot use the workspace or the jail: {0}")]
    Files(#[from] LocalError),
}

/// The tools of a node. Clones share them; when the last is dropped, all commands are stopped.
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

struct Inner {
    tools: Vec<NodeTool>,
    files: LocalFiles,
    jobs: Jobs,
    mode: SandboxMode,
    terminals: bool,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Toolbox")
    }
}

impl Toolbox {
    /// Creates the tools that `settings` allow.
    pub fn new(settings: ToolSettings) -> Result<Self, ToolboxError> {
        let mode = settings.confinement.sandbox;
        let jail = settings.confinement.jail.as_deref();
        // In a sandbox the file tools need a jail as well: they run in this process, outside of the sandbox.
        let jail = match mode {
            SandboxMode::Off => jail,
            SandboxMode::Workspace | SandboxMode::ReadOnly => {
                jail.or(Some(settings.workspace.as_path()))
            }
        };
        if !settings.workspace.is_dir() {
            return Err(ToolboxError::Workspace(settings.workspace));
        }
        let home = settings.env.get("HOME").map(PathBuf::from);
        let files = LocalFiles::open(&settings.workspace, jail)?
            .with_home(home.or_else(std::env::home_dir));
        let jobs = Jobs::new(
            settings.supervisor,
            settings.clock.clone(),
            settings.ids.clone(),
            job_settings(settings.env, mode, &files),
        );
        let inner = Inner {
            tools: tools(&files, &jobs, mode),
            files,
            jobs,
            mode,
            terminals: settings.terminals,
            clock: settings.clock,
            ids: settings.ids,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Runs a tool. Foreground work ends when `cancel` fires; `call_id` is reported with events of background processes,
    /// and output is sent to `watched`.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        call_id: &str,
        cancel: &CancellationToken,
        watched: OutputOptions,
    ) -> Result<Value, ToolError> {
        let tools = &self.inner.tools;
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            let message = format!("unknown tool {name:?} on this node");
            let hint = format!("available tools: {}", names.join(", "));
            return Err(ToolError::new(ErrorCode::UnknownTool, message).hint(hint));
        };
        let call = CallInfo {
            call_id: call_id.to_owned(),
            cancel: cancel.clone(),
            progress: watched.progress,
            full_output: watched.full_output,
        };
        (tool.run)(arguments, call).await
    }

    /// Whether it has a tool of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.inner.tools.iter().any(|tool| tool.name == name)
    }

    /// Tool definitions, as announced to the gateway.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let tools = self.inner.tools.iter();
        tools.map(|tool| tool.definition.clone()).collect()
    }

    /// Capabilities of the machine and of each tool.
    pub fn runtime(&self) -> NodeRuntime {
        let tools = &self.inner.tools;
        let all: BTreeSet<&str> = tools.iter().map(|tool| tool.capability).collect();
        let one = |tool: &NodeTool| (tool.name.to_owned(), vec![tool.capability.to_owned()]);
        NodeRuntime {
            host_capabilities: all.into_iter().map(str::to_owned).collect(),
            tool_capabilities: tools.iter().map(one).collect(),
        }
    }

    /// Returns whether commands and writes stay inside a sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.inner.mode != SandboxMode::Off
    }

    /// Returns whether the owner of the gateway may open terminals.
    pub fn allows_terminals(&self) -> bool {
        self.inner.terminals
    }

    /// Base of relative paths.
    pub fn workspace(&self) -> &Path {
        self.inner.files.workspace()
    }

    /// The background processes.
    pub fn jobs(&self) -> &Jobs {
        &self.inner.jobs
    }

    pub(crate) fn files(&self) -> &LocalFiles {
        &self.inner.files
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    /// Returns whether files may be changed at all.
    pub(crate) fn may_write(&self) -> bool {
        self.inner.mode != SandboxMode::ReadOnly
    }
}

fn tools(files: &LocalFiles, jobs: &Jobs, mode: SandboxMode) -> Vec<NodeTool> {
    let mut tools = vec![
        bash::bash(files.clone(), jobs.clone()),
        process::process(jobs.clone()),
        read::read(files.clone()),
    ];
    // Not offered at all, so that a model does not try them in vain.
    if mode != SandboxMode::ReadOnly {
        tools.push(write::write(files.clone()));
        tools.push(edit::edit(files.clone()));
    }
    tools.push(glob::glob(files.clone()));
    tools.push(grep::grep(files.clone()));
    tools
}

fn job_settings(
    env: BTreeMap<String, String>,
    mode: SandboxMode,
    files: &LocalFiles,
) -> JobSettings {
    let env = env
        .into_iter()
        .filter(|(name, _)| !OWN_VARIABLES.iter().any(|own| name.starts_with(own)));
    let mut settings = JobSettings::of_env(env.collect());
    let places = [Some(files.workspace()), files.jail()];
    let places = places.into_iter().flatten().map(Path::to_owned);
    // Secrets in the environment are kept out above; the sandbox keeps out those in files.
    let bare = Sandbox::system_read_only();
    settings.sandbox = match mode {
        SandboxMode::Off => None,
        SandboxMode::Workspace => Some(places.fold(bare, Sandbox::writing)),
        SandboxMode::ReadOnly => Some(places.fold(bare, Sandbox::reading)),
    };
    settings.scratch = settings.sandbox.is_some().then(std::env::temp_dir);
    settings
}
