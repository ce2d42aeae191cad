//! System call filters of a confined program.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustix::process::geteuid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::SandboxError;

/// Refused regardless of arguments.
const NEVER: &[i64] = &[
    // Access to other programs.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
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
    // Large and rarely needed parts of the kernel. io_uring also opens sockets.
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
    // Objects that outlive the call and count against no limit.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Mount information, which /proc would reveal if it were readable.
    STATMOUNT,
    LISTMOUNT,
    // Placement of other programs.
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls that the [broker](super::broker) handles. Landlock checks none of them: they would change
/// files anywhere on the machine, or leave the process group that ends with the call.
const BROKERED: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setpgid,
    libc::SYS_setsid,
];

/// The older variants of the same calls.
#[cfg(target_arch = "x86_64")]
const BROKERED_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const BROKERED_HERE: &[i64] = &[];

/// Extended attributes by path, which Landlock does not check either. Programs that copy them
/// treat "not supported" as "nothing to do", but "not permitted" as a failure.
const XATTR: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];

/// Also by descriptor if the user is root, who owns the system's files.
const XATTR_AS_ROOT: &[i64] = &[libc::SYS_fsetxattr, libc::SYS_fremovexattr];

pub(super) const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;

/// The first call number that was not reviewed. It and all newer ones appear unimplemented.
const FIRST_UNKNOWN: u32 = 463;

/// Calls that inspect or change how another process runs, and which argument names the process;
/// 0 is the calling process.
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

/// For these, the first argument says what the second means. Only a single process is allowed:
/// 0 as a user means every process of that user, including the gateway.
const ONE_PROCESS: [(i64, u64); 2] = [
    (libc::SYS_setpriority, libc::PRIO_PROCESS as u64),
    (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
];

const IOPRIO_WHO_PROCESS: u64 = 1;

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[i64] = &[];

/// Mode bits that make a file run as its owner or group.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Calls that create a file with a mode, the argument with the mode, and the argument with the
/// flags that say whether a file is created: without them the mode is ignored and may be anything.
const CREATING: &[(i64, u8, Option<u8>)] = &[
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mknodat, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
];

/// Flags of `open` that create a file; of `O_TMPFILE`, the bit that is not `O_DIRECTORY`.
const CREATES: [u64; 2] = [
    libc::O_CREAT as u64,
    (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64,
];

/// Flags of `clone` that create a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Socket domains allowed with a network: the internet, and the netlink queries about interfaces
/// that name lookups make.
const NETWORK_DOMAINS: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Terminal requests that inject input into another program.
const TYPING: [u64; 2] = [0x5412, 0x541C]; // TIOCSTI, TIOCLINUX

/// The filters to install: two in the common case, since each costs time at every start.
#[derive(Debug)]
pub(super) struct Filters {
    /// Refuses what is never allowed.
    pub(super) refused: BpfProgram,
    /// Sends [`BROKERED`] calls to a listener, and answers unimplemented calls.
    pub(super) brokered: BpfProgram,
    /// Used if the kernel or a container offers no listener: answers unimplemented calls and
    /// refuses those that would be brokered.
    pub(super) unbrokered: [BpfProgram; 2],
}

/// The filters depend only on `network`, so each variant is built once.
pub(super) fn filters(network: bool) -> Result<&'static Filters, SandboxError> {
    static WITHOUT: OnceLock<Filters> = OnceLock::new();
    static WITH: OnceLock<Filters> = OnceLock::new();
    let built = if network { &WITH } else { &WITHOUT };
    if let Some(filters) = built.get() {
        return Ok(filters);
    }
    let fresh = Filters {
        refused: compiled(refused(network))?,
        brokered: absent(&[BROKERED, BROKERED_HERE].concat()),
        unbrokered: [absent(&[]), compiled(unbrokered())?],
    };
    Ok(built.get_or_init(|| fresh))
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A filter that fails matching calls with `EPERM`.
fn compiled(rules: Result<Rules, BackendError>) -> Result<BpfProgram, SandboxError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(unavailable)?;
    let rules = rules.map_err(unavailable)?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
        .and_then(|filter| filter.try_into())
        .map_err(unavailable)
}

/// Conditions that match if one of `bits` is set in an argument.
fn any_bit(bits: &[u64], argument: u8) -> Result<Vec<SeccompCondition>, BackendError> {
    let set = |bit: &u64| SeccompCondition::new(argument, Width::Dword, Is::MaskedEq(*bit), *bit);
    bits.iter().map(set).collect()
}

/// What is refused of [`BROKERED`] without a broker: everything by path, and by descriptor what
/// root owns or what would make a file run as its owner.
fn unbrokered() -> Result<Rules, BackendError> {
    let mut rules: Rules = BROKERED
        .iter()
        .chain(BROKERED_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    if !geteuid().is_root() {
        let special = any_bit(&SET_ID, 1)?.into_iter();
        let special = special.map(|bit| SeccompRule::new(vec![bit]));
        rules.insert(libc::SYS_fchmod, special.collect::<Result<_, _>>()?);
        rules.remove(&libc::SYS_fchown);
    }
    // Without a path, utimensat applies to the descriptor.
    let by_path = SeccompCondition::new(1, Width::Qword, Is::Ne, 0)?;
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![by_path])?]);
    Ok(rules)
}

