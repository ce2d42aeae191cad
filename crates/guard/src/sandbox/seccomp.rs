//! Which system calls a confined program may make.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustix::process::geteuid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::SandboxError;

/// Refused whatever the arguments.
const NEVER: &[i64] = &[
    // Reaching into other programs.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Leaving the process group, and so the end of the call.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Another view of the file system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Large and seldom needed parts of the kernel. io_uring also opens sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    // What outlives the call, and is counted by no limit.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // What is mounted where, which /proc would tell if it could be read.
    STATMOUNT,
    LISTMOUNT,
    // Where other programs run.
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Modes, owners and attributes by path: Landlock does not look at these, so they would
    // reach every file of the machine. By descriptor only what could be opened is reached.
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];

const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;

/// The first call that was not looked at when this was written. Newer ones do not exist here.
const FIRST_UNKNOWN: u32 = 463;

/// By descriptor too, where the user is root and so owns the system's files.
const NEVER_AS_ROOT: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
];

/// Calls that look at or change how another process runs, and which argument says whose; 0 is
/// the calling process.
const OF_WHOM: [(i64, u8); 8] = [
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_get_robust_list, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Of these, the first argument says what the second means. Only one process may be meant: 0 as
/// a user is every process of that user, the gateway among them.
const ONE_PROCESS: [(i64, u64); 2] = [
    (libc::SYS_setpriority, libc::PRIO_PROCESS as u64),
    (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
];

const IOPRIO_WHO_PROCESS: u64 = 1;

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[i64] = &[];

/// Types of `clone` that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Kinds of socket a program with a network may open: the internet, and the kernel's
/// answers about interfaces that name lookups ask for.
const NETWORK_DOMAINS: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Terminal requests that type in another program's name.
const TYPING: [u64; 2] = [0x5412, 0x541C]; // TIOCSTI, TIOCLINUX

/// The filters to install, in order. They depend on nothing but the network, so each kind is
/// built once.
pub(super) fn filters(network: bool) -> Result<Vec<BpfProgram>, SandboxError> {
    static WITHOUT: OnceLock<Vec<BpfProgram>> = OnceLock::new();
    static WITH: OnceLock<Vec<BpfProgram>> = OnceLock::new();
    let built = if network { &WITH } else { &WITHOUT };
    if let Some(filters) = built.get() {
        return Ok(filters.clone());
    }
    let fresh = build(network)?;
    Ok(built.get_or_init(|| fresh).clone())
}

fn build(network: bool) -> Result<Vec<BpfProgram>, SandboxError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(unavailable)?;
    let rules = refused(network).map_err(unavailable)?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let filter: BpfProgram = filter
        .and_then(|filter| filter.try_into())
        .map_err(unavailable)?;
    Ok(vec![absent(), filter])
}

fn refused(network: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let when = |conditions| SeccompRule::new(conditions);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER
        .iter()
        .chain(NEVER_HERE)
        .chain(if geteuid().is_root() {
            NEVER_AS_ROOT
        } else {
            &[]
        })
        .map(|call| (*call, Vec::new()))
        .collect();
    let other_than_zero = |argument| SeccompCondition::new(argument, Width::Qword, Is::Ne, 0);
    for (call, whom) in OF_WHOM {
        let other = SeccompCondition::new(whom, Width::Dword, Is::Ne, 0)?;
        rules.insert(call, vec![when(vec![other])?]);
    }
    for (call, one) in ONE_PROCESS {
        let several = SeccompCondition::new(0, Width::Dword, Is::Ne, one)?;
        rules.entry(call).or_default().push(when(vec![several])?);
    }
    // Times by path; without one they are a descriptor's.
    let by_path = when(vec![other_than_zero(1)?])?;
    rules.insert(libc::SYS_utimensat, vec![by_path]);
    if !geteuid().is_root() {
        let special = [0o4000_u64, 0o2000].map(|bit| {
            when(vec![SeccompCondition::new(
                1,
                Width::Dword,
                Is::MaskedEq(bit),
                bit,
            )?])
        });
        let special = special.into_iter().collect::<Result<_, _>>()?;
        rules.insert(libc::SYS_fchmod, special);
    }
    let namespaces = NAMESPACES.map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        let wanted = SeccompCondition::new(0, Width::Qword, Is::MaskedEq(flag), flag)?;
        when(vec![wanted])
    });
    rules.insert(
        libc::SYS_clone,
        namespaces.into_iter().collect::<Result<_, _>>()?,
    );
    let typing = TYPING.map(|request| {
        when(vec![SeccompCondition::new(
            1,
            Width::Dword,
            Is::Eq,
            request,
        )?])
    });
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    let mut sockets = Vec::new();
    if network {
        let others = NETWORK_DOMAINS.map(|domain| {
            SeccompCondition::new(0, Width::Dword, Is::Ne, u64::from(domain.unsigned_abs()))
        });
        sockets.push(when(others.into_iter().collect::<Result<_, _>>()?)?);
        let kind = u64::from(libc::SOCK_RAW.unsigned_abs());
        let raw = SeccompCondition::new(1, Width::Dword, Is::MaskedEq(0xf), kind)?;
        let internet = [libc::AF_INET, libc::AF_INET6].map(|domain| {
            let domain = u64::from(domain.unsigned_abs());
            SeccompCondition::new(0, Width::Dword, Is::Eq, domain)
        });
        for domain in internet {
            sockets.push(when(vec![domain?, raw.clone()])?);
        }
        let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
        let netlink = SeccompCondition::new(0, Width::Dword, Is::Eq, netlink)?;
        let other_protocol = SeccompCondition::new(2, Width::Dword, Is::Ne, 0)?;
        sockets.push(when(vec![netlink, other_protocol])?);
    }
    rules.insert(libc::SYS_socket, sockets);
    Ok(rules)
}

