//! Releases to upgrade to: one that is signed, and others that behave as the test wants.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::harness::BINARY;
use crate::service::stage::{Stage, link};

/// The signed release, in the repository.
fn signed_files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/release")
}

/// The key of the signed release.
pub fn key() -> String {
    signed_files().join("key.pub").display().to_string()
}

/// The name of an archive for this machine.
pub fn name(version: &str) -> String {
    let arch = std::env::consts::ARCH;
    format!("manyhands-{version}-{arch}-unknown-linux-gnu.tar.gz")
}

/// The signed release 9.9.9, in a folder of its own; the path of its archive.
pub fn signed(stage: &Stage) -> PathBuf {
    put_real(stage);
    let folder = stage.path("release");
    std::fs::create_dir_all(&folder).expect("a folder");
    let from = signed_files();
    for file in ["SHA256SUMS", "SHA256SUMS.minisig"] {
        std::fs::copy(from.join(file), folder.join(file)).expect("a copy");
    }
    let archive = folder.join(name("9.9.9"));
    std::fs::copy(from.join("release.tar.gz"), &archive).expect("a copy");
    archive
}

/// The binary under test, as what the program of a release starts.
fn put_real(stage: &Stage) {
    let real = stage.path("bin/real");
    if !real.exists() {
        link(Path::new(BINARY), &real);
    }
}

/// An unsigned release whose program is a shell script; the path of its archive. `script` sees `$real`.
pub fn scripted(stage: &Stage, version: &str, script: &str) -> PathBuf {
    put_real(stage);
    let text = format!(
        "#!/bin/sh\nreal=\"${{0%/*}}/real\"\n{script}\n[ \"$1\" = --version ] && exec echo \"manyhands {version}\"\nexec \"$real\" \"$@\"\n"
    );
    let folder = stage.path(&format!("release-{version}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let name = name(version);
    let top = name.strip_suffix(".tar.gz").expect("an archive");
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o755);
    header.set_size(text.len() as u64);
    tar.append_data(&mut header, format!("{top}/bin/manyhands"), text.as_bytes())
        .expect("an archive");
    let bytes = tar
        .into_inner()
        .expect("an archive")
        .finish()
        .expect("an archive");
    let sum: String = Sha256::digest(&bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    std::fs::write(folder.join(&name), &bytes).expect("the archive");
    std::fs::write(folder.join("SHA256SUMS"), format!("{sum}  {name}\n")).expect("the checksums");
    folder.join(name)
}

/// Serves a folder over HTTP at `/release/`, and redirects `/latest/` there.
pub fn serve(folder: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &folder);
        }
    });
    address
}

fn answer(mut stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
    let line = lines.next().and_then(Result::ok).unwrap_or_default();
    for line in lines.by_ref().map_while(Result::ok) {
        if line.is_empty() {
            break;
        }
    }
    let path = line.split(' ').nth(1).unwrap_or_default();
    let reply = match (path.strip_prefix("/latest/"), path.strip_prefix("/release/")) {
        (Some(name), _) => format!("HTTP/1.1 302 Found\r\nLocation: /release/{name}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes(),
        (_, Some(name)) => match std::fs::read(folder.join(name)) {
            Ok(bytes) => {
                let mut reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()).into_bytes();
                reply.extend(bytes);
                reply
            }
            Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        },
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    };
    let _ = stream.write_all(&reply); // the client may have gone
}
