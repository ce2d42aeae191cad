//! A disk that is full: reads go on, writes say so, nothing acknowledged is lost.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit};
use serde_json::{Value, json};

use crate::harness::{BINARY, Gateway, Home, UP};

/// A gateway whose disk can be filled and freed.
struct SmallDisk {
    gateway: Gateway,
    kind: Kind,
}

enum Kind {
    /// A file system of its own with a few megabytes, and a file that fills it.
    Tmpfs { ballast: PathBuf },
    /// No file may grow past a limit.
    FileSize,
}

/// Whether a file system of our own can be mounted here: as root, or as root of a user namespace.
fn unshare() -> Option<Vec<&'static str>> {
    let ways = [
        vec!["unshare", "--mount"],
        vec!["unshare", "--user", "--map-root-user", "--mount"],
    ];
    ways.into_iter().find(|way| {
        let mut command = Command::new(way[0]);
        command
            .args(&way[1..])
            .args(["sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]);
        let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    })
}

impl SmallDisk {
    /// A real small disk where one can be mounted; a limit on the size of files elsewhere.
    fn new() -> Self {
        match unshare() {
            Some(way) => Self::tmpfs(&way),
            None => Self::file_size(),
        }
    }

    fn tmpfs(way: &[&str]) -> Self {
        let home = Home::new();
        std::fs::create_dir(home.path()).expect("the home");
        // What happens when a write fails is asked here, so the watch that prevents it is off.
        let script = "umask 077; mount -t tmpfs -o size=6m,mode=700 tmpfs \"$0\" \
            && echo 'limits.min_free_bytes = 0' > \"$0/config.toml\" && exec \"$@\"";
        let mut command = home.wrap(Command::new(way[0]));
        command
            .args(&way[1..])
            .args(["sh", "-c", script])
            .arg(home.path())
            .arg(BINARY)
            .args(UP);
        let gateway = Gateway::from(home, command);
        let ballast = seen(&gateway, "ballast");
        Self {
            gateway,
            kind: Kind::Tmpfs { ballast },
        }
    }

    fn file_size() -> Self {
        let home = Home::new();
        // A file that may not grow fails its write, instead of ending the program.
        let script = "trap '' XFSZ; exec \"$@\"";
        let mut command = home.wrap(Command::new("sh"));
        command.args(["-c", script, "sh", BINARY]).args(UP);
        Self {
            gateway: Gateway::from(home, command),
            kind: Kind::FileSize,
        }
    }

    /// From now on nothing more fits.
    fn fill(&self) {
        match &self.kind {
            Kind::Tmpfs { ballast } => {
                let mut file = std::fs::File::create(ballast).expect("the ballast");
                let full = std::io::copy(&mut std::io::repeat(0), &mut file)
                    .expect_err("it is full at some point");
                assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
            }
            Kind::FileSize => self.limit(Some(1)),
        }
    }

    /// Room again.
    fn free(&self) {
        match &self.kind {
            Kind::Tmpfs { ballast } => std::fs::remove_file(ballast).expect("the ballast goes"),
            Kind::FileSize => self.limit(None),
        }
    }

    fn limit(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(i32::try_from(self.gateway.daemon.pid()).expect("a pid"));
        let limit = Rlimit {
            current: bytes,
            maximum: None,
        };
        rustix::process::prlimit(pid, Resource::Fsize, limit).expect("a limit");
    }
}

/// A file of the home as the gateway's own process sees it.
fn seen(gateway: &Gateway, name: &str) -> PathBuf {
    let home = gateway.home.path();
    format!(
        "/proc/{}/root{}/{name}",
        gateway.daemon.pid(),
        home.display()
    )
    .into()
}

/// Calls a tool over HTTP: the command line's own home may be elsewhere.
fn write(gateway: &Gateway, path: &str, bytes: usize) -> Value {
    gateway.call(
        "gsv__WriteFile",
        json!({ "path": path, "content": "x".repeat(bytes) }),
    )
}

fn check(disk: &SmallDisk, full_code: &[&str]) {
    let gateway = &disk.gateway;
    for number in 0..20 {
        let said = write(gateway, &format!("before/{number}.md"), 3_000);
        assert_eq!(said["ok"], true, "the control: {said}");
    }
    disk.fill();
    let mut refused = 0;
    for number in 0..30 {
        let path = format!("during/{number}.md");
        let said = write(gateway, &path, 20_000);
        if said["ok"] == true {
            assert_eq!(
                gateway.read(&path).map(|text| text.len()),
                Some(20_000),
                "what is acknowledged is there"
            );
            continue;
        }
        refused += 1;
        assert!(
            full_code.contains(&said["code"].as_str().unwrap_or_default()),
            "{said}"
        );
        assert!(
            said["error"].as_str().is_some_and(|error| error.len() > 10),
            "{said}"
        );
        let edit = json!({ "path": "before/0.md", "oldString": "x".repeat(3_000), "newString": "y".repeat(9_000) });
        let said = gateway.call("gsv__EditFile", edit);
        assert_ne!(said["ok"], true, "{said}");
        for kept in 0..20 {
            let text = gateway.read(&format!("before/{kept}.md"));
            assert_eq!(
                text.map(|text| text.len()),
                Some(3_000),
                "reads go on, and nothing is lost"
            );
        }
        if refused == 3 {
            break;
        }
    }
    assert!(refused > 0, "the disk was full");
    disk.free();
    let said = write(gateway, "after.md", 20_000);
    assert_eq!(
        said["ok"], true,
        "with room again it goes on by itself: {said}"
    );
    assert_eq!(
        gateway.read("after.md").map(|text| text.len()),
        Some(20_000)
    );
    let verdict = gateway.post("/api/audit/verify", &json!({})).json();
    assert_eq!(verdict["result"]["ok"], true, "{verdict}");
}

#[test]
fn a_full_disk_is_reported_and_survived() {
    let disk = SmallDisk::new();
    match disk.kind {
        Kind::Tmpfs { .. } => check(&disk, &["storage_full"]),
        Kind::FileSize => check(&disk, &["storage_full", "failed", "unavailable"]),
    }
}

#[test]
fn a_file_size_limit_is_reported_and_survived() {
    check(
        &SmallDisk::file_size(),
        &["storage_full", "failed", "unavailable"],
    );
}
