//! How approvals are requested, answered and used.

use super::*;
use crate::testing::{self, Fixture};
use manyhands_core::{CallRequest, Invoke, Taint};
use manyhands_core::{Pattern, Principal};
use manyhands_store::ApprovalScope;
use serde_json::Value;

async fn ask(fixture: &Fixture, text: &str) -> Result<(), (ErrorCode, Option<ApprovalId>)> {
    let caller = testing::client("laptop", &["*"]);
    let outcome = fixture
        .call_as(caller, "test::launch", json!({ "text": text }))
        .await;
    outcome.map(drop).map_err(|e| {
        let id = e
            .details
            .and_then(|d| d["approvalId"].as_str().and_then(|id| id.parse().ok()));
        (e.code, id)
    })
}

#[tokio::test]
async fn an_approved_call_runs_once_when_the_caller_comes_back() {
    let fixture = Fixture::new().await;
    let (code, id) = ask(&fixture, "a").await.unwrap_err();
    assert_eq!((code, fixture.count()), (ErrorCode::ApprovalRequired, 0));
    assert_eq!(
        ask(&fixture, "a").await.unwrap_err().1,
        id,
        "one question, not two"
    );
    fixture
        .path
        .approvals()
        .decide(
            id.unwrap(),
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "owner",
        )
        .await
        .unwrap();
    assert_eq!(
        ask(&fixture, "b").await.unwrap_err().0,
        ErrorCode::ApprovalRequired,
        "other arguments"
    );
    ask(&fixture, "a").await.unwrap();
    assert_eq!(fixture.count(), 1);
    assert_eq!(
        ask(&fixture, "a").await.unwrap_err().0,
        ErrorCode::ApprovalRequired,
        "single use"
    );
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn a_refused_call_stays_refused() {
    let fixture = Fixture::new().await;
    let id = ask(&fixture, "a").await.unwrap_err().1.unwrap();
    fixture
        .path
        .approvals()
        .decide(id, ApprovalDecision::Deny, None, "owner")
        .await
        .unwrap();
    assert_eq!(
        ask(&fixture, "a").await.unwrap_err().0,
        ErrorCode::ApprovalDenied
    );
    assert!(
        fixture
            .path
            .approvals()
            .decide(
                id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner"
            )
            .await
            .is_err(),
        "decided is decided"
    );
    assert_eq!(fixture.count(), 0);
}

#[tokio::test]
async fn a_secret_in_a_request_is_neither_stored_nor_shown() {
    let fixture = Fixture::new().await;
    let id = ask(&fixture, testing::SECRET).await.unwrap_err().1.unwrap();
    let shown = fixture.path.approvals().list(None).await.unwrap().remove(0);
    assert_eq!(shown.arguments, json!({ "text": "[redacted]" }));
    fixture
        .path
        .approvals()
        .decide(
            id,
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "owner",
        )
        .await
        .unwrap();
    let other = ask(&fixture, "[redacted]").await.unwrap_err().0;
    assert_eq!(
        other,
        ErrorCode::ApprovalRequired,
        "only the call itself is let through"
    );
    ask(&fixture, testing::SECRET).await.unwrap();
}

#[tokio::test]
async fn a_request_expires() {
    let fixture = Fixture::new().await;
    let id = ask(&fixture, "a").await.unwrap_err().1.unwrap();
    fixture.clock.advance(Duration::from_secs(15 * 60 + 1));
    assert!(
        fixture
            .path
            .approvals()
            .decide(
                id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner"
            )
            .await
            .is_err()
    );
    let again = ask(&fixture, "a").await.unwrap_err().1.unwrap();
    assert_ne!(again, id);
    fixture
        .path
        .approvals()
        .decide(
            again,
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "owner",
        )
        .await
        .unwrap();
    fixture.clock.advance(Duration::from_secs(15 * 60 + 1));
    assert_eq!(
        ask(&fixture, "a").await.unwrap_err().0,
        ErrorCode::ApprovalRequired,
        "a late approval is void"
    );
    assert_eq!(fixture.count(), 0);
}

#[tokio::test]
async fn a_waiting_call_continues_when_approved() {
    let fixture = Fixture::new().await;
    let mut request = CallRequest::new(
        "test::launch",
        json!({ "text": "a" }),
        Arc::new(testing::client("laptop", &["*"])),
    );
    request.approval_wait = Duration::from_secs(30);
    let requests = fixture.path.approvals();
    let owner = async {
        let id = loop {
            match requests
                .list(Some(ApprovalState::Pending))
                .await
                .unwrap()
                .first()
            {
                Some(record) => break record.id,
                None => tokio::task::yield_now().await,
            }
        };
        requests
            .decide(
                id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner",
            )
            .await
            .unwrap();
    };
    let (outcome, ()) = tokio::join!(fixture.path.invoke(request), owner);
    outcome.unwrap();
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn a_stopping_gateway_keeps_the_request_and_ends_the_call() {
    let fixture = Fixture::new().await;
    let laptop = testing::client("laptop", &["*"]);
    let mut request = CallRequest::new(
        "test::launch",
        json!({ "text": "a" }),
        Arc::new(laptop.clone()),
    );
    request.approval_wait = Duration::from_secs(600);
    let stop = async {
        while fixture
            .path
            .approvals()
            .list(Some(ApprovalState::Pending))
            .await
            .unwrap()
            .is_empty()
        {
            tokio::task::yield_now().await;
        }
        fixture.path.drain(Duration::from_secs(600)).await;
    };
    let (outcome, ()) = tokio::join!(fixture.path.invoke(request), stop);
    assert_eq!(outcome.unwrap_err().code, ErrorCode::ApprovalRequired);
    let restarted = fixture.restarted();
    let id = restarted
        .approvals()
        .list(Some(ApprovalState::Pending))
        .await
        .unwrap()[0]
        .id;
    restarted
        .approvals()
        .decide(
            id,
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "owner",
        )
        .await
        .unwrap();
    testing::call_on(&restarted, laptop, "test::launch", json!({ "text": "a" }))
        .await
        .unwrap();
    assert_eq!(fixture.count(), 1);
}

/// The same call in the turn of a session, waited for.
fn in_session(session: &str) -> CallRequest {
    let caller = Arc::new(testing::client("laptop", &["*"]));
    let mut request = CallRequest::new("test::launch", json!({ "text": "a" }), caller);
    request.approval_wait = Duration::from_secs(600);
    request.lineage = [session.to_owned()].into();
    request
}

/// The questions that wait, once there are so many.
async fn waiting(fixture: &Fixture, count: usize) -> Vec<ApprovalRecord> {
    loop {
        let requests = fixture.path.approvals();
        let open = requests.list(Some(ApprovalState::Pending)).await.unwrap();
        if open.len() == count {
            return open;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn two_conversations_have_separate_requests_and_approvals() {
    let fixture = Fixture::new().await;
    let requests = fixture.path.approvals();
    let path = &fixture.path;
    let first = path.invoke(in_session("agent:main:a"));
    let second = path.invoke(in_session("agent:main:b"));
    let owner = async {
        let open = waiting(&fixture, 2).await;
        let of = |session: &str| {
            let found = open.iter().find(|q| q.session.as_deref() == Some(session));
            found.expect("its question").id
        };
        let (a, b) = (of("agent:main:a"), of("agent:main:b"));
        requests
            .decide(b, ApprovalDecision::Deny, None, "owner")
            .await
            .unwrap();
        requests
            .decide(
                a,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner",
            )
            .await
            .unwrap();
    };
    let (first, second, ()) = tokio::join!(first, second, owner);
    first.unwrap();
    assert_eq!(second.unwrap_err().code, ErrorCode::ApprovalDenied);
    assert_eq!(fixture.count(), 1);
    let outside = ask(&fixture, "a").await.unwrap_err().0;
    assert_eq!(
        outside,
        ErrorCode::ApprovalRequired,
        "whoever is in no conversation asks too"
    );
}

#[tokio::test]
async fn a_stopped_turn_withdraws_its_request() {
    let fixture = Fixture::new().await;
    let requests = fixture.path.approvals();
    let asking = fixture.path.invoke(in_session("agent:main:a"));
    let id = tokio::select! {
        _ = asking => unreachable!("it waits"),
        open = waiting(&fixture, 1) => open[0].id,
    };
    waiting(&fixture, 0).await; // dropping the call stopped it
    let late = requests
        .decide(
            id,
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "owner",
        )
        .await;
    assert!(
        matches!(&late, Err(StoreError::Settled { state, .. }) if state == "withdrawn"),
        "{late:?}"
    );
    let withdrawn = requests.list(Some(ApprovalState::Withdrawn)).await.unwrap();
    assert_eq!(withdrawn[0].id, id);
    let again = fixture.path.invoke(in_session("agent:main:a"));
    let other = tokio::select! {
        _ = again => unreachable!("it waits"),
        open = waiting(&fixture, 1) => open[0].id,
    };
    assert_ne!(other, id, "the same call asks anew");
    assert_eq!(fixture.count(), 0);
}

#[tokio::test]
async fn a_repeated_call_finds_its_request() {
    let fixture = Fixture::new().await;
    let mut outside = in_session("x");
    outside.lineage = Arc::default();
    let id = tokio::select! {
        _ = fixture.path.invoke(outside) => unreachable!("it waits"),
        open = waiting(&fixture, 1) => open[0].id,
    };
    let stopping = tokio::select! {
        _ = fixture.path.invoke(in_session("agent:main:a")) => unreachable!("it waits"),
        open = async {
            let open = waiting(&fixture, 2).await;
            fixture.path.keep_requests_open();
            open
        } => open,
    };
    fixture.path.drain(Duration::from_secs(5)).await; // both calls have ended by then
    let open = fixture
        .restarted()
        .approvals()
        .list(Some(ApprovalState::Pending))
        .await;
    let open: Vec<_> = open.unwrap().iter().map(|one| one.id).collect();
    assert_eq!(open.len(), 2);
    assert!(open.contains(&id) && stopping.iter().all(|one| open.contains(&one.id)));
}

#[tokio::test]
async fn the_owner_sees_exactly_what_will_run() {
    let fixture = Fixture::new().await;
    let _ = ask(&fixture, "rm -rf /").await;
    let shown = fixture
        .path
        .approvals()
        .list(Some(ApprovalState::Pending))
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (shown.tool.as_str(), &shown.arguments),
        ("test::launch", &json!({ "text": "rm -rf /" }))
    );
    assert_eq!(
        (shown.caller_name.as_str(), shown.rule.as_str()),
        ("laptop", "default: the tool runs programs")
    );
}

/// A call of the launching tool in a conversation, by the agent for the owner, after taint or not.
async fn launch(fixture: &Fixture, mut arguments: Value, taint: Taint) -> Result<(), ToolError> {
    arguments["text"] = json!("x"); // the tool wants one
    let agent = Principal::Agent(manyhands_core::AgentId::main());
    let caller = Arc::new(testing::client("laptop", &["*"]).through(agent));
    let mut request = CallRequest::new("test::launch", arguments, caller);
    request.lineage = ["agent:main:main".to_owned()].into();
    request.taint = taint;
    fixture.path.invoke(request).await.map(drop)
}

fn id_of(error: &ToolError) -> ApprovalId {
    let details = error.details.as_ref().unwrap();
    details["approvalId"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_approval_for_the_conversation_covers_calls_like_it_and_nothing_else() {
    let fixture = Fixture::new().await;
    let requests = fixture.path.approvals();
    let git = |rest: &str| json!({ "command": format!("git {rest}") });
    let first = launch(&fixture, git("status"), Taint::NONE)
        .await
        .unwrap_err();
    let scope = ApprovalDecision::Approve(ApprovalScope::Conversation);
    requests
        .decide(id_of(&first), scope, None, "owner")
        .await
        .unwrap();
    for rest in ["status", "log", "pull"] {
        launch(&fixture, git(rest), Taint::NONE).await.unwrap();
    }
    assert_eq!(fixture.count(), 3);
    let other = json!({ "command": "rm -r ." });
    let refused = launch(&fixture, other, Taint::NONE).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ApprovalRequired);
    let hidden = launch(&fixture, git("log $(rm x)"), Taint::NONE)
        .await
        .unwrap_err();
    assert_eq!(hidden.code, ErrorCode::ApprovalRequired);
    let tainted = launch(&fixture, git("push"), Taint::by("tool:web_fetch")).await;
    let tainted = tainted.unwrap_err();
    assert_eq!(
        tainted.code,
        ErrorCode::ApprovalRequired,
        "approved before it read the page"
    );
    assert_eq!(fixture.count(), 3);
    requests
        .decide(id_of(&tainted), scope, None, "owner")
        .await
        .unwrap();
    launch(&fixture, git("push"), Taint::by("tool:web_fetch"))
        .await
        .unwrap();
    launch(&fixture, git("fetch"), Taint::by("tool:web_fetch"))
        .await
        .unwrap();
    assert_eq!(fixture.count(), 5);
}

#[tokio::test]
async fn a_denial_carries_the_owners_message_to_the_model() {
    let fixture = Fixture::new().await;
    let call = json!({ "command": "make deploy" });
    let asked = launch(&fixture, call.clone(), Taint::NONE)
        .await
        .unwrap_err();
    let requests = fixture.path.approvals();
    let message = Some("not on Fridays; run the tests instead");
    requests
        .decide(id_of(&asked), ApprovalDecision::Deny, message, "owner")
        .await
        .unwrap();
    let denied = launch(&fixture, call, Taint::NONE).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::ApprovalDenied);
    assert!(
        denied
            .message
            .ends_with("not on Fridays; run the tests instead")
    );
    assert_eq!(fixture.count(), 0);
}

#[tokio::test]
async fn a_request_shows_what_was_read_and_the_rule_that_always_would_add() {
    let fixture = Fixture::new().await;
    let call = json!({ "command": "git push" });
    launch(&fixture, call, Taint::by("tool:web_fetch"))
        .await
        .unwrap_err();
    let shown = &fixture.path.approvals().list(None).await.unwrap()[0];
    assert_eq!(shown.tainted_by.as_deref(), Some("tool:web_fetch"));
    let rule: Rule = serde_json::from_value(shown.proposal.clone().unwrap()).unwrap();
    assert_eq!(rule.decision, Decision::Allow);
    assert_eq!(rule.tools, [Pattern::new("test::launch")]);
    assert_eq!(rule.callers, [Pattern::new("client:laptop")]);
    assert_eq!(rule.agents, [Pattern::new("main")]);
    assert_eq!(rule.when["command"].program, [Pattern::new("git")]);
    assert_eq!(rule.when.len(), 1);
}
