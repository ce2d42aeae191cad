//! The official example servers, over each transport.

use std::sync::{Arc, Mutex};

use manyhands_upstream::{
    Era, Hooks, McpClient, Server, ServerNotification, Transport, Upstream, UpstreamError,
};
use serde_json::{Value, json};

use crate::support::{
    LONG, Listening, Obliging, hooks, http, names, node, program, servers, stdio, text, upstream,
};

const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// What must work whatever the transport.
async fn sends_every_request(server: &Upstream) {
    let tools = server.list_tools(&hooks()).await.unwrap();
    assert!(names(&tools).contains(&"echo"), "{:?}", names(&tools));
    assert!(!names(&tools).contains(&"trigger-elicitation-request"));
    let peer = server.peer().unwrap();
    assert_eq!(
        (peer.era, peer.version.as_str()),
        (Era::Legacy, "2025-11-25")
    );
    assert!(peer.can("prompts") && peer.can("resources"));
    assert!(peer.info["name"].as_str().unwrap().contains("everything"));

    let echoed = server
        .call_tool("echo", json!({ "message": "hällo" }), &hooks())
        .await;
    assert_eq!(text(&echoed.unwrap()), "Echo: hällo");
    let image = server
        .call_tool("get-tiny-image", json!({}), &hooks())
        .await
        .unwrap();
    assert!(
        image["content"]
            .as_array()
            .unwrap()
            .iter()
            .any(|b| b["type"] == "image")
    );
    let wrong = server
        .call_tool("get-sum", json!({ "a": "x" }), &hooks())
        .await
        .unwrap();
    assert_eq!(wrong["isError"], true, "{wrong}");

    let resources = server.list_resources(&hooks()).await.unwrap();
    let uri = resources[0]["uri"].as_str().unwrap();
    let read = server.read_resource(uri, &hooks()).await.unwrap();
    assert_eq!(read["contents"][0]["uri"], uri);
    assert!(
        !server
            .list_resource_templates(&hooks())
            .await
            .unwrap()
            .is_empty()
    );
    server.subscribe(uri, &hooks()).await.unwrap();
    server.unsubscribe(uri, &hooks()).await.unwrap();

    let prompts = server.list_prompts(&hooks()).await.unwrap();
    assert!(
        names(&prompts).contains(&"args-prompt"),
        "{:?}",
        names(&prompts)
    );
    let input = json!({ "city": "Paris", "state": "Texas" });
    let prompt = server
        .get_prompt("args-prompt", input, &hooks())
        .await
        .unwrap();
    assert!(
        prompt["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("Paris")
    );
    let reference = json!({ "type": "ref/prompt", "name": "completable-prompt" });
    let argument = json!({ "name": "department", "value": "E" });
    let completed = server
        .complete(reference, argument, &hooks())
        .await
        .unwrap();
    assert!(
        completed["completion"]["values"]
            .as_array()
            .is_some_and(|v| !v.is_empty())
    );
    server.set_log_level("debug", &hooks()).await.unwrap();
    server.ping(&hooks()).await.unwrap();

    let steps = Arc::new(Mutex::new(Vec::new()));
    let sink = steps.clone();
    let followed = Hooks {
        progress: Some(Arc::new(move |step| {
            sink.lock().unwrap().push(step["progress"].clone())
        })),
        ..hooks()
    };
    let long = json!({ "duration": 0.3, "steps": 3 });
    let done = server
        .call_tool("trigger-long-running-operation", long, &followed)
        .await;
    assert!(text(&done.unwrap()).contains("completed"));
    assert_eq!(*steps.lock().unwrap(), [json!(1), json!(2), json!(3)]);
}

/// What takes somebody who answers.
async fn answers_server_requests(server: &Upstream) {
    let handler = Arc::new(Obliging::default());
    let private = server.open_private(Some(handler.clone())).await.unwrap();
    let mut notifications = private.changes();
    let with = Hooks {
        handler: Some(handler.clone()),
        ..hooks()
    };
    // It registers what depends on the client only after it was greeted.
    let listed = async {
        loop {
            let tools = private.list_tools(&hooks()).await.unwrap();
            if names(&tools).contains(&"trigger-elicitation-request") {
                return;
            }
            let _ = notifications.recv().await;
        }
    };
    tokio::time::timeout(LONG, listed).await.unwrap();
    let answer = private
        .call_tool("trigger-elicitation-request", json!({}), &with)
        .await;
    assert!(answer.unwrap().to_string().contains("Ada"));
    let prompt = json!({ "prompt": "say", "maxTokens": 10 });
    let sampled = private
        .call_tool("trigger-sampling-request", prompt, &with)
        .await;
    assert!(sampled.unwrap().to_string().contains("sampled"));
    let roots = private
        .call_tool("get-roots-list", json!({}), &with)
        .await
        .unwrap();
    assert!(roots.to_string().contains("file:///tmp"), "{roots}");
    let input = handler.methods();
    for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
        assert!(input.iter().any(|m| m == method), "{method}: {input:?}");
    }
}

