use manyhands_core::AgentId;
use manyhands_llm::ErrorKind;
use manyhands_store::MemoryScope;

use super::*;
use crate::{Input, MemoryResults, Origin, SessionKey, TurnEvent};

const LONG: &str = "An answer about a samovar that goes on and on. An answer that goes on and on. An answer that goes on and on. An answer that goes on and on.";

fn of(agent: &str) -> MemoryScope {
    let agent: AgentId = agent.parse().unwrap();
    MemoryScope::Agent {
        tree: agent.clone(),
        agent,
    }
}

async fn recall(fixture: &Fixture, question: &str, agent: &str) -> MemoryResults {
    let found = fixture.minds.search(question, &of(agent), 10).await;
    found.unwrap()
}

/// Where and by whom something was said.
fn places(found: &MemoryResults) -> Vec<(&str, &str)> {
    let found = found.found.iter();
    let found = found.map(|one| (one.source, one.role.as_deref().unwrap_or("")));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn a_message_is_searchable_at_once_and_after_a_reset() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("A teapot is a pot for tea.")]).await;
    fixture.say("r1", "what is a teapot?").await;
    fixture.answer("r1").await;
    let found = recall(&fixture, "teapots", "main").await;
    assert_eq!(
        places(&found),
        [("session", "assistant"), ("session", "user")]
    );
    assert_eq!(
        found.found[0].session_key.as_deref(),
        Some("agent:main:main")
    );
    assert_eq!(recall(&fixture, "teapot", "helper").await.found, []);
    fixture.minds.reset(&key()).await.unwrap();
    let found = recall(&fixture, "teapot", "main").await;
    assert_eq!(
        places(&found),
        [("archive", "assistant"), ("archive", "user")]
    );
}

#[tokio::test]
async fn compaction_neither_hides_nor_duplicates_search_results() {
    let lines = vec![
        ScriptedReply::Says(LONG),
        ScriptedReply::Says(LONG),
        ScriptedReply::Fails(ErrorKind::ContextOverflow),
        ScriptedReply::Says("They spoke of a samovar."),
        ScriptedReply::Says("fits now"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "tell me").await;
        fixture.answer(run).await;
    }
    fixture.say("r3", "more of the samovar").await;
    fixture.answer("r3").await;
    let found = recall(&fixture, "samovar", "main").await;
    let (archive, session) = (("archive", "assistant"), ("session", "user"));
    assert_eq!(places(&found), [archive, archive, session], "{found:?}");
}

#[tokio::test]
async fn messages_not_indexed_before_a_stop_are_indexed_after_it() {
    let mut fixture = Fixture::new(vec![
        ScriptedReply::Says("about kettles"),
        ScriptedReply::Says("ok"),
    ])
    .await;
    fixture.say("r1", "kettle").await;
    fixture.answer("r1").await;
    fixture.minds.reset(&key()).await.unwrap();
    fixture.say("r2", "another kettle").await;
    fixture.answer("r2").await;
    fixture.until_idle().await;
    let fixture = fixture.restart(Vec::new()).await;
    let before = recall(&fixture, "kettle", "main").await;
    assert!(!before.complete && before.found.is_empty(), "{before:?}");
    fixture.minds.remember_all().await.unwrap();
    let after = recall(&fixture, "kettle", "main").await;
    assert!(after.complete);
    let expect = [
        ("archive", "assistant"),
        ("archive", "user"),
        ("session", "user"),
    ];
    assert_eq!(places(&after), expect);
    let said = "2026-11-14";
    let when = |one: &crate::MemoryHit| one.at.starts_with(said);
    assert!(
        after.found.iter().all(when),
        "the times they were said: {after:?}"
    );
    fixture.minds.remember_all().await.unwrap();
    assert_eq!(recall(&fixture, "kettle", "main").await, after);
}

#[tokio::test]
async fn a_search_needs_a_word_and_is_bounded() {
    let fixture = Fixture::new(Vec::new()).await;
    for wrong in [
        "",
        " ",
        "\"*\"",
        "\0",
        &"x".repeat(1_001),
        &"y ".repeat(500_000),
    ] {
        let refused = fixture.minds.search(wrong, &of("main"), 5).await;
        let error = refused.unwrap_err();
        assert_eq!(error.code, manyhands_core::ErrorCode::InvalidArguments);
        assert!(error.text().contains("query"), "{}", error.text());
    }
    let long = "x".repeat(1_000);
    assert_eq!(recall(&fixture, &long, "main").await.found, []);
}

