use std::sync::Arc;

use manyhands_core::{CallContext, CallRequest, Caller, ErrorCode, Pattern, Taint};
use manyhands_llm::{ModelRequest, OutputSchema};
use manyhands_store::TurnState;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{AgentSettings, Input, Origin, SessionKey, ToolScope, TurnOutcome, chosen, toolset};

/// What the model was told beside what always stays the same.
fn told(request: &ModelRequest) -> String {
    let changing = request.system.iter().filter(|part| !part.stable);
    changing.map(|part| part.text.as_str()).collect()
}

#[tokio::test]
async fn a_plan_is_published_and_advances_with_successful_calls() {
    let lines = vec![
        ScriptedReply::Calls(vec![("plan_create", "{}")]),
        ScriptedReply::Calls(vec![("look", "{}"), ("no_such_tool", "{}")]),
        ScriptedReply::Calls(vec![("act", "{}")]),
        ScriptedReply::Says("done"),
        ScriptedReply::Says("hello"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "bake").await;
    assert_eq!(fixture.answer("r1").await, "done");
    let asked = fixture.actor.asked.lock().unwrap().clone();
    let marks = |at: usize| {
        let told = told(&asked[at]);
        let plan = told.split_once("## Your plan").map(|(_, plan)| plan);
        let marked = plan.unwrap_or_default().lines();
        let marked = marked.filter(|line| line.starts_with('['));
        marked.map(|line| line[..5].to_owned()).collect::<String>()
    };
    assert_eq!(marks(0), "");
    assert_eq!(marks(1), "[>] m[ ] b[ ] e");
    assert_eq!(marks(2), "[x] m[>] b[ ] e", "a failed call is no step");
    assert_eq!(marks(3), "[x] m[x] b[>] e");
    fixture.say("r2", "hello").await;
    fixture.answer("r2").await;
    assert!(
        !told(&fixture.last_request()).contains("Your plan"),
        "a plan is of one turn"
    );
}

#[tokio::test]
async fn only_the_chosen_tools_are_shown_and_run() {
    let lines = vec![
        ScriptedReply::Calls(vec![("look", "{}"), ("act", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let schema = json!({ "type": "object" });
    let input = Input {
        tools: Some(vec!["look".to_owned()]),
        output: Some(schema.clone()),
        ..Input::text("go")
    };
    fixture.send_as("r1", input, &owner()).await;
    fixture.answer("r1").await;
    assert_eq!(fixture.tools.names(), ["look"]);
    let request = fixture.last_request();
    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["look"]);
    let name = "answer".to_owned();
    assert_eq!(request.output, Some(OutputSchema { name, schema }));
}

#[tokio::test]
async fn a_call_carries_the_waiting_sessions_in_its_lineage() {
    let lines = vec![
        ScriptedReply::Calls(vec![("look", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let origin = Origin {
        lineage: vec!["agent:main:first".to_owned()],
        tainted: Taint::by("tool:x"),
        ..owner()
    };
    fixture.send_as("r1", Input::text("go"), &origin).await;
    fixture.answer("r1").await;
    let call = fixture.tools.calls.lock().unwrap()[0].clone();
    assert_eq!(&*call.lineage, ["agent:main:first", "agent:main:main"]);
    assert!(
        call.taint.is_tainted(),
        "what may have come from outside is remembered"
    );
}

#[tokio::test]
async fn an_answer_belongs_to_its_turn_even_after_a_merge() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("to both"),
        ScriptedReply::Fails(manyhands_llm::ErrorKind::Refused),
    ];
    let fixture = Fixture::new(lines).await;
    let mut ignore = |_: &_| {};
    let ask = |text| fixture.minds.ask(&KEY, Input::text(text), &OWNER);
    let mut first = ask("one").await.unwrap();
    fixture.tools.waiting.notified().await;
    let mut second = ask("two").await.unwrap();
    fixture.tools.go.notify_one();
    let one = first.answer(&mut ignore).await.unwrap();
    let two = second.answer(&mut ignore).await.unwrap();
    assert_eq!(one.end, TurnOutcome::Answered("to both".to_owned()));
    assert_eq!(one, two);
    assert!(one.tainted.is_tainted(), "a program's words are in it");
    let mut third = ask("three").await.unwrap();
    let three = third.answer(&mut ignore).await.unwrap();
    assert!(matches!(three.end, TurnOutcome::Failed(_)), "{three:?}");
}

static KEY: std::sync::LazyLock<SessionKey> = std::sync::LazyLock::new(key);
static OWNER: std::sync::LazyLock<Origin> = std::sync::LazyLock::new(owner);

#[tokio::test]
async fn work_stops_when_its_requester_is_gone() {
    let fixture = Fixture::new(vec![ScriptedReply::Says("never")]).await;
    let agent = key().agent().clone();
    let sub = fixture.minds.sub_session(&agent, "a task").await.unwrap();
    let stop = fixture.minds.stop_on_drop(&sub);
    let mut asked = fixture
        .minds
        .ask(&sub, Input::text("go"), &owner())
        .await
        .unwrap();
    drop(stop); // its turn may not even have begun
    let mut ignore = |_: &_| {};
    assert_eq!(
        asked.answer(&mut ignore).await.unwrap().end,
        TurnOutcome::Stopped
    );
    let fixture = fixture.restart(vec![ScriptedReply::Hangs]).await;
    let sub = fixture.minds.sub_session(&agent, "a task").await.unwrap();
    let asked = fixture
        .minds
        .ask(&sub, Input::text("go"), &owner())
        .await
        .unwrap();
    fixture.actor.hanging.notified().await;
    let turn = asked.sent.turn.clone();
    drop(asked);
    let fixture = fixture.restart(Vec::new()).await;
    assert_eq!(fixture.minds.resume().await.unwrap(), 0);
    let turn = fixture.store.sessions().turn(&turn).await.unwrap().unwrap();
    assert_eq!(turn.state, TurnState::Failed);
}

fn context(lineage: &[&str]) -> CallContext {
    let clock = Arc::new(manyhands_core::ManualClock::at(manyhands_core::Timestamp(
        1,
    )));
    let entropy = Arc::new(manyhands_core::SeededEntropy::new(1));
    let caller = Arc::new(Caller::gateway());
    let mut request = CallRequest::new("test", serde_json::Value::Null, caller);
    request.agent = key().agent().clone();
    request.lineage = lineage.iter().map(|key| (*key).to_owned()).collect();
    let call = manyhands_core::Ids::new(clock, entropy).next();
    CallContext::new(request, call, CancellationToken::new())
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_sub_agent_gets_only_tools_of_its_requester() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let input = Input {
        tools: Some(names(&["wait", "look"])),
        ..Input::text("go")
    };
    fixture.send_as("r1", input, &owner()).await;
    fixture.tools.waiting.notified().await;
    let own = context(&["agent:main:main"]);
    let minds = &fixture.minds;
    let given = minds.tools_for_sub(&names(&["look", "look"]), &own).await;
    assert_eq!(given.unwrap(), ["look"]);
    let refused = minds.tools_for_sub(&names(&["look", "act"]), &own).await;
    assert!(
        refused
            .unwrap_err()
            .text()
            .contains("no such tools for you: act")
    );
    let outside = minds.tools_for_sub(&names(&["act"]), &context(&[])).await;
    assert_eq!(outside.unwrap(), ["act"], "nobody limited this one");
    let of_sub = context(&["agent:main:main", "agent:main:sub:1"]);
    let refused = minds.tools_for_sub(&names(&["look"]), &of_sub).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
    let all = [Pattern::new("*")];
    let child = minds.tools_for_child(key().agent(), &all, &own).await;
    assert_eq!(child.unwrap(), [Pattern::new("look"), Pattern::new("wait")]);
    fixture.tools.go.notify_one();
    fixture.answer("r1").await;
}

#[tokio::test]
async fn a_view_is_a_pure_function_of_its_shape() {
    use manyhands_core::Invoke as _;
    let fixture = Fixture::new(Vec::new()).await;
    let catalogue = fixture.tools.catalogue();
    let owner = Caller::gateway();
    let agent = AgentSettings::new(key().agent().clone());
    let some = [Pattern::new("l*"), Pattern::new("act")];
    let only = names(&["look", "wait"]);
    let view = |caller, tools, only| -> Vec<String> {
        let shape = ToolScope {
            path: &*fixture.tools,
            caller,
            agent: &agent.id,
            tools,
            discover: &[],
            only,
            place: None,
            session: None,
        };
        let shown = toolset(&catalogue, &shape);
        assert_eq!(shown, toolset(&catalogue, &shape), "whenever it is asked");
        shown.into_iter().map(|tool| tool.name).collect()
    };
    let mut nobody = owner.clone();
    nobody.rights.tools = Vec::new();
    let every = ["act", "ask", "look", "meet", "plan_create", "run", "wait"];
    assert_eq!(view(&owner, &agent.tools, None), every);
    assert_eq!(view(&owner, &some, None), ["act", "look"]);
    assert_eq!(view(&owner, &agent.tools, Some(&only)), ["look", "wait"]);
    assert_eq!(view(&owner, &some, Some(&only)), ["look"]);
    assert_eq!(view(&nobody, &agent.tools, None), Vec::<String>::new());
    let shape = ToolScope {
        path: &*fixture.tools,
        caller: &owner,
        agent: &agent.id,
        tools: &some,
        discover: &[],
        only: None,
        place: None,
        session: None,
    };
    assert_eq!(
        chosen(&catalogue, &shape, &names(&["look"])),
        Ok(names(&["look"]))
    );
    let wrong = chosen(&catalogue, &shape, &only);
    assert_eq!(wrong, Err(names(&["wait"])));
}