#[tokio::test]
async fn the_example_server_over_stdio() {
    let server = upstream(node(&[EVERYTHING, "stdio"]));
    sends_every_request(&server).await;
    answers_server_requests(&server).await;
    assert!(server.stderr().contains("Starting"), "{}", server.stderr());
    server.stop().await;
    let refused = server.ping(&hooks()).await.unwrap_err();
    assert!(matches!(refused, UpstreamError::Stopped), "{refused}");
}

#[tokio::test]
async fn the_example_server_over_streamable_http() {
    let listening = Listening::start(&[EVERYTHING, "streamableHttp"]).await;
    let server = upstream(http(listening.url("/mcp")));
    sends_every_request(&server).await;
    answers_server_requests(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn the_example_server_over_events() {
    let listening = Listening::start(&[EVERYTHING, "sse"]).await;
    let transport = Transport::Sse {
        url: listening.url("/sse"),
        headers: Vec::new(),
    };
    let server = upstream(Server::new("test", transport));
    sends_every_request(&server).await;
    answers_server_requests(&server).await;
    server.stop().await;
    // Whoever says only HTTP finds out by itself.
    let found = upstream(http(listening.url("/sse")));
    let echoed = found
        .call_tool("echo", json!({ "message": "old" }), &hooks())
        .await;
    assert_eq!(text(&echoed.unwrap()), "Echo: old");
    found.stop().await;
}

#[tokio::test]
async fn the_file_server_stays_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.txt"), "inside").unwrap();
    let script = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    let folder = dir.path().canonicalize().unwrap();
    let server = upstream(node(&[script, folder.to_str().unwrap()]));
    let path = |name: &str| json!({ "path": folder.join(name) });
    let read = server
        .call_tool("read_text_file", path("a.txt"), &hooks())
        .await;
    assert_eq!(text(&read.unwrap()), "inside");
    let outside = json!({ "path": "/etc/passwd" });
    let refused = server
        .call_tool("read_text_file", outside, &hooks())
        .await
        .unwrap();
    assert_eq!(refused["isError"], true);
    server.stop().await;
}

#[tokio::test]
async fn the_memory_server_stores_entities() {
    let dir = tempfile::tempdir().unwrap();
    let script = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
    let mut description = node(&[script]);
    if let Transport::Stdio { env, .. } = &mut description.transport {
        let file = dir.path().join("memory.jsonl");
        env.insert("MEMORY_FILE_PATH".into(), file.into());
    }
    let server = upstream(description);
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["counts"] });
    let created = server
        .call_tool("create_entities", json!({ "entities": [entity] }), &hooks())
        .await;
    assert_ne!(created.unwrap()["isError"], true);
    let read = server.call_tool("read_graph", Value::Null, &hooks()).await;
    let read = match read {
        Ok(read) if read["isError"] != true => read,
        _ => server
            .call_tool("read_graph", json!({}), &hooks())
            .await
            .unwrap(),
    };
    assert!(read.to_string().contains("counts"));
    server.stop().await;
}

#[tokio::test]
async fn a_missing_program_is_named_in_the_error() {
    let server = upstream(stdio(servers().join("nothing-here"), &[]));
    let error = server.ping(&hooks()).await.unwrap_err();
    assert!(
        error.retryable() && error.to_string().contains("nothing-here"),
        "{error}"
    );
    let control = upstream(stdio(program("sh"), &["small.sh"]));
    control.ping(&hooks()).await.unwrap();
    assert_eq!(
        control.changes().try_recv().ok(),
        None::<ServerNotification>
    );
}
