//! All tools of one node, as its owner lets them.

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

use super::{Asked, NodeTool, Watched, bash, edit, glob, grep, process, read, write};

/// How variables begin that hold our own tokens and passphrases.
const OURS: &str = "MANYHANDS_";

/// How far the hands of a node reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The folder that the file tools do not leave. In a sandbox without one it is the workspace.
    pub jail: Option<PathBuf>,
    /// What commands may change.
    pub sandbox: SandboxMode,
}

/// What commands may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Whatever the node's user may.
    #[default]
    Off,
    /// The workspace and the jail, without network.
    Workspace,
    /// Nothing, without network; no tool writes, and no file is received.
    ReadOnly,
}

/// What a node's tools work with.
#[derive(Clone)]
pub struct ToolSettings {
    /// Where relative paths start.
    pub workspace: PathBuf,
    /// The environment of commands; what begins with `MANYHANDS_` is left out.
    pub env: BTreeMap<String, String>,
    /// How far the tools reach.
    pub confinement: Confinement,
    /// Starts the commands.
    pub supervisor: Supervisor,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Ids,
}

/// Why there are no tools.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// The workspace is no directory.
    #[error("the workspace {} is not a directory; create it, or name another", .0.display())]
    Workspace(PathBuf),
    /// The workspace or the jail cannot be used.
    #[error("the workspace or the jail cannot be used: {0}")]
    Files(#[from] LocalError),
}

/// The tools of a node. Clones are the same; when the last is dropped, all commands end.
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

struct Inner {
    tools: Vec<NodeTool>,
    files: LocalFiles,
    jobs: Jobs,
    mode: SandboxMode,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Toolbox")
    }
}

impl Toolbox {
    /// The tools that `settings` allow.
    pub fn new(settings: ToolSettings) -> Result<Self, ToolboxError> {
        let mode = settings.confinement.sandbox;
        let jail = settings.confinement.jail.as_deref();
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
            clock: settings.clock,
            ids: settings.ids,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Runs a tool. Foreground work ends when `cancel` fires; `call_id` is told in news of
    /// programs that stay in the background, and what is printed before to whoever watches.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        call_id: &str,
        cancel: &CancellationToken,
        watched: Watched,
    ) -> Result<Value, ToolError> {
        let tools = &self.inner.tools;
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            let message = format!("this node has no tool {name:?}");
            let hint = format!("it has {}", names.join(", "));
            return Err(ToolError::new(ErrorCode::UnknownTool, message).hint(hint));
        };
        let asked = Asked {
            call_id: call_id.to_owned(),
            cancel: cancel.clone(),
            progress: watched.progress,
            full_output: watched.full_output,
        };
        (tool.run)(arguments, asked).await
    }

    /// The tools as a gateway is told of them.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let tools = self.inner.tools.iter();
        tools.map(|tool| tool.definition.clone()).collect()
    }

    /// What the machine and each tool can do, in the words of the gateway.
    pub fn runtime(&self) -> NodeRuntime {
        let tools = &self.inner.tools;
        let all: BTreeSet<&str> = tools.iter().map(|tool| tool.capability).collect();
        let one = |tool: &NodeTool| (tool.name.to_owned(), vec![tool.capability.to_owned()]);
        NodeRuntime {
            host_capabilities: all.into_iter().map(str::to_owned).collect(),
            tool_capabilities: tools.iter().map(one).collect(),
        }
    }

    /// Whether programs and writes stay inside a sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.inner.mode != SandboxMode::Off
    }

    /// Where relative paths start.
    pub fn workspace(&self) -> &Path {
        self.inner.files.workspace()
    }

    /// The programs in the background.
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

    /// Whether files may be changed at all.
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
    let env = env.into_iter().filter(|(name, _)| !name.starts_with(OURS));
    let mut settings = JobSettings::of_env(env.collect());
    let places = [Some(files.workspace()), files.jail()];
    let places = places.into_iter().flatten().map(Path::to_owned);
    let bare = Sandbox::system_read_only();
    settings.sandbox = match mode {
        SandboxMode::Off => None,
        SandboxMode::Workspace => Some(places.fold(bare, Sandbox::writing)),
        SandboxMode::ReadOnly => Some(places.fold(bare, Sandbox::reading)),
    };
    settings.scratch = settings.sandbox.is_some().then(std::env::temp_dir);
    settings
}
