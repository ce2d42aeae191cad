use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_core::{
    CallId, CallRequest, Caller, ManualClock, PeerKind, SeededEntropy, Timestamp,
};
use manyhands_guard::Jail;
use serde_json::{Value, from_value};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;

const SESSION: &str = "0199f0a0-7c1e-7b1c-8000-000000000000";

/// A message carrier that records messages and returns scripted results.
#[derive(Default)]
struct Courier {
    taken: Mutex<Vec<(String, String, String)>>,
    fails: Mutex<Option<ErrorCode>>,
    channels: Vec<&'static str>,
}

#[async_trait::async_trait]
impl manyhands_agent_services::contact_delivery::Deliver for Courier {
    fn account(&self, channel: &str, team: Option<&str>) -> Result<String, ToolError> {
        assert!(self.channels.contains(&channel), "{channel}");
        Ok(team.unwrap_or("default").to_owned())
    }

    async fn deliver(
        &self,
        to: &ChatRef,
        message: &ContactMessage<'_>,
    ) -> Result<ContactDelivery, ToolError> {
        let ContactMessage { text, key, .. } = *message;
        if let Some(code) = *self.fails.lock().unwrap() {
            return Err(ToolError::new(code, "the platform says no"));
        }
        let taken = (to.lane().to_string(), text.to_owned(), key.to_owned());
        self.taken.lock().unwrap().push(taken);
        let state = if text == "bounce" { "failed" } else { "sent" };
        Ok(ContactDelivery {
            id: "1".to_owned(),
            state: state.to_owned(),
            reason: (state == "failed").then(|| "the platform says why".to_owned()),
        })
    }
}

struct Fixture {
    dir: TempDir,
    clock: Arc<ManualClock>,
    courier: Arc<Courier>,
    tool: ContactsSend,
}

const ALICE: &str = "## Alice\n```yaml\ncontact_id: \"tg:90001\"\nchannel: telegram\ntg_username: alice\ntg_private_chat_id: \"90001\"\ntg_group_chat_ids:\n  - \"-100222\"\n```\n";
const SAM: &str = "## Sam\n```yaml\ncontact_id: \"slack:T1:U1\"\nslack_team_id: T1\nslack_user_id: U1\nslack_dm_channel_id: D1\nline_user_id: Uline\n```\n";

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("contacts")).unwrap();
    fs::write(
        dir.path().join("contacts/ACTIVE.md"),
        format!("# Active Contacts\n\n{ALICE}\n{SAM}"),
    )
    .unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(1_770_800_000_000)));
    let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(3)));
    let people = People::new(&Jail::open(dir.path()).unwrap(), clock.clone(), ids.clone());
    let courier = Arc::new(Courier {
        channels: vec!["telegram", "slack", "line"],
        ..Courier::default()
    });
    assert!(people.courier.set(courier.clone()).is_ok());
    Fixture {
        dir,
        clock,
        courier,
        tool: ContactsSend { people, ids },
    }
}

fn context(place: Option<ChatRef>) -> CallContext {
    let caller = Arc::new(Caller::gateway());
    let mut request = CallRequest::new("contacts_send", Value::Null, caller);
    request.chat = place.map(Arc::new);
    CallContext::new(request, CallId(Uuid::nil()), CancellationToken::new())
}

impl Fixture {
    async fn send_in(&self, place: Option<ChatRef>, arguments: Value) -> Result<Value, ToolError> {
        let params = from_value(arguments).unwrap();
        let outcome = self.tool.run(params, &context(place)).await;
        outcome.map(|outcome| outcome.value)
    }

    async fn send(&self, arguments: Value) -> Result<Value, ToolError> {
        self.send_in(None, arguments).await
    }

    /// Asserts a rejection after which nothing was sent.
    #[track_caller]
    fn refused(&self, sent: Result<Value, ToolError>, code: &str, words: &str) {
        let error = sent.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{error}");
        assert!(error.text().contains(words), "{words:?} in {error}");
        assert_eq!(*self.courier.taken.lock().unwrap(), []);
    }

    fn lanes(&self) -> Vec<String> {
        let taken = self.courier.taken.lock().unwrap();
        taken.iter().map(|(lane, ..)| lane.clone()).collect()
    }
}

fn to(contact: &str, text: &str) -> Value {
    json!({ "contact_id": contact, "message_text": text })
}

fn encoded(envelope: &str) -> Value {
    json!({ "contact_id": "tg:90001", "message_base64": URL_SAFE_NO_PAD.encode(envelope) })
}

