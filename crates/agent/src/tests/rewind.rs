use manyhands_core::ErrorCode;
use manyhands_llm::Message;
use manyhands_store::object_store::{ObjectStoreExt as _, path::Path};

use super::*;
use crate::{Rewound, TurnEvent};

impl Fixture {
    async fn rewind(&self, seq: i64) -> Rewound {
        self.minds.rewind(&key(), seq).await.unwrap()
    }

    /// Nothing changes when it is refused; what it says.
    async fn refused(&self, seq: i64) -> (ErrorCode, String) {
        let before = (
            self.entries().await,
            self.minds.get(&key()).await.unwrap().next_seq,
        );
        let error = self.minds.rewind(&key(), seq).await.unwrap_err();
        let after = (
            self.entries().await,
            self.minds.get(&key()).await.unwrap().next_seq,
        );
        assert_eq!(before, after, "{error}");
        (error.code, error.text())
    }

    async fn seqs(&self) -> Vec<i64> {
        self.entries().await.iter().map(|entry| entry.seq).collect()
    }
}

fn texts(messages: &[Message]) -> String {
    serde_json::to_string(messages).unwrap()
}

#[tokio::test]
async fn a_rewound_message_is_archived_and_hidden_from_models() {
    let lines = vec![
        ScriptedReply::Says("one"),
        ScriptedReply::Calls(vec![("act", "{}"), ("look", "{}")]),
        ScriptedReply::Says("two"),
        ScriptedReply::Says("three"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for (run, text) in [("r1", "first"), ("r2", "sceond")] {
        fixture.say(run, text).await;
        fixture.answer(run).await;
    }
    assert_eq!(fixture.seqs().await, [0, 1, 2, 3, 4, 5]);
    let spent = fixture.minds.get(&key()).await.unwrap();
    let rewound = fixture.rewind(2).await;
    assert_eq!((rewound.messages, rewound.tool_calls), (4, 2));
    assert_eq!(rewound.text, "sceond");
    let kept = fixture.store.blobs();
    let kept = kept.head(&Path::from(rewound.archived_to.as_str())).await;
    assert!(kept.is_ok(), "{}", rewound.archived_to);
    assert_eq!(fixture.seqs().await, [0, 1]);
    let session = fixture.minds.get(&key()).await.unwrap();
    assert_eq!(
        fixture.minds.message_count(&session).await.unwrap(),
        2,
        "as many as there are"
    );
    assert_eq!(session.id, spent.id, "it is the same conversation");
    assert_eq!(
        (session.input_tokens, session.cost_micros),
        (spent.input_tokens, spent.cost_micros),
        "what was spent stays counted"
    );
    fixture.say("r3", "second").await;
    assert_eq!(fixture.answer("r3").await, "three");
    assert_eq!(fixture.seqs().await, [0, 1, 6, 7], "no number twice");
    let shown = texts(&fixture.last_request().messages);
    assert!(shown.contains("first") && shown.contains("second"));
    assert!(!shown.contains("sceond") && !shown.contains("two"));
    let found = fixture.minds.recall("sceond").await;
    assert_eq!(found, ["archive"], "it is still found by words");
}

impl crate::Minds {
    /// Where words are found.
    async fn recall(&self, words: &str) -> Vec<String> {
        self.remember().await.unwrap();
        let memory = self.memory();
        let scope = manyhands_store::MemoryScope::All;
        let found = memory.search(words, &scope, 10).await.unwrap();
        let place = |one: manyhands_store::MemoryHit| match one.shown {
            true => "session".to_owned(),
            false => "archive".to_owned(),
        };
        found.into_iter().map(place).collect()
    }
}

#[tokio::test]
async fn only_a_visible_user_message_can_be_rewound() {
    let lines = (0..8).map(|_| ScriptedReply::Says("yes")).collect();
    let mut fixture = Fixture::new(lines).await;
    assert_eq!(
        fixture.minds.rewind(&key(), 0).await.unwrap_err().code,
        ErrorCode::NotFound
    );
    for run in ["r1", "r2", "r3"] {
        fixture.say(run, "hi").await;
        fixture.answer(run).await;
    }
    fixture.until_idle().await;
    for (seq, says) in [
        (1, "is from the agent, not from a user"),
        (-1, "there is no message -1"),
        (6, "there is no message 6"),
        (i64::MAX, "there is no message"),
    ] {
        let (code, text) = fixture.refused(seq).await;
        assert_eq!(code, ErrorCode::InvalidArguments);
        assert!(text.contains("seq") && text.contains(says), "{text}");
    }
    fixture.rewind(4).await;
    let (_, text) = fixture.refused(4).await;
    assert!(text.contains("was undone"), "{text}");
    fixture.minds.trim(&key(), 2).await.unwrap();
    let (_, text) = fixture.refused(0).await;
    assert!(text.contains("it is in an archive"), "{text}");
    assert_eq!(fixture.rewind(2).await.messages, 2, "this one is");
    assert_eq!(fixture.seqs().await, [0; 0]);
}

#[tokio::test]
async fn the_summary_of_archived_messages_cannot_be_rewound() {
    let fixture = Fixture::compacted().await;
    let first = fixture.entries().await[0].clone();
    assert_eq!(first.kind, "summary");
    let (_, text) = fixture.refused(first.seq).await;
    assert!(text.contains("is the summary"), "{text}");
    let user = fixture.entries().await[1].clone();
    assert_eq!(user.kind, "user");
    fixture.rewind(user.seq).await;
    assert_eq!(fixture.seqs().await, [first.seq]);
    assert!(fixture.minds.undo(&key()).await.unwrap().is_none());
}

#[tokio::test]
async fn rewind_is_refused_while_a_turn_runs_or_waits() {
    let lines = vec![
        ScriptedReply::Says("yes"),
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    fixture.until_idle().await;
    fixture.say("r2", "go").await;
    fixture.tools.waiting.notified().await;
    let (code, text) = fixture.refused(0).await;
    assert_eq!(code, ErrorCode::Conflict);
    assert!(text.contains("/stop"), "{text}");
    assert!(fixture.minds.undo(&key()).await.is_err());
    fixture.minds.stop(&key());
    assert_eq!(fixture.end("r2").await, TurnEvent::Stopped);
    assert_eq!(fixture.rewind(0).await.tool_calls, 1);
    assert_eq!(fixture.seqs().await, [0; 0]);
}

#[tokio::test]
async fn a_rewind_invalidates_the_cached_conversation() {
    let lines = (0..80).map(|_| ScriptedReply::Says("yes")).collect();
    let mut fixture = Fixture::new(lines).await;
    for number in 0..40 {
        let run = format!("r{number}");
        fixture.say(&run, &format!("message {number}.")).await;
        fixture.answer(&run).await;
    }
    let rewound = fixture.rewind(78).await;
    assert_eq!(rewound.text, "message 39.");
    fixture.say("again", "another").await;
    fixture.answer("again").await;
    let shown = texts(&fixture.last_request().messages);
    assert!(shown.contains("message 38.") && !shown.contains("message 39."));
}

#[tokio::test]
async fn undo_removes_the_last_exchange_with_its_merged_messages() {
    let lines = vec![
        ScriptedReply::Says("one"),
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("two"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let undo = async |fixture: &Fixture| {
        let caller = manyhands_core::Caller::gateway();
        let reply = fixture.minds.command(&key(), "/undo", &caller).await;
        reply.unwrap().unwrap().response
    };
    assert_eq!(undo(&fixture).await, "there is nothing to undo");
    fixture.say("r1", "first").await;
    fixture.answer("r1").await;
    fixture.until_idle().await;
    fixture.say("r2", "second").await;
    fixture.tools.waiting.notified().await;
    fixture.say("r3", "and also").await;
    fixture.tools.go.notify_one();
    fixture.answer("r2").await;
    let said = undo(&fixture).await;
    assert!(
        said.starts_with("undone: 5 messages archived to archives/"),
        "{said}"
    );
    assert!(
        said.ends_with("; the effects of its tool call remain"),
        "{said}"
    );
    assert_eq!(fixture.seqs().await, [0, 1]);
    assert!(undo(&fixture).await.starts_with("undone: 2 messages"));
    assert_eq!(undo(&fixture).await, "there is nothing to undo");
}

#[tokio::test]
async fn pictures_are_found_by_reference_until_rewound() {
    use manyhands_llm::Block;
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("nice")]).await;
    let picture = |data: &str| Block::Image {
        data: data.to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let mut input = crate::Input::text("look");
    input.pictures = vec![picture("AAAA"), picture("BBBB")];
    fixture.send_as("r1", input, &owner()).await;
    fixture.answer("r1").await;
    let said = fixture.minds.recent(&key(), 10).await.unwrap();
    let refs: Vec<&str> = said[0]
        .pictures
        .iter()
        .map(|one| one.reference.as_str())
        .collect();
    assert_eq!(refs, ["0/0", "0/1"]);
    let data = async |seq, index| fixture.minds.picture(&key(), seq, index).await;
    assert_eq!(data(0, 1).await.unwrap().data, "BBBB");
    for (seq, index) in [(0, 2), (1, 0), (7, 0)] {
        let error = data(seq, index).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound, "{seq}/{index}");
    }
    let rewound = fixture.rewind(0).await;
    assert_eq!(rewound.text, "look", "words only");
    assert!(data(0, 1).await.is_err());
}

#[tokio::test]
async fn concurrent_settings_changes_are_not_lost() {
    let fixture = Fixture::new(vec![]).await;
    fixture.minds.open(&key()).await.unwrap();
    let number = async |number: u32| {
        let change = |settings: &mut crate::SessionSettings, label: &mut Option<String>| {
            settings.max_tokens = Some(settings.max_tokens.unwrap_or(0) + number);
            label.get_or_insert_default().push('x');
        };
        fixture.minds.patch(&key(), change).await.unwrap();
    };
    let opens = async || drop(fixture.minds.open(&key()).await.unwrap());
    let patches = futures_util::future::join_all((0..50).map(|_| number(1)));
    let looks = futures_util::future::join_all((0..50).map(|_| opens()));
    tokio::join!(patches, looks);
    let session = fixture.minds.get(&key()).await.unwrap();
    assert_eq!(fixture.minds.settings(&session).max_tokens, Some(50));
    assert_eq!(session.label.map(|label| label.len()), Some(50));
}
