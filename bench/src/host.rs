//! The tools on this machine beside the programs people would use instead.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use manyhands_guard::{Program, Sandbox, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use crate::stats::{line, micros, percentile};

const FILES: usize = 20_000;

/// The median of `runs` timings.
fn median(
    runs: usize,
    mut once: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::with_capacity(runs);
    once()?;
    for _ in 0..runs {
        let began = Instant::now();
        once()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(percentile(&times, 0.5))
}

fn program(name: &str, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let status = Command::new(name)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name} failed").into())
    }
}

fn beside(what: &str, ours: Duration, their_name: &str, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    line(
        what,
        &micros(ours),
        &format!("{their_name} {}: {ratio:.2} times", micros(theirs)),
    );
}

/// Listing and reading through the gateway, beside `find` and `cat`.
pub fn files(binary: &Path) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let tree = home.path().join("host/workspace/tree");
    for number in 0..FILES {
        let folder = tree.join(format!("d{}", number / 200));
        if number % 200 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(folder.join(format!("f{number}.txt")), b"x")?;
    }
    std::fs::write(tree.join("large.txt"), "0123456789abcde\n".repeat(65_536))?;
    std::fs::write(
        home.path().join("config.toml"),
        "[tools.file_list]\nmax_entries = 100000\n[limits]\nresult_bytes = 100000000\n",
    )?;
    let daemon = Daemon::start(binary, home)?;
    let mut client = daemon.client()?;
    let mut call = |tool: &str, body: &str| -> Result<(), Box<dyn Error>> {
        let (status, answer) = client.send("POST", &format!("/api/tools/{tool}"), "", body)?;
        if status == 200 {
            Ok(())
        } else {
            Err(answer.into())
        }
    };
    let ours = median(10, || {
        call("tool::file_list", r#"{"path":"tree","recursive":true}"#)
    })?;
    let shown = daemon.path("host/workspace/tree");
    let theirs = median(10, || {
        program("find", &[&shown, "-printf", "%p %y %s %T@\\n"])
    })?;
    beside("file_list of 20,000 files", ours, "find -printf", theirs);
    let ours = median(50, || {
        call("tool::file_read", r#"{"path":"tree/large.txt"}"#)
    })?;
    let file = daemon.path("host/workspace/tree/large.txt");
    let theirs = median(50, || program("cat", &[&file]))?;
    beside("file_read of 1 MiB", ours, "cat", theirs);
    let ours = median(50, || call("tool::shell_exec", r#"{"argv":["echo","hi"]}"#))?;
    let theirs = median(50, || program("echo", &["hi"]))?;
    beside(
        "shell_exec echo, audited and sandboxed",
        ours,
        "bare echo",
        theirs,
    );
    daemon.stop().map(drop)
}

/// What the sandbox adds to starting a program, beside a bare start and bubblewrap.
pub async fn sandbox() -> Result<(), Box<dyn Error>> {
    let supervisor = Supervisor::new(4);
    let timed = async |sandbox: Option<Sandbox>| -> Result<Duration, Box<dyn Error>> {
        let mut times = Vec::new();
        for _ in 0..200 {
            let program = Program::new("/bin/true").sandbox(sandbox.clone());
            let began = Instant::now();
            supervisor.run(program, CancellationToken::new()).await?;
            times.push(began.elapsed());
        }
        times.sort();
        Ok(percentile(&times, 0.5))
    };
    let bare = timed(None).await?;
    let confined = timed(Some(Sandbox::system_read_only())).await?;
    let added = confined.saturating_sub(bare);
    line("starting a program, supervised", &micros(bare), "");
    line("what the sandbox adds to that", &micros(added), "3000 us");
    let plain = median(100, || program("/bin/true", &[]))?;
    let args = [
        "--ro-bind",
        "/",
        "/",
        "--unshare-all",
        "--die-with-parent",
        "/bin/true",
    ];
    match median(100, || program("bwrap", &args)) {
        Ok(wrapped) => beside(
            "the same",
            added,
            "bubblewrap adds",
            wrapped.saturating_sub(plain),
        ),
        Err(_) => line(
            "bubblewrap is not here to compare with",
            "",
            "apt-get install bubblewrap",
        ),
    }
    Ok(())
}

/// A request through the gateway, beside curl.
pub fn web(binary: &Path) -> Result<(), Box<dyn Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (mut stream, mut seen) = (stream, [0; 4096]);
                while stream.read(&mut seen).is_ok_and(|read| read > 0) {
                    let body = "x".repeat(10_000);
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    if stream.write_all((head + &body).as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    let home = tempfile::tempdir()?;
    std::fs::write(
        home.path().join("config.toml"),
        "[egress]\nallow_private = [\"127.0.0.0/8\"]\n",
    )?;
    let daemon = Daemon::start(binary, home)?;
    let mut client = daemon.client()?;
    let url = format!("http://{address}/");
    let body = format!(r#"{{"url":"{url}"}}"#);
    let ours = median(100, || {
        let (status, answer) = client.send("POST", "/api/tools/url_fetch", "", &body)?;
        if status == 200 {
            Ok(())
        } else {
            Err(answer.into())
        }
    })?;
    let theirs = median(100, || program("curl", &["-s", &url]))?;
    beside("url_fetch of 10 KB, audited", ours, "curl", theirs);
    daemon.stop().map(drop)
}
