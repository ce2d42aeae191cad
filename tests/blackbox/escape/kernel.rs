//! What the kernel would tell or do: `/proc`, tracing, signals, namespaces, devices.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{Yard, bash_argv, text};

const PROBE: &str = include_str!("probe.py");

/// A process that lets itself be traced, for the control.
struct Victim(Child);

impl Victim {
    fn start(yard: &Yard) -> Self {
        let script = "import ctypes, time\nctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0)\n\
            print('up', flush=True)\ntime.sleep(1000)";
        let mut command = yard.command(&["python3", "-c", script].map(str::to_owned));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a victim");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        output.read_line(&mut line).expect("it is up");
        Self(child)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the tries of a kind that worked, from inside and freely.
fn tried(yard: &Yard, kind: &str) -> (Vec<String>, Vec<String>) {
    yard.put("probe.py", PROBE, 0o644);
    let victim = Victim::start(yard);
    let argv = |target: u32| {
        let target = target.to_string();
        ["python3", "probe.py", &target, text(&yard.secret()), kind].map(str::to_owned)
    };
    let worked = |said: super::Said| -> Vec<String> {
        assert_eq!(said.code, 0, "{said:?}");
        let lines = said.stdout.lines();
        let names = lines.filter_map(|line| line.strip_suffix(": worked"));
        names.map(str::to_owned).collect()
    };
    let inside = worked(yard.shell(&argv(yard.gateway.daemon.pid())));
    let free = worked(yard.freely(&argv(victim.0.id())));
    yard.assert_well();
    (inside, free)
}

#[track_caller]
fn check(kind: &str, at_least: usize) {
    let yard = Yard::new();
    let (inside, free) = tried(&yard, kind);
    assert!(free.len() >= at_least, "control: only {free:?}");
    assert!(inside.is_empty(), "from inside: {inside:?}");
}

#[test]
fn the_gateway_and_the_machine_cannot_be_looked_into() {
    check("look", 21);
}

#[test]
fn the_gateway_cannot_be_traced_read_or_signalled() {
    check("reach", 9);
}

#[test]
fn the_gateways_limits_and_priorities_cannot_be_changed() {
    check("steer", 12);
}

#[test]
fn nothing_can_be_watched() {
    check("watches", 7);
}

/// The nice value of a process.
fn nice(pid: u32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its state");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let nice = fields.split_whitespace().nth(16).expect("a nice value");
    nice.parse().expect("a number")
}

/// Nobody means oneself with a process, and everybody with a user.
#[test]
fn all_processes_of_the_user_cannot_be_slowed_at_once() {
    let yard = Yard::new();
    let gateway = yard.gateway.daemon.pid();
    let before = nice(gateway);
    for which in ["PRIO_USER", "PRIO_PGRP"] {
        for who in ["0", "os.getuid()", "os.getpgrp()"] {
            let script = format!(
                "import os; os.setpriority(os.{which}, {who}, os.getpriority(os.PRIO_PROCESS, 0) + 1)"
            );
            let said = yard.shell(&["python3", "-c", &script].map(str::to_owned));
            assert!(said.text.contains("PermissionError"), "{script}: {said:?}");
            assert_eq!(nice(gateway), before, "{script}");
        }
    }
    let script = "import os; os.setpgid(0, 0); os.setpriority(os.PRIO_PGRP, 0, os.nice(1) + 1); print(os.nice(0) - os.nice(0))";
    let free = yard.freely(&["python3", "-c", script].map(str::to_owned));
    assert_eq!(
        (free.stdout.as_str(), free.code),
        ("0\n", 0),
        "control: {free:?}"
    );
}

#[test]
fn a_program_can_steer_itself_and_work_in_its_folder() {
    let yard = Yard::new();
    let niced = "import os\nbefore = os.nice(0)\nos.nice(1)\n\
        os.setpriority(os.PRIO_PROCESS, 0, before + 2)\nprint(os.nice(0) - before)\n\
        os.sched_setaffinity(0, os.sched_getaffinity(0))\n\
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n\
        import resource\nresource.prlimit(0, resource.RLIMIT_NOFILE, (64, 64))";
    let said = yard.shell(&["python3", "-c", niced].map(str::to_owned));
    assert_eq!((said.stdout.as_str(), said.code), ("2\n", 0), "{said:?}");
    for script in [
        "nice -n 3 true",
        "ionice -c 2 -n 7 true",
        "ulimit -n 64 && true",
        "echo mine > file && cat file && rm file",
        "python3 -c 'import asyncio; asyncio.run(asyncio.create_subprocess_exec(\"true\"))'",
    ] {
        let said = yard.bash(script);
        assert_eq!(said.code, 0, "{script}: {said:?}");
    }
}

/// Without watches, `tail -f` looks again and again.
#[test]
fn a_growing_file_can_be_followed() {
    let yard = Yard::new();
    let said = yard.bash(
        "echo first > log\n\
         tail -s 0.1 -n +1 -f log > seen & tail=$!\n\
         until grep -q first seen; do :; done\n\
         echo second >> log\n\
         until grep -q second seen; do :; done\n\
         kill $tail; cat seen",
    );
    assert_eq!(said.stdout, "first\nsecond\n", "{said:?}");
}

/// A machine that refuses some of these to everybody proves nothing with those.
#[test]
fn dangerous_system_calls_are_blocked() {
    check("kernel", 8);
}

/// A list of what is refused has to be kept up with the kernel.
#[test]
fn system_calls_of_newer_kernels_are_blocked_too() {
    check("newer", 0);
}

#[test]
fn a_gateway_cannot_be_killed_from_inside() {
    let yard = Yard::new();
    let pid = yard.gateway.daemon.pid();
    for signal in ["KILL", "STOP", "TERM", "HUP", "INT", "SEGV"] {
        let said = yard.bash(&format!(
            "kill -{signal} {pid} && echo killed; kill -{signal} $PPID && echo killed"
        ));
        assert_eq!(said.stdout, "", "{signal}: {said:?}");
    }
    // To everybody it can reach, which is itself.
    yard.bash("kill -KILL -1");
    yard.bash("kill -KILL 0");
    yard.assert_well();
    let victim = Victim::start(&yard);
    let free = yard.freely(&bash_argv(&format!(
        "kill -KILL {} && echo killed",
        victim.0.id()
    )));
    assert_eq!(free.stdout, "killed\n");
}

#[test]
fn a_program_cannot_gain_rights() {
    let yard = Yard::new();
    let asked = "import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))";
    let argv = ["python3", "-c", asked].map(str::to_owned);
    assert_eq!(yard.shell(&argv).stdout, "1\n", "no new privileges");
    for script in [
        "unshare -r cat $S",
        "unshare -rm sh -c 'mount --bind $O . && cat ./secret'",
        "chroot / cat $S",
        "mount --bind $O . && cat secret",
        "nsenter -t $PPID -m cat $S",
        "sudo -n cat $S; su -c 'cat $S' < /dev/null",
        "setpriv --clear-groups cat $S",
        "mknod disk b 8 0; mknod kmem c 1 2; ls -l disk kmem",
    ] {
        let script = format!(
            "export O={} S={}\n{script}",
            text(&yard.outside()),
            text(&yard.secret())
        );
        let said = yard.bash(&script);
        yard.assert_untold(&said, &script);
        assert_ne!(said.code, 0, "{script}: {said:?}");
    }
    let free = yard.freely(&bash_argv(&format!(
        "setpriv --no-new-privs cat {}",
        text(&yard.secret())
    )));
    assert!(free.stdout.contains(&yard.canary), "control: {free:?}");
    let alive = Pid::from_raw(yard.gateway.daemon.pid().cast_signed()).expect("a pid");
    kill_process(alive, Signal::CONT).expect("the gateway lives");
}
