//! A release: where it is, whether it is what its maker signed, and the program in it.
//!
//! The signature covers `SHA256SUMS`, which names each archive with its checksum; the name contains version and
//! target. All of it is verified on bytes in memory, so that nothing can be exchanged between check and use.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::read::GzDecoder;
use manyhands_guard::{Egress, EgressPolicy, Request, SystemLookup};
use minisign_verify::{PublicKey, Signature};
use semver::Version;
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};
use url::Url;

use crate::args::Upgrade;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Failure};

/// The key that releases are signed with. Without one in the file, `--public-key` has to name it.
const BUILT_IN_KEY: &str = include_str!("../../../../../packaging/release.pub");
/// Checksums of a release's files.
const SUMS: &str = "SHA256SUMS";
/// Signature of the checksums.
const SIGNATURE: &str = "SHA256SUMS.minisig";
/// The largest archive; a release is about 22 MB.
const MAX_ARCHIVE: u64 = 256 << 20;
/// The largest program in an archive.
const MAX_PROGRAM: u64 = 1 << 30;
/// Time limit of one download.
const DOWNLOAD: Duration = Duration::from_secs(600);

/// A verified release.
pub struct Release {
    /// Its version.
    pub version: Version,
    /// How it was verified, for its user.
    pub verified: &'static str,
    /// The folder in the archive.
    folder: String,
    archive: Vec<u8>,
}

/// Where a release is.
enum Place {
    /// In a folder of this machine.
    Folder(PathBuf),
    /// At this URL, which ends with a slash.
    Web(Url, Box<Egress>),
}

impl Release {
    /// Fetches and verifies the release that was asked for.
    pub async fn open(source: &str, asked: &Upgrade, ctx: &CliContext) -> Result<Self, Failure> {
        let (place, name) = locate(source, ctx)?;
        let sums = place.read(SUMS).await?;
        let sums = sums.ok_or_else(|| {
            Failure(format!(
                "there is no {SUMS} beside {source}, so it cannot be verified\nhint: download it from the same release"
            ))
        })?;
        let verified = place.verify(&sums, asked, ctx).await?;
        let sums = String::from_utf8_lossy(&sums);
        let (name, sum) = match &name {
            Some(name) => listed(&sums, name)?,
            None => newest(&sums)?,
        };
        let (version, folder) = parse_name(&name)?;
        let archive = place.read(&name).await?;
        let archive =
            archive.ok_or_else(|| Failure(format!("{name} does not exist at {source}")))?;
        let actual = hex(&Sha256::digest(&archive));
        if !actual.eq_ignore_ascii_case(&sum) {
            return Err(Failure(format!(
                "the checksum of {name} is {actual}, and {SUMS} says {sum}: it is damaged or was changed\nhint: download it again"
            )));
        }
        Ok(Self {
            version,
            verified,
            folder,
            archive,
        })
    }

    /// The program in the archive.
    pub fn program(&self) -> Result<Vec<u8>, Failure> {
        let wanted = format!("{}/bin/manyhands", self.folder);
        let failed = |e: std::io::Error| Failure(format!("the archive cannot be read: {e}"));
        let mut archive = Archive::new(GzDecoder::new(self.archive.as_slice()));
        for entry in archive.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_wanted = entry.path().is_ok_and(|path| path == Path::new(&wanted));
            if !is_wanted || entry.header().entry_type() != EntryType::Regular {
                continue;
            }
            let mut program = Vec::new();
            entry
                .take(MAX_PROGRAM)
                .read_to_end(&mut program)
                .map_err(failed)?;
            return Ok(program);
        }
        Err(Failure(format!("the archive has no file {wanted}")))
    }
}

/// Finds a release; the name of the archive is known unless the source is a folder.
fn locate(source: &str, ctx: &CliContext) -> Result<(Place, Option<String>), Failure> {
    if !source.contains("://") {
        let path = ctx.file(Path::new(source))?;
        if path.is_dir() {
            return Ok((Place::Folder(path), None));
        }
        if !path.is_file() {
            return Err(Failure(format!("{} does not exist", path.display())));
        }
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        return Ok((Place::Folder(folder), name));
    }
    let wrong = |why: &str| Failure(format!("{source}: {why}"));
    let mut url = Url::parse(source).map_err(|e| wrong(&e.to_string()))?;
    let is_local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
        return Err(wrong("a release's URL starts with https://"));
    }
    let last = url.path_segments().and_then(|mut parts| parts.next_back());
    let name = last
        .filter(|name| name.ends_with(".tar.gz"))
        .map(str::to_owned);
    if let Ok(mut parts) = url.path_segments_mut() {
        if name.is_some() {
            parts.pop();
        }
        parts.pop_if_empty().push("");
    }
    url.set_query(None);
    let anywhere = ["0.0.0.0/0", "::/0"].map(|net| net.parse());
    let policy = EgressPolicy {
        // The owner named the host, which may be a mirror in the own network.
        allow_private: anywhere.into_iter().flatten().collect(),
        total_timeout: DOWNLOAD,
        max_bytes: MAX_ARCHIVE,
        ..EgressPolicy::default()
    };
    let egress = Egress::new(policy, Arc::new(SystemLookup));
    Ok((Place::Web(url, Box::new(egress)), name))
}

