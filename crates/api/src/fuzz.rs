//! Fuzz targets run by `make fuzz`: every parser of untrusted input, as a function of bytes.
//!
//! `fuzz/` drives them with libFuzzer; the corpora in `fuzz/corpus` are also replayed by the tests
//! here. A target panics if something is wrong.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::tz::TimeZone;
use manyhands_core::{Clock, Entropy, Ids, Timestamp};
use manyhands_federation::servers::fuzz_document;
use manyhands_host::artifacts::reading::fuzz_path;
use manyhands_node_registry::Offer;
use manyhands_schedule::{Expression, Schedule, ScheduleInput, parse_at};
use manyhands_store::{Overwrite, Restore};
use manyhands_wire::{BinaryFrame, ConnectParams, Frame};
use serde_json::Value;

/// A target: its name, which is also the folder of its corpus, and its function.
pub type FuzzTarget = (&'static str, fn(&[u8], &Path));

/// All targets. They write only into the folder they are given.
pub const TARGETS: [FuzzTarget; 11] = [
    ("socket_frames", socket_frames),
    ("json_rpc", json_rpc),
    ("schemas", schemas),
    ("patches", patches),
    ("cron", cron),
    ("json_path", json_path),
    ("sse", sse),
    ("markdown", markdown),
    ("openapi", openapi),
    ("documents", documents),
    ("backups", backups),
];

fn socket_frames(bytes: &[u8], _: &Path) {
    if let Ok(frame) = BinaryFrame::decode(bytes) {
        // What is accepted must be what is sent on, byte by byte.
        assert_eq!(frame.encode(), bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(frame) = Frame::decode(text) else {
        return;
    };
    assert_eq!(Frame::decode(&frame.encode()), Ok(frame.clone()));
    if let Frame::Req(request) = frame
        && let Ok(params) =
            serde_json::from_value::<ConnectParams>(request.params.unwrap_or_default())
    {
        drop(Offer::read(params));
    }
}

fn json_rpc(bytes: &[u8], _: &Path) {
    manyhands_upstream::fuzz::json_rpc(bytes);
}

/// A schema, a line break, and a value.
fn schemas(bytes: &[u8], _: &Path) {
    let (schema, value) = halves(bytes);
    let read = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    if let Some(schema) = read(schema) {
        manyhands_path::fuzz::schema(&schema, &read(value).unwrap_or_default());
    }
}

/// A text, a zero byte, and a patch for it.
fn patches(bytes: &[u8], _: &Path) {
    let cut = bytes.iter().position(|byte| *byte == 0);
    let (original, patch) = bytes.split_at(cut.unwrap_or(0));
    let Ok(patch) = std::str::from_utf8(patch.strip_prefix(&[0]).unwrap_or(patch)) else {
        return;
    };
    if let Ok(patch) = manyhands_hands::patch::parse(patch) {
        for file in &patch.files {
            let _ = manyhands_hands::patch::apply(original, file);
        }
    }
}

/// A cron expression, a time phrase, or a schedule as JSON.
fn cron(bytes: &[u8], _: &Path) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // A fixed time, so that a finding can be reproduced.
    let now = Timestamp(1_790_000_000_000);
    let zone = manyhands_schedule::zone(Some("Europe/Berlin"));
    let _ = parse_at(text, now, &zone);
    let schedule = match serde_json::from_str::<ScheduleInput>(text) {
        Ok(input) => Schedule::read(&input, now, &zone).ok(),
        Err(_) => text
            .parse::<Expression>()
            .ok()
            .map(|expr| Schedule::Cron { expr, tz: None }),
    };
    if let Some(schedule) = schedule {
        follow(&schedule, now, &zone);
    }
}

fn follow(schedule: &Schedule, now: Timestamp, zone: &TimeZone) {
    // More than a year, so that yearly schedules occur too.
    let coming = schedule.between(now, Timestamp(now.0 + 400 * 86_400_000), 50, zone);
    assert!(coming.windows(2).all(|two| two[0] < two[1]), "{coming:?}");
    assert!(coming.iter().all(|at| *at > now), "{coming:?}");
    let last = schedule.last_until(now, Timestamp(now.0 + 86_400_000), zone);
    assert!(last.is_none_or(|last| last > now), "{last:?}");
}

/// A path, a line break, and a document.
fn json_path(bytes: &[u8], _: &Path) {
    let (path, document) = halves(bytes);
    if let (Ok(path), Ok(document)) = (std::str::from_utf8(path), serde_json::from_slice(document))
    {
        fuzz_path(&document, path);
    }
}

/// A PDF or an office file.
fn documents(bytes: &[u8], _: &Path) {
    use manyhands_hands::documents::{DocumentLimits, read};
    let limits = DocumentLimits {
        text: 1 << 20,
        unpacked: 8 << 20,
        steps: 2_000_000,
    };
    if let Ok(document) = read(bytes, limits, &|| false) {
        assert!(document.text.len() < limits.text + 100, "text is bounded");
    }
}

/// A byte that selects the provider, then its event stream.
fn sse(bytes: &[u8], _: &Path) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = manyhands_upstream::fuzz::events(bytes, bytes.len());
    let single = manyhands_upstream::fuzz::events(bytes, 1);
    assert_eq!(whole, single, "events do not depend on how they are cut");
    let kinds = manyhands_llm::fuzz::KINDS;
    let kind = kinds[usize::from(*first) % kinds.len()];
    let read = |piece| manyhands_llm::fuzz::reply(kind, bytes, piece, &still_ids());
    assert_eq!(read(bytes.len()), read(1), "nor do replies");
}

/// A byte for the chunk size, then a text.
fn markdown(bytes: &[u8], _: &Path) {
    if let Some((first, text)) = bytes.split_first()
        && let Ok(text) = std::str::from_utf8(text)
    {
        manyhands_channels::fuzz::markdown(text, 8 + usize::from(*first));
    }
}

fn openapi(bytes: &[u8], _: &Path) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        fuzz_document(text);
    }
}

