//! File access of a confined program.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::{Sandbox, SandboxError};

/// Devices every program may use.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The newest ABI we know; what the kernel does not support yet is left out.
const NEWEST: ABI = ABI::V9;

/// The rules of `sandbox` as a ruleset descriptor, and handles of the writable paths: the same
/// ones that the rules refer to.
pub(super) fn ruleset(sandbox: &Sandbox) -> Result<(OwnedFd, Vec<OwnedFd>), SandboxError> {
    let mut rules = create(sandbox.network).map_err(unavailable)?;
    let read = AccessFs::from_read(NEWEST);
    let devices = AccessFs::ReadFile | AccessFs::WriteFile;
    rules = rules
        .add_rules(path_beneath_rules(&sandbox.read, read))
        .and_then(|rules| rules.add_rules(path_beneath_rules(DEVICES, devices)))
        .map_err(unavailable)?;
    let mut folders = Vec::with_capacity(sandbox.write.len());
    for path in &sandbox.write {
        let place = |why: String| SandboxError::Place {
            path: path.clone(),
            why,
        };
        let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| place(error.to_string()))?;
        let is_dir = rustix::fs::fstat(&handle)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
        let access = everything_in(is_dir);
        rules = rules
            .add_rule(PathBeneath::new(&handle, access))
            .map_err(|error| place(error.to_string()))?;
        folders.push(handle);
    }
    let rules = Option::<OwnedFd>::from(rules);
    let rules = rules.ok_or_else(|| unavailable("the kernel made no ruleset"))?;
    Ok((rules, folders))
}

fn create(network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    rules.create()
}

/// All rights over writable paths; creating devices is not one of them.
fn everything_in(is_dir: bool) -> BitFlags<AccessFs> {
    if is_dir {
        AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
    } else {
        AccessFs::from_file(NEWEST)
    }
}

fn unavailable(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Unavailable {
        what: format!("landlock refused its rules: {error}"),
        remedy: "run `manyhands doctor` and report what it prints".to_owned(),
    }
}
