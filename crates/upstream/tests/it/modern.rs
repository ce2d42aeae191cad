//! Servers of 2026-07-28, by the official SDKs for TypeScript and Rust.

use std::sync::{Arc, Mutex};

use manyhands_upstream::{
    Dialect, Era, Hooks, McpClient, Server, ServerNotification, Upstream, UpstreamError,
};
use serde_json::{Map, Value, json};

use crate::support::{LONG, Listening, Obliging, hooks, http, names, node, text, upstream};

async fn next(
    notifications: &mut tokio::sync::broadcast::Receiver<ServerNotification>,
) -> ServerNotification {
    let next = tokio::time::timeout(LONG, notifications.recv()).await;
    next.expect("news in time").unwrap()
}

/// What must work whatever the transport.
async fn sends_every_request(server: &Upstream) {
    let tools = server.list_tools(&hooks()).await.unwrap();
    assert!(names(&tools).contains(&"echo"), "{:?}", names(&tools));
    let peer = server.peer().unwrap();
    assert_eq!(
        (peer.era, peer.version.as_str()),
        (Era::Modern, "2026-07-28")
    );
    assert_eq!(peer.instructions.as_deref(), Some("Use it well."));
    assert_eq!(peer.info["name"], "modern");
    server.ping(&hooks()).await.unwrap();
    server.set_log_level("info", &hooks()).await.unwrap();

    let echoed = server
        .call_tool("echo", json!({ "message": "hällo" }), &hooks())
        .await
        .unwrap();
    assert_eq!(text(&echoed), "hällo");
    assert_eq!(echoed["_meta"]["example.com/kept"], 7, "{echoed}");
    let region = server
        .call_tool("region", json!({ "region": "eu ü" }), &hooks())
        .await
        .unwrap();
    assert_eq!(text(&region), "in eu ü");
    let read = server.read_resource("note://one", &hooks()).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "noted");
    let prompt = server
        .get_prompt("hello", Value::Null, &hooks())
        .await
        .unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "hello");
    assert!(matches!(
        server.read_resource("note://none", &hooks()).await,
        Err(UpstreamError::Rpc(_))
    ));

    let steps = Arc::new(Mutex::new(Vec::new()));
    let sink = steps.clone();
    let followed = Hooks {
        progress: Some(Arc::new(move |step: Map<String, Value>| {
            sink.lock().unwrap().push(step["progress"].clone());
        })),
        ..hooks()
    };
    let done = server
        .call_tool("steps", json!({}), &followed)
        .await
        .unwrap();
    assert_eq!(text(&done), "done");
    assert_eq!(*steps.lock().unwrap(), [json!(1), json!(2), json!(3)]);
}

/// Rounds of questions.
async fn answers_server_requests(server: &Upstream) {
    let handler = Arc::new(Obliging::default());
    let with = Hooks {
        handler: Some(handler.clone()),
        ..hooks()
    };
    let done = server
        .call_tool("deploy", json!({ "to": "mars" }), &with)
        .await
        .unwrap();
    assert!(text(&done).starts_with("accept"), "{done}");
    assert!(text(&done).ends_with("state of mars"), "{done}");
    assert_eq!(handler.methods(), ["elicitation/create"]);
    assert_eq!(
        handler.requests.lock().unwrap()[0].1["message"],
        "Deploy to mars?"
    );
    let endless = server
        .call_tool("endless", json!({}), &with)
        .await
        .unwrap_err();
    assert!(matches!(endless, UpstreamError::Garbage(_)), "{endless}");
    assert_eq!(handler.methods().len(), 11);

    // Without somebody who answers, the question is handed on, and answered by another request.
    let able = Hooks {
        capabilities: json!({ "elicitation": { "form": {} } })
            .as_object()
            .cloned(),
        ..hooks()
    };
    let input = server
        .call_tool("deploy", json!({ "to": "moon" }), &able)
        .await
        .unwrap();
    assert_eq!(input["resultType"], "input_required", "{input}");
    let retry = json!({
        "name": "deploy", "arguments": { "to": "moon" }, "requestState": input["requestState"],
        "inputResponses": { "confirm": { "action": "decline" } },
    });
    let params = retry.as_object().cloned().unwrap();
    let declined = server.request("tools/call", params, &able).await.unwrap();
    assert!(text(&declined).starts_with("decline"), "{declined}");
    // Nobody who answers and nothing declared: the server does not ask.
    let unable = server
        .call_tool("deploy", json!({ "to": "x" }), &hooks())
        .await;
    assert!(
        !matches!(&unable, Ok(input) if input["resultType"] == "input_required"),
        "{unable:?}"
    );
}

/// What is told without asking.
async fn reports_changes(server: &Upstream) {
    server.ping(&hooks()).await.unwrap();
    let mut notifications = server.changes();
    server.subscribe("note://one", &hooks()).await.unwrap();
    server
        .call_tool("touch", json!({}), &hooks())
        .await
        .unwrap();
    let updated = next(&mut notifications).await;
    assert!(
        matches!(&updated, ServerNotification::Updated { uri, .. } if uri == "note://one"),
        "{updated:?}"
    );
    server.call_tool("grow", json!({}), &hooks()).await.unwrap();
    assert_eq!(next(&mut notifications).await, ServerNotification::Tools);
    let tools = server.list_tools(&hooks()).await.unwrap();
    assert!(names(&tools).contains(&"grown_1"), "{:?}", names(&tools));
    server.unsubscribe("note://one", &hooks()).await.unwrap();
    server
        .call_tool("touch", json!({}), &hooks())
        .await
        .unwrap();
    server.call_tool("grow", json!({}), &hooks()).await.unwrap();
    assert_eq!(
        next(&mut notifications).await,
        ServerNotification::Tools,
        "nothing of the note any more"
    );
}

#[tokio::test]
async fn a_modern_program() {
    let server = upstream(node(&["modern.mjs", "stdio"]));
    sends_every_request(&server).await;
    answers_server_requests(&server).await;
    reports_changes(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn a_modern_http_server() {
    let listening = Listening::start(&["modern.mjs", "http"]).await;
    let server = upstream(http(listening.url("/mcp")));
    sends_every_request(&server).await;
    answers_server_requests(&server).await;
    reports_changes(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn a_server_of_both_eras_is_reached_in_either() {
    for (dialect, era) in [
        (Dialect::Auto, Era::Modern),
        (Dialect::Modern, Era::Modern),
        (Dialect::Legacy, Era::Legacy),
    ] {
        let mut description: Server = node(&["modern.mjs", "stdio", "both"]);
        description.dialect = dialect;
        let server = upstream(description);
        let echoed = server
            .call_tool("echo", json!({ "message": "x" }), &hooks())
            .await
            .unwrap();
        assert_eq!(text(&echoed), "x");
        assert_eq!(server.peer().unwrap().era, era, "{dialect:?}");
    }
    let mut old = node(&["hostile.mjs"]);
    old.dialect = Dialect::Modern;
    let refused = upstream(old).ping(&hooks()).await.unwrap_err();
    assert!(matches!(refused, UpstreamError::Rpc(_)), "{refused}");
}
