use manyhands_core::{
    Caller, Credential, ErrorCode, Ids, OsEntropy, Pattern, Principal, Rights, Role, ToolError,
};
use manyhands_llm::{ErrorKind, Message, Thinking};
use std::sync::Arc;

use super::*;
use crate::env::ApprovalReply;
use crate::{CommandReply, Input, ParsedMessage, TurnEvent};
use manyhands_store::ApprovalScope;

const LONG: &str = "A long answer that goes on and on. A long answer that goes on and on. A long answer that goes on and on. A long answer that goes on and on.";

fn somebody() -> Caller {
    let clock = Arc::new(manyhands_core::ManualClock::at(manyhands_core::Timestamp(
        1,
    )));
    let credential = Credential {
        id: Ids::new(clock, Arc::new(OsEntropy)).next(),
        name: "bot".into(),
    };
    let rights = Rights::new(Role::Client, vec![Pattern::new("*")]);
    Caller::new(Principal::Token(credential), "bot", rights)
}

impl Fixture {
    /// What the owner's command came to.
    async fn command(&self, text: &str) -> CommandReply {
        self.command_of(text, &Caller::gateway()).await
    }

    /// What an owner's command answered that was done.
    fn done(reply: CommandReply) -> String {
        assert_eq!(reply.error, None, "{reply:?}");
        reply.response
    }

    async fn command_of(&self, text: &str, caller: &Caller) -> CommandReply {
        let key = key();
        let done = self.minds.command(&key, text, caller).await;
        done.unwrap().expect("a command")
    }

    async fn try_parse(&self, text: &str) -> Result<ParsedMessage, ToolError> {
        let key = key();
        self.minds
            .parse_message(&key, text, &Caller::gateway())
            .await
    }

    async fn parse(&self, text: &str) -> ParsedMessage {
        self.try_parse(text).await.unwrap()
    }

    /// Sends what a text means.
    async fn send_parsed(&self, run: &str, text: &str) {
        match self.parse(text).await {
            ParsedMessage::Message { input, .. } => drop(self.send_as(run, *input, &owner()).await),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn new_and_reset_clear_the_session_and_name_the_archive() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")]).await;
    let fresh = Fixture::done(fixture.command("/new").await);
    assert_eq!(fresh, "new session; there were no messages to archive");
    for (run, word) in [("r1", "/reset"), ("r2", "/NEW")] {
        fixture.say(run, "hi").await;
        fixture.answer(run).await;
        let before = fixture.minds.get(&key()).await.unwrap();
        let said = Fixture::done(fixture.command(word).await);
        assert!(
            said.starts_with("new session; 2 messages archived to archives/"),
            "{said}"
        );
        let after = fixture.minds.get(&key()).await.unwrap();
        assert_eq!(after.previous.last(), Some(&before.id));
        assert!(fixture.messages().await.is_empty());
    }
    let refused = fixture.command("/new and tell me a joke").await;
    assert!(refused.error.is_some());
    let after = fixture.minds.get(&key()).await.unwrap();
    assert_eq!(after.previous.len(), 3, "the refused one changed nothing");
}

#[tokio::test]
async fn stop_cancels_the_turn_or_reports_that_none_runs() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Hangs]).await;
    assert_eq!(
        fixture.command("/stop").await.response,
        "nothing is running"
    );
    fixture.say("r1", "go").await;
    fixture.actor.hanging.notified().await;
    assert_eq!(fixture.command("/stop").await.response, "stopped");
    assert_eq!(fixture.end("r1").await, TurnEvent::Stopped);
}

