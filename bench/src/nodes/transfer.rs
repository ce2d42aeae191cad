//! A large file from node to node, beside scp and a bare copy over TCP.

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use super::ssh::Ssh;
use super::{Node, beside};
use crate::daemon::{Daemon, resident_kib};
use crate::stats::line;

const SIZE: u64 = 1 << 30;
const RUNS: usize = 3;

/// 1 GiB from one node to another through the gateway.
pub fn transfer(binary: &Path, ssh: Option<&Ssh>) -> Result<(), Box<dyn Error>> {
    let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let source = from.path().join("large.bin");
    fill(&source)?;
    let target = to.path().join("large.bin");
    let tcp = best(&target, || bare(&source, &target))?;
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let here = Node::start(binary, &daemon, "here", from.path())?;
    let there = Node::start(binary, &daemon, "there", to.path())?;
    let mut client = daemon.client()?;
    let body = r#"{"source":"here:large.bin","destination":"there:large.bin"}"#;
    let ours = best(&target, || {
        let (status, answer) = client.send("POST", "/api/tools/gsv__Transfer", "", body)?;
        match status {
            200 => Ok(()),
            _ => Err(answer.into()),
        }
    })?;
    beside(
        "transfer of 1 GiB, node to node, hashed",
        ours,
        ("bare TCP copy", tcp),
        " (goal 2.0)",
    );
    if let Some(ssh) = ssh {
        let (source, target_name) = (source.display().to_string(), target.display().to_string());
        let theirs = best(&target, || ssh.copy(&source, &target_name))?;
        beside(
            "transfer of 1 GiB, node to node, hashed",
            ours,
            ("scp", theirs),
            " (goal 1.0)",
        );
    }
    for (what, pid) in [
        ("gateway", daemon.pid()),
        ("source", here.pid()),
        ("destination", there.pid()),
    ] {
        let peak = resident_kib(pid, "VmHWM:")?;
        line(
            &format!("transfer of 1 GiB: most memory of the {what}"),
            &format!("{:.1} MB", peak * 1024.0 / 1e6),
            "40 MB",
        );
    }
    daemon.stop().map(drop)
}

/// The best of a few, each onto a free place.
fn best(
    target: &Path,
    mut once: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let _ = std::fs::remove_file(target);
        let began = Instant::now();
        once()?;
        best = best.min(began.elapsed());
        if std::fs::metadata(target)?.len() != SIZE {
            return Err("not all of it came".into());
        }
    }
    Ok(best)
}

fn fill(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut random = File::open("/dev/urandom")?;
    let mut piece = vec![0; 1 << 20];
    random.read_exact(&mut piece)?;
    let mut file = File::create(path)?;
    for number in 0..SIZE >> 20 {
        piece[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&piece)?;
    }
    Ok(file.sync_all()?)
}

/// Reads a file, sends it over loopback, writes it and puts it on disk: nothing else.
fn bare(source: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let target = target.to_owned();
    let receiver = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut socket, _) = listener.accept()?;
        let mut file = File::create(target)?;
        let mut piece = vec![0; 256 << 10];
        loop {
            match socket.read(&mut piece)? {
                0 => return file.sync_all(),
                count => file.write_all(&piece[..count])?,
            }
        }
    });
    let mut socket = TcpStream::connect(address)?;
    let mut file = File::open(source)?;
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => socket.write_all(&piece[..count])?,
        }
    }
    drop(socket);
    receiver.join().map_err(|_| "the receiver broke")??;
    Ok(())
}
