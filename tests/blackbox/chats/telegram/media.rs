//! Pictures, files and voice notes on their way to the model.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fixture::{ADA, BO, MAIN, OWNED, Stage};
use crate::aimock::server::hear;
use crate::http::Request;

/// The smallest picture there is.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

#[test]
fn a_picture_reaches_the_model() {
    let fixtures = json!([
        { "match": { "userMessage": "look at this" }, "response": { "content": "A dot." } },
    ]);
    let (stage, relay, _server) = Stage::watched(OWNED, &fixtures);
    stage.telegram.keep_file("pic", "photos/file_1.jpg", PNG);
    let photo = |id: &str, side: i64| json!({ "file_id": id, "file_unique_id": id, "width": side, "height": side, "file_size": PNG.len() });
    // The largest of its sizes is taken; the others could not even be fetched.
    let sent = json!({ "photo": [photo("tiny", 1), photo("pic", 9)], "caption": "look at this" });
    stage.send(ADA, ADA.id, sent);
    stage.reads(ADA.id, "A dot.");
    let asked = &relay.passed()[0].body;
    let messages = asked["messages"].as_array().expect("messages");
    let last = messages.last().expect("the last").to_string();
    assert!(last.contains("look at this"), "{last}");
    assert!(last.contains(&STANDARD.encode(PNG)), "{last}");
    assert!(last.contains("image/"), "{last}");
}

fn document(id: &str, name: &str, size: usize) -> Value {
    json!({ "document": {
        "file_id": id, "file_unique_id": id, "file_name": name, "mime_type": "text/csv", "file_size": size,
    }, "caption": "hello" })
}

/// The artifact that a message names.
#[track_caller]
fn artifact(stage: &Stage, heard: &str) -> Vec<u8> {
    let (_, rest) = heard
        .split_once("kept as artifact ")
        .unwrap_or_else(|| panic!("{heard}"));
    let id = rest.split(' ').next().expect("an id");
    let gateway = &stage.scene.gateway;
    let got = gateway.send(&Request::get(&format!("/api/artifacts/{id}")).bearer(&gateway.owner));
    assert_eq!(got.status, 200, "{}", got.text());
    got.body
}

#[test]
fn a_document_becomes_an_artifact_unless_it_is_too_large() {
    let settings = format!("{OWNED}channels.media_bytes = 1000\n");
    let stage = Stage::new(&settings, "");
    stage
        .telegram
        .keep_file("table", "documents/file_2.csv", &b"a,b\n1,2\n"[..]);
    stage
        .telegram
        .keep_file("long", "documents/file_3.csv", vec![b'x'; 1_001]);
    stage.send(ADA, ADA.id, document("table", "figures.csv", 8));
    stage.reads(ADA.id, "Good morning");
    let heard = stage.scene.heard(MAIN);
    assert!(
        heard[0].contains("a file \"figures.csv\", 8 bytes"),
        "{heard:?}"
    );
    assert_eq!(artifact(&stage, &heard[0]), b"a,b\n1,2\n");
    // Too large, also where its size was not told truly.
    for (at, told) in [(1, 1_001), (2, 7)] {
        stage.send(ADA, ADA.id, document("long", "long.csv", told));
        let more = || stage.texts(ADA.id).len() == at + 1;
        stage
            .scene
            .wait(stage.telegram.journal(), "an answer", more);
        let heard = stage.scene.heard(MAIN);
        assert!(
            heard[at].contains("a file \"long.csv\", which"),
            "{heard:?}"
        );
        assert!(!heard[at].contains("artifact"), "{heard:?}");
    }
    // One that is gone is named.
    stage.send(ADA, ADA.id, document("gone", "gone.csv", 7));
    let named = || stage.texts(ADA.id).len() == 4;
    stage
        .scene
        .wait(stage.telegram.journal(), "an answer", named);
    let heard = stage.scene.heard(MAIN);
    assert!(heard[3].contains("which could not be fetched"), "{heard:?}");
}

#[test]
fn a_reply_includes_the_quoted_message() {
    let stage = Stage::new(OWNED, "");
    stage.write(ADA, "hello");
    let first = stage.reads(ADA.id, "Good morning");
    let answer = json!({ "text": "hello, what is that?", "reply_to_message": first });
    stage.send(ADA, ADA.id, answer);
    let two = || stage.texts(ADA.id).len() == 2;
    stage.scene.wait(stage.telegram.journal(), "an answer", two);
    let heard = stage.scene.heard(MAIN);
    assert!(heard[1].starts_with("> "), "{heard:?}");
    assert!(
        heard[1].contains("morning") && heard[1].ends_with("hello, what is that?"),
        "{heard:?}"
    );
}

/// Somebody who writes down what is spoken, as OpenAI's interface describes it.
struct Ears {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Ears {
    const KEY: &str = "sk-ears-0123456789abcdef";

    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                answer(stream, &kept);
            }
        });
        Self { url, heard }
    }

    fn provider(&self) -> String {
        let url = &self.url;
        format!(
            "[models.providers.ears]\nkind = \"openai\"\nbase_url = {url:?}\napi_key = \"vault:ears\"\n"
        )
    }
}