#[tokio::test]
async fn a_message_goes_to_the_contacts_chat() {
    let house = fixture();
    let sent = house.send(to("tg:90001", "hello")).await.unwrap();
    assert_eq!(sent["topic"], "chat.message");
    assert_eq!(
        (&sent["chat_id"], &sent["channel"]),
        (&json!("tg:90001"), &json!("telegram"))
    );
    assert!(sent["message_id"].as_str().unwrap().starts_with("msg_"));
    let session: Uuid = sent["session_id"].as_str().unwrap().parse().unwrap();
    assert_eq!(session.get_version_num(), 7);
    house.send(to("tg:@Alice", "hello")).await.unwrap();
    house.send(to("slack:T1:U1", "hello")).await.unwrap();
    let mut group = to("tg:90001", "hello");
    group["chat_id"] = json!("tg:-100222");
    house.send(group).await.unwrap();
    assert_eq!(
        house.lanes(),
        [
            "telegram:default:90001",
            "telegram:default:90001",
            "slack:T1:D1",
            "telegram:default:-100222"
        ]
    );
}

#[tokio::test]
async fn the_same_message_has_the_same_key_and_another_has_another() {
    let house = fixture();
    let mut keys = Vec::new();
    for arguments in [
        to("tg:90001", "hello"),
        to("tg:@alice", "hello"),
        to("tg:90001", "hello again"),
        to("slack:T1:U1", "hello"),
        json!({ "contact_id": "tg:90001", "message_text": "hello", "reply_to": "5" }),
    ] {
        house.clock.advance(Duration::from_secs(60));
        let sent = house.send(arguments).await.unwrap();
        keys.push(sent["idempotency_key"].as_str().unwrap().to_owned());
    }
    assert_eq!(keys[0], keys[1], "a call that is made again");
    house.clock.advance(Duration::from_secs(3_600));
    let later = house.send(to("tg:90001", "hello")).await.unwrap();
    assert_ne!(later["idempotency_key"], json!(keys[0]), "said anew");
    let all: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(all.len(), 4, "{keys:?}");
}

#[tokio::test]
async fn an_envelope_has_to_be_right_to_the_last_byte() {
    let house = fixture();
    let good = format!(
        r#"{{"message_id":"m1","text":"hello","sent_at":"2026-02-11T09:30:00Z","session_id":"{SESSION}"}}"#
    );
    for (envelope, words) in [
        (good.replace("m1", ""), "message_id must not be empty"),
        (good.replace("hello", " "), "text must not be empty"),
        (good.replace("T09:30:00Z", ""), "sent_at must be RFC3339"),
        (
            good.replace("-7b1c-", "-4b1c-"),
            "session_id must be a UUIDv7",
        ),
        (good.replace("\"text\"", "\"body\""), "unknown field"),
        (
            good.replace("\"message_id\":\"m1\",", ""),
            "missing field `message_id`",
        ),
        (format!("{good} "), "contains more than envelope JSON"),
        (format!(" {good}"), "contains more than envelope JSON"),
        (format!("{good}{good}"), "trailing characters"),
        ("[]".to_owned(), "does not contain envelope JSON"),
        ("hello".to_owned(), "does not contain envelope JSON"),
    ] {
        house.refused(
            house.send(encoded(&envelope)).await,
            "invalid_arguments",
            words,
        );
    }
    for wrong in ["eyJ9=", "a+b/", " e30", "!"] {
        let sent = json!({ "contact_id": "tg:90001", "message_base64": wrong });
        house.refused(house.send(sent).await, "invalid_arguments", "base64url");
    }
    let with = |key: &str, value: &str| {
        let mut sent = encoded(&good);
        sent[key] = json!(value);
        sent
    };
    for (key, value) in [
        ("message_text", "other"),
        ("session_id", "0199f0a0-7c1e-7b1c-8000-000000000001"),
    ] {
        let words = format!("{key}: differs");
        house.refused(
            house.send(with(key, value)).await,
            "invalid_arguments",
            &words,
        );
    }
    let sent = house.send(with("message_text", "hello")).await.unwrap();
    assert_eq!(
        (&sent["message_id"], &sent["session_id"]),
        (&json!("m1"), &json!(SESSION))
    );
    let first = sent["idempotency_key"].clone();
    let other = house
        .send(encoded(&good.replace("m1", "m2")))
        .await
        .unwrap();
    assert_ne!(
        other["idempotency_key"], first,
        "another name is another message"
    );
}

