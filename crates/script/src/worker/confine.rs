//! Confines the worker before it reads any code.
//!
//! Its parent has started it in a sandbox that still lets it load its executable and libraries. After that it needs
//! nothing but its two pipes, memory and the clock.

use std::collections::BTreeMap;
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus,
    Scope,
};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Memory of a worker besides the script's values: its own, and frames in transit.
const OWN_MEMORY: u64 = 256 << 20;

/// System calls allowed with any arguments.
const ALWAYS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_ppoll,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

#[cfg(target_arch = "x86_64")]
const ALWAYS_HERE: &[i64] = &[libc::SYS_poll, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALWAYS_HERE: &[i64] = &[];

/// Removes access to files, the network, other programs, new processes and threads, and executable memory. Irreversible.
pub fn shut_in() -> Result<(), String> {
    // No debugger and no core dump may show what a script works on.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(said("not dumpable"))?;
    no_files()?;
    for (resource, most) in [
        (Resource::Core, 0),
        // A second barrier behind Landlock: no file can grow.
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, 3), // its pipes, which are open already
    ] {
        lower(resource, most).map_err(said("limits"))?;
    }
    // Last: the steps above need system calls that the filter refuses.
    seccompiler::apply_filter(&filter()?).map_err(said("system call filter"))
}

/// Limits memory and CPU time for one run.
pub(super) fn bound(memory: usize, cpu: Duration) -> Result<(), String> {
    let memory = u64::try_from(memory).unwrap_or(u64::MAX);
    let data = memory.saturating_add(OWN_MEMORY);
    lower(Resource::Data, data).map_err(said("limit of memory"))?;
    // A backstop for code that never reaches the worker's own check. The first signal tells the parent the reason; the second,
    // one second later, cannot be caught.
    let whole = cpu.as_secs().saturating_add(2);
    set(Resource::Cpu, whole, whole.saturating_add(1)).map_err(said("limit of time"))
}

fn lower(resource: Resource, most: u64) -> rustix::io::Result<()> {
    set(resource, most, most)
}

/// Sets a soft and a hard limit, neither above the current one.
fn set(resource: Resource, most: u64, hard: u64) -> rustix::io::Result<()> {
    let now = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit {
        current: Some(most.min(now)),
        maximum: Some(hard.min(now)),
    };
    setrlimit(resource, limit)
}

fn no_files() -> Result<(), String> {
    let newest = ABI::V9;
    let rules = Ruleset::default()
        // The oldest supported version is required; newer restrictions are added where the kernel has them.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))
        .map_err(said("landlock"))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(newest)))
        .and_then(|rules| rules.scope(Scope::from_all(newest)))
        .and_then(|rules| rules.create())
        .map_err(said("landlock"))?;
    let status = rules.restrict_self().map_err(said("landlock"))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("landlock: not enforced".to_owned());
    }
    Ok(())
}

fn filter() -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(said("system call filter"))?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = allowed().map_err(said("system call filter"))?;
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch)
        .and_then(TryInto::try_into)
        .map_err(said("system call filter"))
}

fn allowed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALWAYS
        .iter()
        .chain(ALWAYS_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    // Memory, but not executable.
    let run = u64::from(libc::PROT_EXEC.unsigned_abs());
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let not_run = SeccompCondition::new(2, Width::Dword, Is::MaskedEq(run), 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![not_run])?]);
    }
    // Its own limits, and signals to itself.
    let itself = SeccompCondition::new(0, Width::Dword, Is::Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![itself])?]);
    let us = u64::from(std::process::id());
    let to_us = SeccompCondition::new(0, Width::Dword, Is::Eq, us)?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![to_us])?]);
    Ok(rules)
}

fn said<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}
