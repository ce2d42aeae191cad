//! `telegram_send_photo`, `telegram_send_file`, `telegram_send_voice`

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{given, refuses};
use crate::chats::telegram::fixture::{ADA, BO, MAIN, OWNED, Stage, uses};

/// The beginning of a picture.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

const PHOTO: &str = "telegram_send_photo";
const FILE: &str = "telegram_send_file";
const VOICE: &str = "telegram_send_voice";

fn cache(stage: &Stage, name: &str) -> PathBuf {
    let place = stage
        .scene
        .gateway
        .home
        .path()
        .join("host/cache")
        .join(name);
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    place
}

#[track_caller]
fn put(stage: &Stage, name: &str, bytes: &[u8]) {
    std::fs::write(cache(stage, name), bytes).expect("a file");
}

#[test]
fn files_of_the_cache_are_sent_as_what_they_are() {
    let turns = [
        uses("photo", PHOTO, &json!({ "path": "pics/dot.png", "caption": "a *dot*" }), "Shown."),
        uses(
            "document",
            FILE,
            &json!({ "path": "file_cache_dir/table.csv", "filename": "figures.csv", "caption": "see" }),
            "Sent.",
        ),
        uses("plain", FILE, &json!({ "path": "table.csv" }), "Plainly sent."),
        uses("voice", VOICE, &json!({ "path": "note.ogg" }), "Spoken."),
    ]
    .concat();
    let stage = Stage::new(OWNED, &turns);
    put(&stage, "pics/dot.png", PNG);
    put(&stage, "table.csv", b"a,b\n");
    put(&stage, "note.ogg", b"OggS");
    let last = || {
        stage
            .written(ADA.id)
            .into_iter()
            .rev()
            .find(|one| one["text"].is_null())
    };
    let told = given(&stage, "photo", "Shown.");
    let photo = last().expect("a photo");
    assert_eq!(photo["photo"][0]["file_size"], PNG.len());
    assert_eq!(photo["caption"], "a dot");
    let result: Value = serde_json::from_str(&told).unwrap_or_else(|e| panic!("{e}: {told}"));
    assert_eq!(result["sent"], true, "{told}");
    assert_eq!(result["chat_id"], "11", "{told}");
    assert_eq!(result["filename"], "dot.png", "{told}");
    assert_eq!(result["size"], PNG.len(), "{told}");
    let number = photo["message_id"].as_i64().expect("a number").to_string();
    assert_eq!(result["message_id"], number.as_str(), "{told}");
    given(&stage, "document", "Sent.");
    let document = last().expect("a document");
    assert_eq!(document["document"]["file_name"], "figures.csv");
    assert_eq!(document["document"]["mime_type"], "text/csv");
    assert_eq!(document["caption"], "see");
    given(&stage, "plain", "Plainly sent.");
    let document = last().expect("a document");
    assert_eq!(document["document"]["file_name"], "table.csv");
    assert_eq!(document["caption"], Value::Null);
    given(&stage, "voice", "Spoken.");
    assert_eq!(last().expect("a voice note")["voice"]["file_size"], 4);
    // An absolute path into the folder is good too, and another chat may be named for a voice note.
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    let path = cache(&stage, "note.ogg");
    let said = stage.scene.gateway.call(
        VOICE,
        json!({ "path": path, "chat_id": BO.id, "filename": "for-bo.ogg" }),
    );
    assert_eq!(said["result"]["sent"], true, "{said}");
    assert_eq!(said["result"]["filename"], "for-bo.ogg", "{said}");
    assert!(
        stage
            .written(BO.id)
            .iter()
            .any(|one| !one["voice"].is_null())
    );
}