fn refused(network: bool) -> Result<Rules, BackendError> {
    let when = |conditions| SeccompRule::new(conditions);
    let mut rules: Rules = NEVER
        .iter()
        .chain(NEVER_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    for (call, whom) in OF_WHOM {
        let other = SeccompCondition::new(whom, Width::Dword, Is::Ne, 0)?;
        rules.insert(call, vec![when(vec![other])?]);
    }
    for (call, one) in ONE_PROCESS {
        let several = SeccompCondition::new(0, Width::Dword, Is::Ne, one)?;
        rules.entry(call).or_default().push(when(vec![several])?);
    }
    for (call, mode, flags) in CREATING.iter().copied() {
        let made = match flags {
            Some(flags) => any_bit(&CREATES, flags)?.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let mut creating = Vec::new();
        for (bit, made) in any_bit(&SET_ID, mode)?
            .iter()
            .flat_map(|bit| made.iter().map(move |made| (bit, made)))
        {
            let both = std::iter::once(bit).chain(made).cloned().collect();
            creating.push(when(both)?);
        }
        rules.insert(call, creating);
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

/// Answers some calls like a kernel that lacks them, so that programs use their fallback:
///
/// - `clone3`, whose flags are behind a pointer that no filter can follow: libc falls back to `clone`.
/// - `openat2`, whose mode is behind a pointer too: programs fall back to `openat`.
/// - `pidfd_open`, with which any process could be waited for and, on some kernels, signalled. A
///   program still gets descriptors of its own children from `clone`.
/// - `inotify_add_watch`, which Landlock does not check: a watch needs no right to open what it
///   watches, and would reveal the names of all files created in the gateway's home. The error is
///   that of a machine without free watches, for which `tail -f`, `tsc --watch` and others fall back
///   to polling; with `EPERM`, `tail -f` would silently show nothing new.
/// - Extended attributes, as on a file system without them.
/// - Every call number that was not reviewed.
///
/// Also refuses the x32 calling convention, which uses other numbers for the same calls under the
/// same architecture, so that the other filter would not notice. Other architectures are killed by
/// that filter, whose verdict takes precedence.
///
/// `brokered` calls go to the listener.
fn absent(brokered: &[i64]) -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let errno = |number: i32| libc::SECCOMP_RET_ERRNO | number.unsigned_abs();
    let mut filter = vec![step(LOAD, 0, 0, 0)]; // the call's number
    for call in [libc::SYS_clone3, libc::SYS_openat2, libc::SYS_pidfd_open] {
        filter.extend(answer(call, errno(libc::ENOSYS)));
    }
    filter.extend(answer(libc::SYS_inotify_add_watch, errno(libc::ENOSPC)));
    let as_root = if geteuid().is_root() {
        XATTR_AS_ROOT
    } else {
        &[]
    };
    for call in XATTR.iter().chain(as_root) {
        filter.extend(answer(*call, errno(libc::EOPNOTSUPP)));
    }
    for call in brokered {
        filter.extend(answer(*call, libc::SECCOMP_RET_USER_NOTIF));
    }
    filter.extend([
        step(IF_AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, errno(libc::EPERM)),
        step(IF_AT_LEAST, 0, 1, FIRST_UNKNOWN),
        step(RETURN, 0, 0, errno(libc::ENOSYS)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]);
    filter
}

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> seccompiler::sock_filter {
    seccompiler::sock_filter { code, jt, jf, k }
}

/// Two instructions that answer one call once its number is loaded.
const fn answer(call: i64, action: u32) -> [seccompiler::sock_filter; 2] {
    [
        step(IF_EQUAL, 0, 1, call as u32),
        step(RETURN, 0, 0, action),
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
            let all = [&filters.refused, &filters.brokered];
            let fits = |filter: &BpfProgram| (1..=4096).contains(&filter.len());
            assert!(all.into_iter().chain(&filters.unbrokered).all(fits));
        }
    }

    #[test]
    fn sockets_are_refused_whole_without_a_network() {
        assert!(refused(false).unwrap()[&libc::SYS_socket].is_empty());
        assert!(!refused(true).unwrap()[&libc::SYS_socket].is_empty());
    }
}