fn answer(stream: TcpStream, heard: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
    let mut stream = stream;
    while let Some((head, body)) = hear(&mut reader) {
        let body = String::from_utf8_lossy(&body).into_owned();
        let refusal = refusal(&head, &body);
        let (status, said) = match &refusal {
            None if body.contains("OggS mumble") => (
                "500 Internal Server Error",
                json!({ "error": { "message": "cannot hear" } }),
            ),
            None => ("200 OK", json!({ "text": " hello from the garden \n" })),
            Some(why) => ("400 Bad Request", json!({ "error": { "message": why } })),
        };
        let said = said.to_string();
        heard
            .lock()
            .expect("what was heard")
            .push(refusal.unwrap_or_else(|| body.clone()));
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{said}",
            said.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
}

/// What the published description would refuse.
fn refusal(head: &str, body: &str) -> Option<String> {
    let lower = head.to_ascii_lowercase();
    if !head.starts_with("POST /v1/audio/transcriptions HTTP/1.1") {
        return Some(format!("no such place: {head}"));
    }
    if !lower.contains(&format!("authorization: bearer {}\r\n", Ears::KEY)) {
        return Some("no key".to_owned());
    }
    let kind = lower
        .split("content-type: multipart/form-data; boundary=")
        .nth(1);
    let Some(boundary) = kind.and_then(|rest| rest.split("\r\n").next()) else {
        return Some("not a form".to_owned());
    };
    if !body.ends_with(&format!("--{boundary}--\r\n")) {
        return Some("the form has no end".to_owned());
    }
    let part = |name: &str, value: &str| {
        let mark = format!("name=\"{name}\"\r\n\r\n{value}\r\n");
        (!body.contains(&mark)).then(|| format!("{name} must be {value}"))
    };
    part("model", "whisper-1")
        .or_else(|| part("response_format", "json"))
        .or_else(|| part("language", "en"))
        .or_else(|| {
            let file = body.contains("name=\"file\"; filename=\"voice.og");
            (!file).then(|| "there is no file".to_owned())
        })
}

fn voice(id: &str) -> Value {
    json!({ "voice": {
        "file_id": id, "file_unique_id": id, "duration": 2, "mime_type": "audio/ogg", "file_size": 11,
    } })
}

#[test]
fn a_voice_note_is_transcribed_by_the_configured_provider() {
    let ears = Ears::open();
    let settings = format!(
        "{OWNED}channels.transcription.provider = \"ears\"
channels.transcription.language = \"en\"
"
    );
    let stage = Stage::quiet(&settings, &ears.provider(), "");
    stage.log_in();
    let put = Request::new("PUT", "/api/secrets/ears").json(&json!({ "value": Ears::KEY }));
    let gateway = &stage.scene.gateway;
    assert_eq!(gateway.send(&put.bearer(&gateway.owner)).status, 200);
    stage
        .telegram
        .keep_file("note", "voice/file_4.oga", &b"OggS spoken"[..]);
    stage.send(ADA, ADA.id, voice("note"));
    stage.reads(ADA.id, "Good morning");
    assert_eq!(stage.scene.heard(MAIN), ["[spoken] hello from the garden"]);
    let heard = ears.heard.lock().expect("what was heard").clone();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("OggS spoken"), "{heard:?}");
    // Where that fails, there is still the recording.
    stage
        .telegram
        .keep_file("bad", "voice/file_5.oga", &b"OggS mumble"[..]);
    let mut bad = voice("bad");
    bad["caption"] = json!("hello");
    stage.send(BO, BO.id, bad);
    stage.reads(BO.id, "Good morning");
    let heard = stage.scene.heard("agent:main:telegram:dm:22");
    assert!(heard[0].contains("a voice message, 11 bytes"), "{heard:?}");
    assert_eq!(artifact(&stage, &heard[0]), b"OggS mumble");
}

#[test]
fn an_untranscribed_voice_note_is_mentioned() {
    let turns = "  - when: { user: a voice message }\n    text: I cannot listen yet.\n";
    let stage = Stage::new(OWNED, turns);
    stage
        .telegram
        .keep_file("note", "voice/file_4.oga", &b"OggS spoken"[..]);
    stage.send(ADA, ADA.id, voice("note"));
    stage.reads(ADA.id, "I cannot listen yet.");
    let heard = stage.scene.heard(MAIN);
    assert!(heard[0].contains("a voice message, 11 bytes"), "{heard:?}");
    assert_eq!(artifact(&stage, &heard[0]), b"OggS spoken");
}

#[test]
fn a_file_that_cannot_be_fetched_yet_is_waited_for() {
    let stage = Stage::new(OWNED, "");
    stage
        .telegram
        .keep_file("table", "documents/file_2.csv", &b"a,b\n1,2\n"[..]);
    let down = manyhands_platforms::Fault::answer(503, "{}");
    stage.telegram.fail("getFile", down);
    stage.send(ADA, ADA.id, document("table", "figures.csv", 8));
    stage.reads(ADA.id, "Good morning");
    let heard = stage.scene.heard(MAIN);
    assert_eq!(heard.len(), 1);
    assert_eq!(artifact(&stage, &heard[0]), b"a,b\n1,2\n");
}
