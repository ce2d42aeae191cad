use std::time::Duration;

use manyhands_core::{
    CallContext, CallId, CallRequest, Caller, Credential, Principal, Rights, SystemClock,
};
use manyhands_store::Store;
use manyhands_wire::{ExecEvent, Frame, NodeExecEventParams, ToolResultParams};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::*;

struct Fixture {
    nodes: Arc<Nodes>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Ids,
    _home: tempfile::TempDir,
}

/// Somebody who connects, and the token they show.
struct ConnectingPeer {
    caller: Caller,
    token: TokenId,
}

/// What a node's socket would write.
type Written = mpsc::Receiver<Message>;

impl Fixture {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let ids = Ids::new(
            clock.clone(),
            Arc::new(manyhands_core::SeededEntropy::new(5)),
        );
        let path = home.path().join("home");
        let store = Store::open(&path, clock.clone(), ids.clone(), None).await;
        let mut fixture = Self {
            nodes: Arc::new(opened(store.as_ref().unwrap(), &clock, &ids, &Arc::default()).await),
            catalogue: Arc::default(),
            store: store.unwrap(),
            clock,
            ids,
            _home: home,
        };
        fixture.reopen().await;
        fixture
    }

    /// What is there after a restart.
    async fn reopen(&mut self) {
        self.nodes.flush().await.unwrap();
        self.catalogue = Arc::default();
        let nodes = opened(&self.store, &self.clock, &self.ids, &self.catalogue).await;
        self.nodes = Arc::new(nodes);
    }

    fn join(&self, name: &str, token: Option<TokenId>) -> (Arc<ConnectedNode>, Written) {
        let (messages, written) = mpsc::channel(8);
        let (bulk, _) = mpsc::channel(8);
        let outbox = NodeOutbox { messages, bulk };
        let joined = self.nodes.join(id(name), offer(), token, outbox);
        (joined.unwrap(), written)
    }

    fn has(&self, tool: &str) -> bool {
        self.catalogue.load().resolve(tool).is_some()
    }

    fn peer(&self, role: Role, name: &str) -> ConnectingPeer {
        let token = self.ids.next();
        let credential = Credential {
            id: token,
            name: name.into(),
        };
        let principal = match role {
            Role::Node => Principal::Node(credential),
            _ => Principal::Token(credential),
        };
        let rights = Rights {
            role,
            ..Rights::owner()
        };
        let caller = Caller::new(principal, name, rights);
        ConnectingPeer { caller, token }
    }

    fn context(&self) -> CallContext {
        let caller = Arc::new(Caller::gateway());
        let request = CallRequest::new("test", Value::Null, caller);
        CallContext::new(request, self.ids.next::<CallId>(), CancellationToken::new())
    }
}

async fn opened(
    store: &Store,
    clock: &Arc<dyn Clock>,
    ids: &Ids,
    catalogue: &Arc<ArcSwap<Catalogue>>,
) -> Nodes {
    let records = store.nodes().clone();
    let nodes = Nodes::open(records, catalogue.clone(), clock.clone(), ids.clone());
    nodes.await.unwrap()
}

fn id(name: &str) -> NodeId {
    name.parse().unwrap()
}

fn offer() -> Offer {
    let params = json!({
        "minProtocol": 1, "maxProtocol": 1,
        "client": { "id": "x", "version": "1", "platform": "linux-x64", "mode": "node" },
        "tools": [{ "name": "Bash", "description": "runs", "inputSchema": { "type": "object" } }],
        "nodeRuntime": {
            "hostCapabilities": ["shell.exec"],
            "toolCapabilities": { "Bash": ["shell.exec"] },
        },
        "additions": ["tool.cancel"],
    });
    Offer::read(serde_json::from_value(params).unwrap()).unwrap()
}

/// The next event on a node's socket, and its payload.
async fn sent_event(written: &mut Written) -> (String, Value) {
    let Some(Message::Text(text)) = written.recv().await else {
        panic!("nothing was told");
    };
    let Ok(Frame::Evt(event)) = Frame::decode(&text) else {
        panic!("{text}");
    };
    (event.event, event.payload.unwrap())
}