/// Answers some calls as a kernel does that cannot serve them, so that programs do what they do
/// there:
///
/// - `clone3`, whose flags are behind a pointer where no filter can look: libc then uses `clone`.
/// - `pidfd_open`, by which any process could be waited for and, on some kernels, signalled. A
///   program still gets descriptors of its own children from `clone`.
/// - `inotify_add_watch`, since Landlock does not look at it: a watch needs no right to open what
///   it watches, and would tell the names of all files that are made in the gateway's home. The
///   answer is the one of a machine that is out of watches, for which `tail -f`, `tsc --watch` and
///   others fall back to polling; with `EPERM`, `tail -f` would show nothing new without a word.
/// - Every number that was not looked at when this was written.
///
/// Also refuses the x32 calling convention, which has other numbers for the same calls and the
/// same architecture mark, so that the other filter would not notice.
fn absent() -> BpfProgram {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const CLONE3: u32 = libc::SYS_clone3 as u32;
    const PIDFD_OPEN: u32 = libc::SYS_pidfd_open as u32;
    const ADD_WATCH: u32 = libc::SYS_inotify_add_watch as u32;
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    let errno = |number: i32| libc::SECCOMP_RET_ERRNO | number.unsigned_abs();
    vec![
        step(LOAD, 0, 0, 0), // the call's number
        step(IF_EQUAL, 5, 0, CLONE3),
        step(IF_EQUAL, 4, 0, PIDFD_OPEN),
        step(IF_EQUAL, 4, 0, ADD_WATCH),
        step(IF_AT_LEAST, 1, 0, X32),
        step(IF_AT_LEAST, 1, 3, FIRST_UNKNOWN),
        step(RETURN, 0, 0, errno(libc::EPERM)),
        step(RETURN, 0, 0, errno(libc::ENOSYS)),
        step(RETURN, 0, 0, errno(libc::ENOSPC)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

fn unavailable(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Unavailable {
        what: format!("the system call filter cannot be built: {error}"),
        remedy: "use an x86_64 or aarch64 machine, or report this".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_fit_what_a_kernel_accepts() {
        for network in [false, true] {
            let filters = filters(network).unwrap();
            assert!(
                filters
                    .iter()
                    .all(|filter| (1..=4096).contains(&filter.len()))
            );
        }
    }

    #[test]
    fn sockets_are_refused_whole_without_a_network() {
        assert!(refused(false).unwrap()[&libc::SYS_socket].is_empty());
        assert!(!refused(true).unwrap()[&libc::SYS_socket].is_empty());
    }
}