/// A tar archive, compressed here so that mutations reach the archive itself. Restoring is
/// asynchronous; targets are not.
static RUNTIME: OnceLock<Mutex<tokio::runtime::Runtime>> = OnceLock::new();

fn backups(bytes: &[u8], folder: &Path) {
    let (file, home) = (folder.join("backup.tar.gz"), folder.join("home"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(bytes).expect("memory");
    std::fs::write(&file, packed.finish().expect("memory")).expect("a file");
    let what = Restore {
        file,
        home: home.clone(),
        overwrite: Overwrite::Refuse,
        now: Timestamp(0),
    };
    let runtime = RUNTIME.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Mutex::new(runtime.expect("a runtime"))
    });
    let runtime = runtime.lock().unwrap_or_else(PoisonError::into_inner);
    let restored = runtime.block_on(manyhands_store::restore(what));
    assert_eq!(restored.is_ok(), home.exists(), "a refusal changes nothing");
    if home.exists() {
        std::fs::remove_dir_all(home).expect("the home goes");
    }
}

/// Splits at the first line break.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let cut = bytes.iter().position(|byte| *byte == b'\n');
    let (first, rest) = bytes.split_at(cut.unwrap_or(bytes.len()));
    (first, rest.strip_prefix(b"\n").unwrap_or(rest))
}

/// Ids that repeat, so that two parses can be compared.
fn still_ids() -> Ids {
    struct FixedIds;
    impl Clock for FixedIds {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }
        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }
    }
    impl Entropy for FixedIds {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }
    Ids::new(Arc::new(FixedIds), Arc::new(FixedIds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_fuzz_input_is_handled() {
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let folder = tempfile::tempdir().unwrap();
        for (name, target) in TARGETS {
            let mut replayed = 0;
            for file in std::fs::read_dir(corpora.join(name)).unwrap() {
                target(&std::fs::read(file.unwrap().path()).unwrap(), folder.path());
                replayed += 1;
            }
            assert!(replayed >= 3, "{name} has a corpus");
        }
        let folders = std::fs::read_dir(&corpora).unwrap().count();
        assert_eq!(folders, TARGETS.len(), "every corpus has its target");
    }
}