#[tokio::test]
async fn tools_are_there_as_long_as_the_connection() {
    let fixture = Fixture::new().await;
    let mut changes = fixture.nodes.changes();
    let (node, _written) = fixture.join("laptop", None);
    assert!(fixture.has("laptop__Bash"));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    fixture.nodes.leave(&node);
    assert!(!fixture.has("laptop__Bash"));
    assert!(changes.has_changed().unwrap());
    let listed = fixture.nodes.list();
    assert!(!listed[0].online && listed[0].tools == ["Bash"]);
}

#[tokio::test]
async fn a_second_connection_replaces_the_first_at_once() {
    let fixture = Fixture::new().await;
    let (old, mut old_messages) = fixture.join("laptop", None);
    let context = fixture.context();
    let pending_call = old.call("Bash", json!({}), &context);
    let replace = async {
        sent_event(&mut old_messages).await;
        fixture.join("laptop", None)
    };
    let (failed, (new, _written)) = tokio::join!(pending_call, replace);
    let failed = failed.unwrap_err();
    assert_eq!(failed.code, ErrorCode::Unavailable);
    assert!(failed.code.retryable() && failed.message.contains("replaced"));
    fixture.nodes.leave(&old);
    assert!(fixture.has("laptop__Bash"), "the new one stays");
    assert_eq!(fixture.nodes.online(), [id("laptop")]);
    fixture.nodes.leave(&new);
    assert_eq!(fixture.nodes.online(), []);
}

#[tokio::test]
async fn a_call_is_answered_by_its_node_and_cancelled_when_dropped() {
    let fixture = Fixture::new().await;
    let (node, mut old_messages) = fixture.join("laptop", None);
    let context = fixture.context();
    let answer = async {
        let (event, payload) = sent_event(&mut old_messages).await;
        assert_eq!(event, "tool.invoke");
        assert_eq!(payload["tool"], "Bash");
        node.on_result(ToolResultParams {
            call_id: payload["callId"].as_str().unwrap().to_owned(),
            result: Some(json!({ "status": "completed" })),
            ..Default::default()
        })
    };
    let (answered, answered_wanted) = tokio::join!(node.call("Bash", json!({}), &context), answer);
    assert!(answered_wanted);
    assert_eq!(answered.unwrap().result.unwrap()["status"], "completed");

    let mut pending_call = Box::pin(node.call("Bash", json!({}), &context));
    tokio::select! {
        _ = &mut pending_call => panic!("nobody answered"),
        (event, _) = sent_event(&mut old_messages) => assert_eq!(event, "tool.invoke"),
    }
    drop(pending_call);
    let (event, payload) = sent_event(&mut old_messages).await;
    assert_eq!(event, "tool.cancel");
    assert_eq!(payload["callId"], context.call.to_string());
    let late = ToolResultParams {
        call_id: context.call.to_string(),
        ..Default::default()
    };
    assert!(!node.on_result(late), "nobody waits any more");
    assert!(node.is_idle());
}

#[tokio::test]
async fn a_token_is_good_for_one_name() {
    let fixture = Fixture::new().await;
    let name = |peer: &ConnectingPeer, requested: &str| {
        fixture.nodes.name_for(&peer.caller, peer.token, requested)
    };
    let owner = fixture.peer(Role::Owner, "me");
    let laptop = fixture.peer(Role::Node, "laptop");
    assert_eq!(name(&owner, "anything"), Ok(id("anything")));
    assert_eq!(name(&laptop, "laptop"), Ok(id("laptop")));
    for (peer, requested) in [
        (&laptop, "server"),
        (&laptop, "gsv"),
        (&laptop, "Laptop"),
        (&fixture.peer(Role::Client, "laptop"), "laptop"),
        (&fixture.peer(Role::ReadOnly, "laptop"), "laptop"),
    ] {
        assert!(name(peer, requested).is_err(), "{requested}");
    }
}