#[tokio::test]
async fn status_shows_settings_usage_and_pending_approvals() {
    let lines = vec![
        ScriptedReply::Says("hello"),
        ScriptedReply::Calls(vec![("ask", "{}")]),
        ScriptedReply::Says("ok"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    fixture.until_idle().await;
    let status = Fixture::done(fixture.command("/status").await);
    for line in [
        "session: agent:main:main",
        "model: test/actor",
        "thinking: default",
        "context: 2 messages, about ",
        "used: 10 tokens in, 2 out, $0.000003",
        "queue: nothing is running",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    fixture.say("r2", "do it").await;
    fixture
        .until(|event| matches!(event.what, TurnEvent::Paused { .. }))
        .await;
    let (approval, tool) = fixture.minds.question(&key()).expect("a question");
    assert_eq!(tool, "ask");
    let status = Fixture::done(fixture.command("/status").await);
    assert!(status.contains(&format!("/approve {approval}")), "{status}");
    assert!(status.contains("queue: 1 running, 0 queued"), "{status}");
    fixture.tools.approved.notify_one();
    fixture
        .until(|event| event.what == TurnEvent::Resumed)
        .await;
    assert_eq!(fixture.minds.question(&key()), None);
    assert_eq!(fixture.answer("r2").await, "ok");
}

#[tokio::test]
async fn model_and_think_apply_to_the_chat_until_reset() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")]).await;
    assert_eq!(fixture.command("/model").await.response, "test/actor");
    let set = fixture.command("/model test/other").await;
    assert_eq!(set.response, "model: test/other (set in this chat)");
    let set = fixture.command("/think HIGH").await;
    assert_eq!(set.response, "thinking: high (set in this chat)");
    for wrong in ["/model nonsense", "/model nobody/x", "/think hard"] {
        let refused = fixture.command(wrong).await;
        assert!(refused.error.is_some(), "{wrong}: {refused:?}");
    }
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    let asked = fixture.last_request();
    assert_eq!(asked.model.unwrap().to_string(), "test/other");
    assert_eq!(asked.thinking, Some(Thinking::High));
    assert_eq!(
        fixture.command("/model default").await.response,
        "model: test/actor"
    );
    assert_eq!(
        fixture.command("/think default").await.response,
        "thinking: default"
    );
    fixture.say("r2", "hi").await;
    fixture.answer("r2").await;
    let asked = fixture.last_request();
    assert_eq!((asked.model, asked.thinking), (None, None));
}

#[tokio::test]
async fn directives_count_for_one_message() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")]).await;
    fixture
        .send_parsed("r1", "/t:low /m:test/big what is it?")
        .await;
    fixture.answer("r1").await;
    let asked = fixture.last_request();
    assert_eq!(asked.model.unwrap().to_string(), "test/big");
    assert_eq!(asked.thinking, Some(Thinking::Low));
    assert_eq!(asked.messages, [Message::user("what is it?")]);
    fixture.send_parsed("r2", "/usr/bin is what?").await;
    fixture.answer("r2").await;
    let asked = fixture.last_request();
    assert_eq!((asked.model, asked.thinking), (None, None));
    assert_eq!(asked.messages[2], Message::user("/usr/bin is what?"));
    match fixture.parse("/t:high").await {
        ParsedMessage::OnlyDirectives { directives, .. } => {
            assert_eq!(directives.thinking, Some(Thinking::High));
        }
        other => panic!("{other:?}"),
    }
    let heard = fixture.try_parse("/m:nobody/x hi").await;
    assert_eq!(heard.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(fixture.messages().await.len(), 4, "nothing was sent");
}

#[tokio::test]
async fn a_message_with_directives_is_a_separate_turn() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("one"),
        ScriptedReply::Says("two"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "first").await;
    fixture.tools.waiting.notified().await;
    fixture.send_parsed("r2", "/t:xhigh second").await;
    fixture.tools.go.notify_one();
    assert_eq!(fixture.answer("r1").await, "one");
    assert_eq!(fixture.answer("r2").await, "two");
    assert_eq!(fixture.last_request().thinking, Some(Thinking::Xhigh));
}

#[tokio::test]
async fn compact_summarises_or_keeps_the_last() {
    let lines = vec![
        ScriptedReply::Says(LONG),
        ScriptedReply::Says(LONG),
        ScriptedReply::Fails(ErrorKind::Refused),
        ScriptedReply::Says("They spoke at length."),
        ScriptedReply::Says("third"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "tell me").await;
        fixture.answer(run).await;
    }
    fixture.until_idle().await;
    let failed = fixture.command("/compact").await;
    assert!(failed.error.unwrap().contains("nothing was changed"));
    assert_eq!(fixture.messages().await.len(), 4);
    let said = Fixture::done(fixture.command("/compact").await);
    assert!(
        said.starts_with("2 messages archived to archives/"),
        "{said}"
    );
    assert!(said.ends_with("2 remain, after a summary"), "{said}");
    let messages = fixture.messages().await;
    assert_eq!(messages.len(), 3);
    let summary = serde_json::to_string(&messages[0]).unwrap();
    assert!(summary.contains("They spoke at length."), "{summary}");
    fixture.say("r3", "go on").await;
    assert_eq!(fixture.answer("r3").await, "third");
    let said = Fixture::done(fixture.command("/compact 2").await);
    assert!(
        said.starts_with("3 messages archived to archives/"),
        "{said}"
    );
    assert_eq!(fixture.messages().await.len(), 2);
    let said = Fixture::done(fixture.command("/compact 50").await);
    assert_eq!(said, "nothing to archive; 2 messages");
    for wrong in ["/compact 0", "/compact all"] {
        assert!(fixture.command(wrong).await.error.is_some(), "{wrong}");
    }
}

#[tokio::test]
async fn a_message_during_compaction_waits() {
    let lines = vec![
        ScriptedReply::Says(LONG),
        ScriptedReply::Says(LONG),
        ScriptedReply::Hangs,
        ScriptedReply::Says("after"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "tell me").await;
        fixture.answer(run).await;
    }
    fixture.until_idle().await;
    let minds = fixture.minds.clone();
    let compacting = tokio::spawn(async move { minds.compact(&key()).await });
    fixture.actor.hanging.notified().await;
    let second = fixture.minds.compact(&key()).await.unwrap_err();
    assert_eq!(second.code, ErrorCode::Conflict);
    fixture.say("r3", "and?").await;
    assert!(fixture.minds.stop(&key()));
    compacting.await.unwrap().unwrap_err();
    assert_eq!(fixture.answer("r3").await, "after");
    assert_eq!(fixture.messages().await.len(), 6);
}

#[tokio::test]
async fn only_the_owner_answers_a_named_approval() {
    let fixture = Fixture::new(Vec::new()).await;
    let refused = fixture.command_of("/approve a1", &somebody()).await;
    assert_eq!(
        refused.error.as_deref(),
        Some("only the owner answers approval requests")
    );
    for unnamed in ["/approve", "/deny", "/approve a1 forever"] {
        assert!(fixture.command(unnamed).await.error.is_some(), "{unnamed}");
    }
    assert!(fixture.env.decided.lock().unwrap().is_empty());
    Fixture::done(fixture.command("/approve a1").await);
    Fixture::done(fixture.command("/deny a2").await);
    Fixture::done(fixture.command("/approve a3 conversation").await);
    Fixture::done(fixture.command("/approve a4 always").await);
    Fixture::done(fixture.command("/deny a5 use the test server").await);
    let decided = fixture.env.decided.lock().unwrap().clone();
    let expected = [
        ("a1".to_owned(), ApprovalReply::Approve(ApprovalScope::Once)),
        ("a2".to_owned(), ApprovalReply::Deny(None)),
        (
            "a3".to_owned(),
            ApprovalReply::Approve(ApprovalScope::Conversation),
        ),
        (
            "a4".to_owned(),
            ApprovalReply::Approve(ApprovalScope::Always),
        ),
        (
            "a5".to_owned(),
            ApprovalReply::Deny(Some("use the test server".to_owned())),
        ),
    ];
    assert_eq!(decided, expected);
}

#[tokio::test]
async fn an_unknown_command_is_an_error_and_reaches_no_model() {
    let fixture = Fixture::new(Vec::new()).await;
    let reply = fixture.command("/statsu").await;
    assert_eq!(reply.command, "statsu");
    let error = reply.error.unwrap();
    assert_eq!(error, "unknown command /statsu; did you mean /status?");
    assert!(reply.response.contains("/help"));
    let help = Fixture::done(fixture.command("/help").await);
    assert!(help.contains("/compact [N]"), "{help}");
    assert!(fixture.actor.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_outcome_of_a_turn_can_be_queried_later() {
    let lines = vec![
        ScriptedReply::Says("done"),
        ScriptedReply::Fails(ErrorKind::Refused),
        ScriptedReply::Hangs,
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("both"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        let sent = fixture.say(run, "go").await;
        let told = fixture.end(run).await;
        assert_eq!(fixture.minds.ended(&sent.turn).await.unwrap(), Some(told));
    }
    let sent = fixture.say("r3", "go").await;
    fixture.actor.hanging.notified().await;
    assert_eq!(fixture.minds.ended(&sent.turn).await.unwrap(), None);
    let again = fixture.send_as("r3", Input::text("go"), &owner()).await;
    assert!(again.repeated && !again.queued, "{again:?}");
    fixture.minds.stop(&key());
    assert_eq!(fixture.end("r3").await, TurnEvent::Stopped);
    let ended = fixture.minds.ended(&sent.turn).await.unwrap();
    assert_eq!(ended, Some(TurnEvent::Stopped));
    fixture.say("r4", "first").await;
    fixture.tools.waiting.notified().await;
    let merged = fixture.say("r5", "second").await;
    fixture.tools.go.notify_one();
    let told = fixture.end("r5").await;
    let ended = fixture.minds.ended(&merged.turn).await.unwrap();
    assert_eq!(ended, Some(told));
}
