//! This machine as tools may use it: three folders, a supervisor, an environment.

mod failure;
mod paths;
mod shell;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_core::{Clock, Secret, Timestamp, ToolError};
use manyhands_guard::{Redactor, Supervisor};
use manyhands_hands::Root;
use manyhands_script::{Pool, PoolParts, WORKER_COMMAND};
use manyhands_store::Artifacts;

pub use failure::{file_failure, jail_failure, located};
pub use paths::{ResolvedPath, Syntax};
pub use shell::{ShellCommand, store_output};

use crate::settings::LiveSettings;

/// The subcommand of this binary that calls [`manyhands_guard::run_keeper`].
pub const KEEPER_COMMAND: &str = "keeper";

/// How far past a cut a text is read, so that a secret across the cut is seen whole.
pub const PAST_THE_CUT: u64 = 4_096;

/// The most scripts at once, including warm workers.
const MAX_SCRIPTS: usize = 32;
/// How many warm workers are kept once scripts are in use.
const WARM_SCRIPTS: usize = 2;

/// The most programs at once.
const MAX_PROGRAMS: usize = 32;

/// The search path for programs: the system folders, whatever the caller's `PATH` says.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// This machine as tools may use it. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    workspace: Root,
    cache: Root,
    state: Root,
    scratch: PathBuf,
    supervisor: Supervisor,
    environment: BTreeMap<String, String>,
    settings: LiveSettings,
    artifacts: Artifacts,
    clock: Arc<dyn Clock>,
    redactor: Arc<ArcSwap<Redactor>>,
}

/// Arguments of [`Host::open`].
pub struct HostParts<'a> {
    /// The gateway's home.
    pub home: &'a Path,
    /// The environment the gateway was started in.
    pub environment: BTreeMap<String, String>,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Stores output that is too long to show.
    pub artifacts: Artifacts,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Known secrets.
    pub redactor: Arc<ArcSwap<Redactor>>,
}

impl Host {
    /// Opens the folders, creating missing ones.
    pub fn open(parts: HostParts<'_>) -> io::Result<Self> {
        let HostParts {
            home,
            environment,
            settings,
            artifacts,
            clock,
            redactor,
        } = parts;
        let current = settings.current();
        let folder = |chosen: &Option<PathBuf>, name: &str| {
            Root::open(
                &chosen
                    .clone()
                    .unwrap_or_else(|| home.join("host").join(name)),
            )
        };
        let scratch = home.join("host").join("scratch");
        // Private folders of programs that a crash left behind.
        let _ = std::fs::remove_dir_all(&scratch);
        Ok(Self(Arc::new(Inner {
            workspace: folder(&current.workspace_root, "workspace")?,
            cache: folder(&current.file_cache_dir, "cache")?,
            state: folder(&current.file_state_dir, "state")?,
            scratch: Root::open(&scratch)?.folder().to_owned(),
            supervisor: Supervisor::new(MAX_PROGRAMS)
                .with_keeper("/proc/self/exe".into(), vec![KEEPER_COMMAND.to_owned()]),
            environment,
            settings,
            artifacts,
            clock,
            redactor,
        })))
    }

    /// The pool of script workers, each a process of this binary without any access.
    pub fn scripts(&self, clock: Arc<dyn Clock>) -> Pool {
        let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        Pool::new(PoolParts {
            supervisor: Supervisor::new(MAX_SCRIPTS)
                .with_keeper("/proc/self/exe".into(), vec![KEEPER_COMMAND.to_owned()]),
            sandbox: manyhands_script::sandbox(&program),
            program,
            args: vec![WORKER_COMMAND.to_owned()],
            warm: WARM_SCRIPTS,
            clock,
        })
    }

    /// The folder that `tool::*` use.
    pub fn workspace(&self) -> &Root {
        &self.0.workspace
    }

    /// The folder for temporary files.
    pub fn cache(&self) -> &Root {
        &self.0.cache
    }

    /// The folder for permanent files.
    pub fn state(&self) -> &Root {
        &self.0.state
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<manyhands_config::Settings> {
        self.0.settings.current()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Removes known secrets from a text, then cuts it to `limit` bytes. In the other order half a
    /// secret could remain, which can no longer be recognised.
    pub fn redacted_cut(&self, text: &str, limit: u64) -> (String, bool) {
        let mut clean = self.0.redactor.load().text(text).into_owned();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let cut = clean.len() > limit;
        clean.truncate(clean.floor_char_boundary(limit.min(clean.len())));
        (clean, cut)
    }

    /// Secrets from the environment.
    pub fn secrets(&self) -> Vec<Secret> {
        let keys = ["TAVILY_API_KEY", "BRAVE_API_KEY"];
        keys.iter()
            .filter_map(|key| self.variable(key))
            .map(Secret::new)
            .collect()
    }

    /// A variable of the gateway's own environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.0.environment.get(name).map(String::as_str)
    }
}

/// Runs blocking file operations on a thread for them.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(ToolError::internal(format!("file operation panicked: {e}"))))
}