#[tokio::test]
async fn a_message_needs_a_text_and_its_one_type() {
    let house = fixture();
    let none = json!({ "contact_id": "tg:90001" });
    let words = "message_text or message_base64 is required";
    house.refused(house.send(none).await, "invalid_arguments", words);
    house.refused(
        house.send(to("tg:90001", "  ")).await,
        "invalid_arguments",
        words,
    );
    let typed = |kind: &str| {
        let mut sent = to("tg:90001", "hello");
        sent["content_type"] = json!(kind);
        sent
    };
    for kind in [
        "text/plain",
        "application/jsonp",
        "application/json; charset",
    ] {
        let words = "content_type: must be application/json";
        house.refused(house.send(typed(kind)).await, "invalid_arguments", words);
    }
    let large = to("tg:90001", &"x".repeat(MAX_TEXT + 1));
    house.refused(house.send(large).await, "too_large", "65537 bytes");
    let mut session = to("tg:90001", "hello");
    session["session_id"] = json!("7");
    house.refused(house.send(session).await, "invalid_arguments", "UUIDv7");
    for kind in ["", "application/json", "Application/JSON; charset=utf-8"] {
        house.send(typed(kind)).await.unwrap();
    }
    assert_eq!(house.lanes().len(), 3);
}

#[tokio::test]
async fn it_never_messages_the_current_speaker_and_is_refused_in_groups() {
    let house = fixture();
    let private = ChatRef {
        sender: Some("90001".to_owned()),
        ..ChatRef::dm("telegram", "default", "90001")
    };
    let group = ChatRef {
        kind: PeerKind::Group,
        ..ChatRef::dm("telegram", "default", "-100222")
    };
    let hello = || to("tg:90001", "hello");
    let sent = house.send_in(Some(private.clone()), hello()).await;
    house.refused(sent, "forbidden", "is who you are talking to");
    let sent = house.send_in(Some(group), to("slack:T1:U1", "hello")).await;
    house.refused(sent, "forbidden", "group chats");
    let spec = house.tool.spec();
    assert_eq!(spec.chats, ChatScope::NotShared);
    let other = house
        .send_in(Some(private), to("slack:T1:U1", "hello"))
        .await;
    other.unwrap();
    assert_eq!(house.lanes(), ["slack:T1:D1"]);
}

#[tokio::test]
async fn after_a_failure_nothing_is_sent_for_three_days() {
    let house = fixture();
    *house.courier.fails.lock().unwrap() = Some(ErrorCode::InvalidArguments);
    let sent = house.send(to("tg:90001", "hello")).await;
    house.refused(sent, "invalid_arguments", "says no");
    *house.courier.fails.lock().unwrap() = None;
    // An invalid call says nothing about the contact; only a failed delivery does.
    let contacts = house.tool.people.contacts.clone();
    assert!(
        contacts
            .find("tg:90001")
            .unwrap()
            .profile
            .cooldown_until
            .is_empty()
    );
    contacts.sent_to("telegram", "90001", false).unwrap();
    house.clock.advance(Duration::from_secs(72 * 3_600 - 1));
    let sent = house.send(to("tg:90001", "hello")).await;
    assert_eq!(
        sent.as_ref().unwrap_err().retry_after,
        Some(Duration::from_secs(1))
    );
    house.refused(
        sent,
        "unavailable",
        "is cooling down until 2026-02-14T08:53:20Z",
    );
    house.clock.advance(Duration::from_secs(1));
    house.send(to("tg:90001", "hello")).await.unwrap();
    let bounced = house.send(to("tg:90001", "bounce")).await.unwrap_err();
    assert_eq!(
        bounced.message,
        "the message to tg:90001 could not be sent: the platform says why"
    );
}

#[tokio::test]
async fn without_a_route_the_error_names_what_is_missing() {
    let house = fixture();
    house.refused(
        house.send(to("tg:5", "hello")).await,
        "not_found",
        "no contact tg:5",
    );
    let mut hint = to("tg:90001", "hello");
    hint["chat_id"] = json!("irc:x");
    house.refused(house.send(hint).await, "invalid_arguments", "chat_id");
    let mut line = to("tg:90001", "hello");
    line["chat_id"] = json!("line:C1");
    house.refused(house.send(line).await, "failed", "no chat on line");
    let clock = house.clock.clone();
    let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(3)));
    let people = People::new(&Jail::open(house.dir.path()).unwrap(), clock, ids.clone());
    let alone = ContactsSend { people, ids };
    let params = from_value(to("tg:90001", "hello")).unwrap();
    let sent = alone.run(params, &context(None)).await;
    let sent = sent.map(|outcome| outcome.value);
    house.refused(sent, "unavailable", "no telegram channel is configured");
}