#[tokio::test]
async fn recent_messages_exclude_those_before_the_floor() {
    let lines = vec![
        ScriptedReply::Says("one"),
        ScriptedReply::Says("two"),
        ScriptedReply::Says("three"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2", "r3"] {
        fixture.say(run, run).await;
        fixture.answer(run).await;
    }
    let texts = async |fixture: &Fixture| -> Vec<String> {
        let recent = fixture.minds.recent(&key(), 20).await.unwrap();
        recent.into_iter().map(|said| said.text).collect()
    };
    assert_eq!(texts(&fixture).await.len(), 6);
    fixture.until_idle().await;
    fixture.minds.trim(&key(), 2).await.unwrap();
    assert_eq!(texts(&fixture).await, ["r3", "three"]);
    fixture.minds.reset(&key()).await.unwrap();
    assert_eq!(texts(&fixture).await, [""; 0]);
}

async fn quiet(fixture: &Fixture, key: &SessionKey) {
    while fixture.minds.is_busy(key) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn expired_sub_agent_sessions_stay_searchable() {
    let lines = vec![
        ScriptedReply::Says("a porcelain answer"),
        ScriptedReply::Says("main"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let minds = fixture.minds.clone();
    let sub = minds.sub_session(key().agent(), "a task").await.unwrap();
    let mut asked = minds
        .ask(&sub, Input::text("porcelain?"), &owner())
        .await
        .unwrap();
    asked.answer(&mut |_: &TurnEvent| {}).await.unwrap();
    fixture.say("r1", "porcelain too").await;
    fixture.answer("r1").await;
    quiet(&fixture, &sub).await;
    let now = manyhands_core::Clock::now(&*fixture.clock);
    assert_eq!(
        minds.sweep_subs(now).await.unwrap(),
        0,
        "spoken to just now"
    );
    let later = manyhands_core::Timestamp(now.0 + 1);
    assert_eq!(minds.sweep_subs(later).await.unwrap(), 1);
    assert!(minds.get(&sub).await.is_err());
    assert!(minds.get(&key()).await.is_ok(), "others stay");
    let found = recall(&fixture, "porcelain", "main").await;
    let (session, archive) = (("session", "user"), "archive");
    assert_eq!(
        places(&found),
        [(archive, "assistant"), (archive, "user"), session]
    );
    let used = fixture.store.sessions().usage("2026-01-01").await.unwrap();
    assert!(
        used.iter().any(|row| row.session_key == "agent:main:sub"),
        "what it cost"
    );
    assert_eq!(minds.sweep_subs(later).await.unwrap(), 0);
}

#[tokio::test]
async fn a_sub_agents_approval_is_shown_in_the_requesting_chat() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Calls(vec![("ask", "{}")]),
        ScriptedReply::Says("the sub is done"),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let minds = fixture.minds.clone();
    fixture.say("r1", "go").await;
    fixture.tools.waiting.notified().await; // the parent's turn is in the middle of a call
    let sub = minds.sub_session(key().agent(), "a task").await.unwrap();
    let origin = Origin {
        lineage: vec![key().to_string()],
        ..owner()
    };
    let mut asked = minds
        .ask(&sub, Input::text("do it"), &origin)
        .await
        .unwrap();
    let is_paused = |event: &crate::ChatEvent| matches!(event.what, TurnEvent::Paused { .. });
    let own = fixture.until(is_paused).await;
    assert_eq!(own.session, sub);
    let above = fixture.until(is_paused).await;
    assert_eq!(
        (above.session.clone(), above.run_id.as_str()),
        (key(), "r1")
    );
    assert_eq!(above.what, own.what);
    assert!(
        minds.question(&key()).is_some(),
        "/status and /approve know of it"
    );
    fixture.tools.approved.notify_one();
    let resumed =
        |event: &crate::ChatEvent| event.what == TurnEvent::Resumed && event.session == key();
    fixture.until(resumed).await;
    assert!(minds.question(&key()).is_none());
    asked.answer(&mut |_: &TurnEvent| {}).await.unwrap();
    fixture.tools.go.notify_one();
    assert_eq!(fixture.answer("r1").await, "done");
}
