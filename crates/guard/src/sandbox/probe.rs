//! Checks whether this machine can confine programs, for `doctor` and for failing closed.

use super::{NEEDED_ABI, apply};

/// What the kernel supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The enabled Landlock version.
    pub landlock_abi: Option<i32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// What prevents the sandbox from starting; empty if it can.
    pub problems: Vec<SandboxProblem>,
}

/// Something that prevents the sandbox from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProblem {
    /// What is missing.
    pub what: String,
    /// What the owner can do about it.
    pub remedy: String,
}

/// Queries the kernel.
pub fn probe() -> Probe {
    let landlock_abi = apply::landlock_abi();
    let seccomp = apply::has_seccomp();
    Probe {
        landlock_abi,
        seccomp,
        problems: problems(landlock_abi, seccomp),
    }
}

fn problems(landlock_abi: Option<i32>, seccomp: bool) -> Vec<SandboxProblem> {
    let problem = |what: String, remedy: &str| SandboxProblem {
        what,
        remedy: remedy.to_owned(),
    };
    let mut problems = Vec::new();
    match landlock_abi {
        Some(abi) if abi >= NEEDED_ABI => {}
        Some(abi) => problems.push(problem(
            format!("landlock is version {abi} and {NEEDED_ABI} is needed"),
            "use Linux 6.2 or newer",
        )),
        None => problems.push(problem(
            "landlock is not switched on".to_owned(),
            "use Linux 6.2 or newer with `landlock` in its `lsm=` boot parameter; in a container, \
             allow the landlock system calls in its seccomp profile",
        )),
    }
    if !seccomp {
        problems.push(problem(
            "system calls cannot be filtered".to_owned(),
            "use a kernel built with CONFIG_SECCOMP_FILTER",
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_comes_with_a_remedy() {
        assert!(problems(Some(3), true).is_empty() && problems(Some(9), true).is_empty());
        assert_eq!(problems(Some(2), true).len(), 1);
        assert_eq!(problems(None, false).len(), 2);
        assert!(
            problems(None, false)
                .iter()
                .all(|problem| !problem.remedy.is_empty())
        );
    }
}