#[tokio::test]
async fn a_renamed_node_comes_back_under_its_new_name() {
    let mut fixture = Fixture::new().await;
    let laptop = fixture.peer(Role::Node, "laptop");
    let (node, _written) = fixture.join("laptop", Some(laptop.token));
    fixture.nodes.rename("laptop", "desk").await.unwrap();
    assert!(node.closed().is_cancelled(), "it has to connect again");
    assert!(!fixture.has("laptop__Bash"));
    fixture.reopen().await;
    assert_eq!(
        fixture
            .nodes
            .name_for(&laptop.caller, laptop.token, "laptop"),
        Ok(id("desk"))
    );
    assert_eq!(
        fixture.nodes.name_for(&laptop.caller, laptop.token, "desk"),
        Ok(id("desk"))
    );
    let newcomer = fixture.peer(Role::Node, "laptop");
    assert_eq!(
        fixture
            .nodes
            .name_for(&newcomer.caller, newcomer.token, "laptop"),
        Ok(id("laptop")),
        "another token with the old name is another node"
    );
    assert_eq!(fixture.nodes.present_name(&id("laptop")), id("desk"));
    fixture.join("server", None);
    for (old, new) in [
        ("desk", "server"),
        ("server", "laptop"),
        ("desk", "gsv"),
        ("x", "y"),
    ] {
        assert!(fixture.nodes.rename(old, new).await.is_err(), "{old} {new}");
    }
}

#[tokio::test]
async fn a_connected_node_is_forgotten_only_by_force() {
    let mut fixture = Fixture::new().await;
    let (_node, _written) = fixture.join("laptop", None);
    let refused = fixture.nodes.forget("laptop", false).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    let (forgotten, _) = fixture.nodes.forget("laptop", true).await.unwrap();
    assert!(forgotten.removed || fixture.nodes.list().is_empty());
    assert!(forgotten.disconnected && !fixture.has("laptop__Bash"));
    fixture.reopen().await;
    assert_eq!(fixture.nodes.list(), []);
}

#[tokio::test]
async fn a_code_names_a_node_once() {
    let fixture = Fixture::new().await;
    let minutes = Duration::from_secs(900);
    let (code, _) = fixture
        .nodes
        .create_code(&id("laptop"), minutes)
        .await
        .unwrap();
    let typed = format!(" {} ", code.to_uppercase());
    let used = fixture.nodes.use_code(&typed).await.unwrap();
    assert_eq!(used, Some(id("laptop")));
    assert_eq!(fixture.nodes.use_code(&code).await.unwrap(), None);
    assert_eq!(fixture.nodes.use_code("join-x").await.unwrap(), None);
}

#[tokio::test]
async fn process_notices_are_published_once_to_their_origin() {
    let fixture = Fixture::new().await;
    let context = fixture.context();
    fixture.nodes.origins.note(&id("laptop"), &context);
    let mut old_messages = fixture.nodes.notices();
    let notice = |event_id: &str, event, call: Option<String>| NodeExecEventParams {
        event_id: event_id.to_owned(),
        session_id: "s".to_owned(),
        event,
        call_id: call,
        exit_code: None,
        signal: None,
        output_tail: None,
        started_at: None,
        ended_at: None,
    };
    let call = Some(context.call.to_string());
    let laptop = id("laptop");
    let started = notice("1", ExecEvent::Started, call.clone());
    assert!(
        fixture
            .nodes
            .record_notice(&laptop, started.clone())
            .await
            .unwrap()
            .0
    );
    assert!(
        !fixture
            .nodes
            .record_notice(&laptop, started)
            .await
            .unwrap()
            .0
    );
    let finished = notice("2", ExecEvent::Finished, None);
    assert!(
        fixture
            .nodes
            .record_notice(&laptop, finished)
            .await
            .unwrap()
            .0
    );
    for _ in 0..2 {
        let sent_event = old_messages.recv().await.unwrap();
        assert_eq!(sent_event.origin.as_ref().unwrap().agent, "main");
    }
    let elsewhere = notice("3", ExecEvent::Started, call);
    fixture
        .nodes
        .record_notice(&id("server"), elsewhere)
        .await
        .unwrap();
    assert!(
        old_messages.recv().await.unwrap().origin.is_none(),
        "not its call"
    );
}