impl Place {
    /// Reads a file of the release; `None` if it is not there.
    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Folder(folder) => {
                let file = folder.join(name);
                let size = match std::fs::metadata(&file) {
                    Ok(found) => found.len(),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(Failure(format!("{}: {error}", file.display()))),
                };
                if size > MAX_ARCHIVE {
                    return Err(Failure(format!("{} is too large", file.display())));
                }
                let read = std::fs::read(&file);
                read.map(Some)
                    .map_err(|e| Failure(format!("cannot read {}: {e}", file.display())))
            }
            Self::Web(base, egress) => {
                let url = base.join(name)?;
                let failed = |why: String| Failure(format!("cannot download {url}: {why}"));
                let asked = egress.fetch(Request::get(url.as_str())).await;
                let answer = asked.map_err(|e| failed(e.to_string()))?;
                match answer.status.as_u16() {
                    200 => {
                        let bytes = answer.bytes().await.map_err(|e| failed(e.to_string()))?;
                        Ok(Some(bytes.to_vec()))
                    }
                    404 => Ok(None),
                    status => Err(failed(format!("the server answered {status}"))),
                }
            }
        }
    }

    /// Verifies the signature of the checksums; says how.
    async fn verify(
        &self,
        sums: &[u8],
        asked: &Upgrade,
        ctx: &CliContext,
    ) -> Result<&'static str, Failure> {
        let is_local = matches!(self, Self::Folder(_));
        let key = public_key(asked, ctx)?;
        let signature = self.read(SIGNATURE).await?;
        match (key, signature) {
            (Some(key), Some(signature)) => {
                let signature = String::from_utf8_lossy(&signature);
                let signature = Signature::decode(&signature)
                    .map_err(|e| Failure(format!("{SIGNATURE} is not a signature: {e}")))?;
                key.verify(sums, &signature, false).map_err(|e| {
                    Failure(format!(
                        "the signature of {SUMS} is wrong: {e}\nhint: the release is not from the owner of this key; do not use it"
                    ))
                })?;
                Ok("signature and checksum verified")
            }
            _ if is_local && asked.allow_unsigned => {
                output::print_note("warning: the signature is not verified, only the checksum");
                Ok("checksum verified, signature not verified")
            }
            (None, _) => Err(Failure(format!(
                "no public key is built into this program, so the signature cannot be verified\n\
                 hint: pass the key of the release with --public-key{}",
                unsigned(is_local)
            ))),
            (Some(_), None) => Err(Failure(format!(
                "there is no {SIGNATURE} beside {SUMS}, so the release cannot be verified\n\
                 hint: download it from the same release{}",
                unsigned(is_local)
            ))),
        }
    }
}

fn unsigned(is_local: bool) -> &'static str {
    match is_local {
        true => ", or add --allow-unsigned if you trust the file",
        false => "; without a signature only a local file can be used",
    }
}

/// The key to verify with: the one that was given, or the one built in, if there is one.
fn public_key(asked: &Upgrade, ctx: &CliContext) -> Result<Option<PublicKey>, Failure> {
    let Some(given) = &asked.public_key else {
        return match key_line(BUILT_IN_KEY) {
            Some(line) => parse_key(line).map(Some),
            None => Ok(None),
        };
    };
    let file = ctx.file(Path::new(given))?;
    if file.is_file() {
        let text = std::fs::read_to_string(&file)
            .map_err(|e| Failure(format!("cannot read {}: {e}", file.display())))?;
        let line = key_line(&text);
        let line =
            line.ok_or_else(|| Failure(format!("{} contains no public key", file.display())))?;
        return parse_key(line).map(Some);
    }
    parse_key(given).map(Some)
}

/// The line of a minisign key file that holds the key.
fn key_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| {
        !line.is_empty() && !line.starts_with("untrusted comment:") && !line.starts_with('#')
    })
}

fn parse_key(text: &str) -> Result<PublicKey, Failure> {
    PublicKey::from_base64(text.trim()).map_err(|e| {
        Failure(format!(
            "--public-key: {text:?} is neither a file nor a minisign public key: {e}"
        ))
    })
}

/// Name and checksum of a file, as listed.
fn listed(sums: &str, name: &str) -> Result<(String, String), Failure> {
    let mut found = lines(sums).filter(|(listed, _)| listed == name);
    match (found.next(), found.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(Failure(format!("{SUMS} does not list {name}"))),
        (Some(_), Some(_)) => Err(Failure(format!("{SUMS} lists {name} more than once"))),
    }
}