#[test]
fn a_forbidden_file_is_refused_and_nothing_arrives() {
    let long: String = "x".repeat(1_025);
    let cases = [
        (
            "outside",
            FILE,
            json!({ "path": "/etc/passwd" }),
            &["path"][..],
        ),
        (
            "upwards",
            FILE,
            json!({ "path": "../state/x.txt" }),
            &["path"],
        ),
        (
            "the state",
            FILE,
            json!({ "path": "file_state_dir/x.txt" }),
            &["path"],
        ),
        ("a link", FILE, json!({ "path": "link.txt" }), &["link"]),
        ("a folder", FILE, json!({ "path": "folder" }), &["folder"]),
        (
            "missing",
            FILE,
            json!({ "path": "nothing.txt" }),
            &["nothing.txt"],
        ),
        (
            "empty",
            FILE,
            json!({ "path": "empty.txt" }),
            &["path", "empty"],
        ),
        (
            "too large",
            FILE,
            json!({ "path": "large.bin" }),
            &["path", "20971520"],
        ),
        (
            "large voice",
            VOICE,
            json!({ "path": "large.bin" }),
            &["path", "20971520"],
        ),
        (
            "no picture",
            PHOTO,
            json!({ "path": "good.txt" }),
            &["path", "telegram_send_file"],
        ),
        (
            "a name",
            FILE,
            json!({ "path": "good.txt", "filename": "a/b.txt" }),
            &["filename"],
        ),
        (
            "a caption",
            FILE,
            json!({ "path": "good.txt", "caption": long }),
            &["caption", "1024"],
        ),
        (
            "unknown chat",
            VOICE,
            json!({ "path": "good.txt", "chat_id": 404 }),
            &["chat_id", "404"],
        ),
        (
            "a parameter",
            PHOTO,
            json!({ "path": "good.txt", "chat_id": 11 }),
            &["chat_id"],
        ),
    ];
    let turns: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, (_, tool, arguments, _))| {
            uses(
                &format!("case {at}."),
                tool,
                arguments,
                &format!("Done with {at}."),
            )
        })
        .collect();
    let good = uses("good one", FILE, &json!({ "path": "good.txt" }), "Sent.");
    // A conversation in which a tool failed is tainted; this is not about asking.
    let settings = format!("{OWNED}policy.rules = [{{ decision = \"allow\" }}]\n");
    let stage = Stage::new(&settings, &(turns.concat() + &good));
    put(&stage, "good.txt", b"good");
    put(&stage, "empty.txt", b"");
    std::fs::create_dir(cache(&stage, "folder")).expect("a folder");
    std::os::unix::fs::symlink("/etc/passwd", cache(&stage, "link.txt")).expect("a link");
    let large = std::fs::File::create(cache(&stage, "large.bin")).expect("a file");
    large.set_len(20 * 1024 * 1024 + 1).expect("a size");
    let state = stage.scene.gateway.home.path().join("host/state/x.txt");
    std::fs::write(state, "state").expect("a file");
    for (at, (what, tool, _, words)) in cases.iter().enumerate() {
        let told = given(&stage, &format!("case {at}."), &format!("Done with {at}."));
        assert!(!told.contains("\"sent\""), "{what} {tool}: {told}");
        for word in *words {
            assert!(told.contains(word), "{what}: {word:?} in {told}");
        }
    }
    let files = |stage: &Stage| {
        let all = stage.written(ADA.id).into_iter();
        all.filter(|one| one["text"].is_null()).count()
    };
    assert_eq!(files(&stage), 0);
    assert_eq!(stage.scene.outbox("failed"), Vec::<Value>::new());
    given(&stage, "good one", "Sent.");
    assert_eq!(files(&stage), 1);
}

#[test]
fn outside_of_a_chat_there_is_no_chat_to_send_to() {
    let stage = Stage::new(OWNED, "");
    put(&stage, "dot.png", PNG);
    for tool in [PHOTO, FILE, VOICE] {
        let words = ["Telegram chat"];
        refuses(
            &stage,
            tool,
            json!({ "path": "dot.png" }),
            "invalid_arguments",
            &words,
        );
    }
    let named = json!({ "path": "dot.png", "chat_id": 11 });
    refuses(
        &stage,
        VOICE,
        named.clone(),
        "invalid_arguments",
        &["chat_id", "11"],
    );
    assert_eq!(stage.telegram.written(), Vec::<Value>::new());
    // Once somebody has spoken there, it is a chat that may be named.
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    let said = stage.scene.gateway.call(VOICE, named);
    assert_eq!(said["result"]["sent"], true, "{said}");
}

#[test]
fn a_platform_refusal_is_reported_to_the_model() {
    let turns = uses("photo", PHOTO, &json!({ "path": "broken.png" }), "Hm.");
    let stage = Stage::new(OWNED, &turns);
    put(&stage, "broken.png", b"this is no picture");
    let told = given(&stage, "photo", "Hm.");
    assert!(told.contains("IMAGE_PROCESS_FAILED"), "{told}");
    assert_eq!(stage.scene.outbox("failed").len(), 1, "and to the owner");
    assert_eq!(stage.scene.sessions(), [MAIN]);
}
