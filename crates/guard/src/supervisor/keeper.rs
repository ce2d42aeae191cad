//! A second process that outlives a gateway killed without warning, for the moment it takes
//! to kill what that gateway had started.
//!
//! The supervisor tells it of every group that starts and ends. When the pipe between them
//! closes, whatever the reason, it kills the groups that are left and ends.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process_group};

/// The supervisor's end.
#[derive(Debug, Clone)]
pub(super) struct Keeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    args: Vec<String>,
    link: Mutex<Link>,
}

#[derive(Debug, Default)]
struct Link {
    /// Open once the first program was started.
    pipe: Option<ChildStdin>,
    /// What runs now.
    groups: BTreeSet<u32>,
}

impl Keeper {
    pub(super) fn new(program: PathBuf, args: Vec<String>) -> Self {
        Self(Arc::new(Inner {
            program,
            args,
            link: Mutex::default(),
        }))
    }

    /// Sees that it is there. Called before a program starts, so that the next step after the
    /// start is to tell it.
    pub(super) fn ready(&self) -> io::Result<()> {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        let there = link
            .pipe
            .as_mut()
            .is_some_and(|open| writeln!(open).is_ok());
        if there {
            return Ok(());
        }
        let mut fresh = self.start()?;
        // One that died is replaced by one that knows what it knew.
        for group in &link.groups {
            writeln!(fresh, "+{group}")?;
        }
        link.pipe = Some(fresh);
        Ok(())
    }

    /// Tells it of a group that has started.
    pub(super) fn started(&self, group: u32) {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        link.groups.insert(group);
        if let Some(open) = link.pipe.as_mut() {
            let _ = writeln!(open, "+{group}"); // the next program that starts finds it gone
        }
    }

    /// Tells it of a group that is gone.
    pub(super) fn ended(&self, group: u32) {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        link.groups.remove(&group);
        if let Some(open) = link.pipe.as_mut() {
            let _ = writeln!(open, "-{group}");
        }
    }

    #[allow(clippy::disallowed_methods)] // the keeper is the one program that must outlive its supervisor
    fn start(&self) -> io::Result<ChildStdin> {
        use std::os::unix::process::CommandExt;
        let mut child = Command::new(&self.0.program)
            .args(&self.0.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take();
        // It ends by itself when the pipe closes; somebody has to take note of that.
        std::thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || child.wait())?;
        pipe.ok_or_else(|| io::Error::other("the keeper has no input"))
    }
}

/// The keeper's own end: reads of groups until the supervisor is gone, then kills what is left.
pub fn keep_watch(input: impl Read) {
    let mut groups = BTreeSet::new();
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let number = line.get(1..).and_then(|number| number.parse::<i32>().ok());
        match (line.as_bytes().first(), number.and_then(Pid::from_raw)) {
            (Some(b'+'), Some(group)) => drop(groups.insert(group.as_raw_nonzero())),
            (Some(b'-'), Some(group)) => drop(groups.remove(&group.as_raw_nonzero())),
            _ => {}
        }
    }
    for group in groups {
        if let Some(group) = Pid::from_raw(group.get()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // starts the programs that the keeper is to kill
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    #[test]
    fn what_is_left_when_the_pipe_closes_is_killed_and_what_ended_is_not() {
        let sleeper = || {
            Command::new("/bin/sleep")
                .arg("1000")
                .process_group(0)
                .spawn()
                .unwrap()
        };
        let (mut left, mut ended) = (sleeper(), sleeper());
        let said = format!(
            "+{}\n+{}\nnonsense\n-{}\n",
            left.id(),
            ended.id(),
            ended.id()
        );
        keep_watch(said.as_bytes());
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(ended.try_wait().unwrap().is_none(), "it goes on");
        ended.kill().unwrap();
        ended.wait().unwrap();
    }
}
