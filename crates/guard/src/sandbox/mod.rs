//! Confinement by the operating system: what a program may read, write, reach and consume,
//! whatever it was tricked into.
//!
//! Landlock restricts files, seccomp system calls, resource limits the rest. No helper binary, no
//! user namespaces, no privileges. Everything is prepared before the fork, and if a part is missing
//! the program does not start.

mod apply;
mod broker;
mod landlock;
mod limits;
mod probe;
mod seccomp;

use std::path::PathBuf;

pub(crate) use apply::PendingListener;
pub use apply::PreparedSandbox;
pub(crate) use broker::{Broker, GroupPolicy};
pub use limits::SandboxLimits;
pub use probe::{Probe, SandboxProblem, probe};

/// The oldest Landlock ABI that can prevent truncation.
const NEEDED_ABI: i32 = 3;

/// Why a program cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system lacks a required feature.
    #[error("the sandbox cannot start: {what}\n{remedy}")]
    Unavailable {
        /// What is missing.
        what: String,
        /// What the owner can do about it.
        remedy: String,
    },
    /// A writable path cannot be opened.
    #[error("the sandbox cannot open {} for writing: {why}", path.display())]
    Place {
        /// The place.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// What a program may do. Everything else is refused: signals to others (from Linux 6.12),
/// namespaces, mounts, tracing, kernel keys.
///
/// Modes, owners and times are changed by a broker in this process, only within the writable
/// paths. New sessions and process groups end with the call.
///
/// Rights apply to whole trees: nothing below a writable directory can be excluded. There is no
/// `/proc`, since it would show other programs of the same user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Files and trees it may read and execute; missing ones are skipped.
    pub read: Vec<PathBuf>,
    /// Files and trees it may also change; they must exist.
    pub write: Vec<PathBuf>,
    /// Whether it may open internet sockets. Unix sockets are refused either way: they lead to
    /// daemons, such as Docker's, that would act on the program's behalf.
    pub network: bool,
    /// Resource limits.
    pub limits: SandboxLimits,
}

impl Sandbox {
    /// What ordinary programs need to start: the system's programs, libraries and the
    /// harmless part of its configuration to read, the standard devices, and no network.
    pub fn system_read_only() -> Self {
        const READ: &[&str] = &[
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib32",
            "/lib64",
            "/libx32",
            "/nix/store",
            "/etc/alternatives",
            "/etc/bash.bashrc",
            "/etc/ca-certificates",
            "/etc/ca-certificates.conf",
            "/etc/crypto-policies",
            "/etc/debian_version",
            "/etc/fonts",
            "/etc/gai.conf",
            "/etc/gitconfig",
            "/etc/group",
            "/etc/host.conf",
            "/etc/hosts",
            "/etc/inputrc",
            "/etc/ld.so.cache",
            "/etc/ld.so.conf",
            "/etc/ld.so.conf.d",
            "/etc/locale.alias",
            "/etc/locale.conf",
            "/etc/localtime",
            "/etc/lsb-release",
            "/etc/magic",
            "/etc/mime.types",
            "/etc/nsswitch.conf",
            "/etc/os-release",
            "/etc/passwd",
            "/etc/perl",
            "/etc/pki/ca-trust",
            "/etc/pki/tls/cert.pem",
            "/etc/pki/tls/certs",
            "/etc/profile",
            "/etc/profile.d",
            "/etc/protocols",
            "/etc/python3",
            "/etc/python3.11",
            "/etc/python3.12",
            "/etc/python3.13",
            "/etc/resolv.conf",
            "/etc/services",
            "/etc/ssl/certs",
            "/etc/ssl/openssl.cnf",
            "/etc/terminfo",
            "/etc/timezone",
            "/etc/wgetrc",
            "/etc/xattr.conf",
        ];
        Self {
            read: READ.iter().map(PathBuf::from).collect(),
            write: Vec::new(),
            network: false,
            limits: SandboxLimits::default(),
        }
    }

    /// Also allows changing what is at or below `path`.
    #[must_use]
    pub fn writing(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(path.into());
        self
    }

    /// Also allows reading and running what is at or below `path`.
    #[must_use]
    pub fn reading(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(path.into());
        self
    }

    /// Prepares everything a child needs to confine itself, or returns what is missing.
    pub fn prepare(&self) -> Result<PreparedSandbox, SandboxError> {
        if let Some(problem) = probe().problems.into_iter().next() {
            return Err(SandboxError::Unavailable {
                what: problem.what,
                remedy: problem.remedy,
            });
        }
        let (rules, folders) = landlock::ruleset(self)?;
        let filters = seccomp::filters(self.network)?;
        let limits = self.limits.to_set();
        Ok(PreparedSandbox::new(rules, folders, filters, limits))
    }
}

#[cfg(test)]
mod tests;