/// The newest archive for this machine.
fn newest(sums: &str) -> Result<(String, String), Failure> {
    let all = lines(sums).filter_map(|(name, sum)| {
        let (version, folder) = parse_name(&name).ok()?;
        let target = folder.strip_prefix(&format!("manyhands-{version}-"))?;
        let fits = fit(target)?;
        Some(((version, fits), (name, sum)))
    });
    let best = all.max_by(|(one, _), (other, _)| one.cmp(other));
    best.map(|(_, found)| found).ok_or_else(|| {
        Failure(format!(
            "{SUMS} lists no archive for this machine ({} {})",
            std::env::consts::OS,
            std::env::consts::ARCH
        ))
    })
}

/// How well a target fits this machine; `None` if not at all.
fn fit(target: &str) -> Option<u8> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let (arch, rest) = target.split_once('-')?;
    if arch != std::env::consts::ARCH || !rest.contains(system) {
        return None;
    }
    // A static program runs beside any C library; one for the own library is the usual choice.
    let own = match cfg!(target_env = "musl") {
        true => "musl",
        false => "gnu",
    };
    Some(u8::from(rest.contains(own)))
}

/// The files of a list of checksums: each line is a checksum, two characters, a name.
fn lines(sums: &str) -> impl Iterator<Item = (String, String)> {
    sums.lines().filter_map(|line| {
        let (sum, name) = line.trim_end().split_once([' ', '\t'])?;
        let name = name.trim_start_matches([' ', '*']);
        (sum.len() == 64).then(|| (name.to_owned(), sum.to_owned()))
    })
}

/// Version and folder of an archive named `manyhands-VERSION-TARGET.tar.gz`.
fn parse_name(name: &str) -> Result<(Version, String), Failure> {
    let wrong = || {
        Failure(format!(
            "{name} is not named manyhands-VERSION-TARGET.tar.gz\nhint: keep the name it has in the release"
        ))
    };
    let folder = name.strip_suffix(".tar.gz").ok_or_else(wrong)?;
    let rest = folder.strip_prefix("manyhands-").ok_or_else(wrong)?;
    // A version may contain hyphens too (1.0.0-rc.1), so its end is where a target begins.
    let mut ends = rest.match_indices('-').map(|(at, _)| at);
    let target = |at: &usize| {
        ["x86_64-", "aarch64-", "armv7-", "i686-", "riscv64gc-"]
            .iter()
            .any(|arch| rest[at + 1..].starts_with(arch))
    };
    let end = ends.find(target).ok_or_else(wrong)?;
    let version = Version::parse(&rest[..end]).map_err(|_| wrong())?;
    Ok((version, folder.to_owned()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn names_of_archives_have_a_version_and_a_target() {
        for (name, expect) in [
            (
                "manyhands-0.2.0-x86_64-unknown-linux-gnu.tar.gz",
                Some("0.2.0"),
            ),
            (
                "manyhands-1.0.0-rc.1-aarch64-apple-darwin.tar.gz",
                Some("1.0.0-rc.1"),
            ),
            ("manyhands-1.0-x86_64-unknown-linux-gnu.tar.gz", None),
            ("manyhands-x86_64-unknown-linux-gnu.tar.gz", None),
            ("manyhands-0.2.0.tar.gz", None),
            ("manyhands-0.2.0-x86_64-unknown-linux-gnu.zip", None),
            ("other-0.2.0-x86_64-unknown-linux-gnu.tar.gz", None),
        ] {
            let version = parse_name(name)
                .ok()
                .map(|(version, _)| version.to_string());
            assert_eq!(version.as_deref(), expect, "{name}");
        }
    }

    #[test]
    fn the_newest_archive_for_this_machine_is_chosen() {
        let arch = std::env::consts::ARCH;
        let name = |version: &str, target: &str| format!("manyhands-{version}-{target}.tar.gz");
        let own = format!("{arch}-unknown-linux-gnu");
        let list = [
            name("0.9.0", &own),
            name("0.10.0", &own),
            name("0.10.0", &format!("{arch}-unknown-linux-musl")),
            name("0.10.0-rc.1", &own),
            name("0.11.0", "riscv64gc-unknown-linux-gnu"),
            "manyhands_0.12.0_amd64.deb".to_owned(),
        ];
        let sums: String = list.iter().map(|name| format!("{SUM}  {name}\n")).collect();
        if cfg!(target_os = "linux") {
            assert_eq!(newest(&sums).unwrap().0, name("0.10.0", &own));
        }
        assert!(newest("").is_err());
    }

    #[test]
    fn a_checksum_is_found_by_the_exact_name() {
        let sums = format!(
            "{SUM}  a.tar.gz\n{SUM} *b.tar.gz\nnonsense\n{SUM}  c.tar.gz\n{SUM}  c.tar.gz\n"
        );
        assert!(listed(&sums, "a.tar.gz").is_ok());
        assert!(listed(&sums, "b.tar.gz").is_ok());
        for name in ["tar.gz", "x/a.tar.gz", "c.tar.gz", "nonsense", ""] {
            assert!(listed(&sums, name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_key_of_a_key_file_is_its_second_line() {
        let file = "untrusted comment: minisign public key\nRWQabc=\n";
        assert_eq!(key_line(file), Some("RWQabc="));
        assert_eq!(key_line("untrusted comment: none\n# none\n"), None);
    }
}
