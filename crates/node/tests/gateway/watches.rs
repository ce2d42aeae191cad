use std::collections::VecDeque;

use serde_json::{Value, json};

use super::fake::{ADDITIONS, Gateway, Machine, Peer};

/// A gateway's end of the socket, and what was told of watches while it waited for something else.
struct Watcher {
    peer: Peer,
    response: VecDeque<Value>,
}

impl Watcher {
    async fn of(gateway: &Gateway, machine: &Machine) -> Self {
        let peer = machine.at_work(gateway, ADDITIONS).await;
        let response = VecDeque::new();
        Self { peer, response }
    }

    /// Hears one thing; what is asked is taken, and answers to calls are given back.
    async fn receive(&mut self) -> Option<Value> {
        let said = self.peer.text().await;
        if said["event"] == "process.output" {
            self.response.push_back(said["payload"].clone());
            return None;
        }
        let id = said["id"].as_str().unwrap().to_owned();
        self.peer.answer(&id, json!({ "ok": true })).await;
        (said["method"] == "tool.result").then(|| said["params"].clone())
    }

    async fn call(&mut self, id: &str, tool: &str, args: Value) -> Value {
        self.peer.invoke(id, tool, args).await;
        loop {
            if let Some(answer) = self.receive().await {
                assert_eq!(answer["callId"], id);
                return answer;
            }
        }
    }

    async fn background(&mut self, id: &str, command: &str) -> Value {
        let args = json!({ "command": command, "background": true });
        self.call(id, "Bash", args).await["result"]["sessionId"].clone()
    }

    /// Types a line for a program.
    async fn submit(&mut self, id: &str, session: &Value, data: &str) {
        let args = json!({ "action": "submit", "sessionId": session, "data": data });
        let response = self.call(id, "Process", args).await;
        assert!(response.get("error").is_none(), "{response}");
    }

    async fn ask(&mut self, watch: &str, session: &Value, from: Option<u64>) {
        let ask = json!({ "watchId": watch, "sessionId": session, "from": from });
        self.peer.send_event("process.watch", ask).await;
    }

    /// What is told next.
    async fn output(&mut self) -> Value {
        loop {
            if let Some(response) = self.response.pop_front() {
                return response;
            }
            assert_eq!(self.receive().await, None, "no call is open");
        }
    }

    /// What a question is answered with.
    async fn next(&mut self, watch: &str, session: &Value, from: Option<u64>) -> Value {
        self.ask(watch, session, from).await;
        let response = self.output().await;
        assert_eq!(response["watchId"], watch);
        response
    }
}

#[tokio::test]
async fn output_of_a_watched_process_is_streamed_to_its_end() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer
        .background("b", "echo first; while read x; do echo \"ä $x\"; done")
        .await;
    let response = peer.next("w", &session, None).await;
    assert_eq!(
        response,
        json!({ "watchId": "w", "at": 0, "next": 6, "text": "first\n" })
    );
    peer.ask("w", &session, Some(6)).await;
    // Asked again while the first is open, it is answered once.
    peer.ask("w", &session, Some(6)).await;
    peer.submit("s", &session, "one").await;
    let response = peer.output().await;
    assert_eq!(
        (&response["at"], &response["next"], &response["text"]),
        (&json!(6), &json!(12), &json!("ä one\n"))
    );
    peer.ask("w", &session, Some(12)).await;
    peer.call(
        "k",
        "Process",
        json!({ "action": "kill", "sessionId": session }),
    )
    .await;
    let response = peer.output().await;
    assert_eq!(
        response,
        json!({ "watchId": "w", "at": 12, "next": 12, "text": "", "ended": true })
    );
    let response = peer.next("late", &session, Some(6)).await;
    assert_eq!(
        (&response["text"], &response["ended"]),
        (&json!("ä one\n"), &json!(true))
    );
}

#[tokio::test]
async fn a_flood_of_output_is_chunked_and_skipped_parts_are_counted() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let flood = "seq 1000000; read x; seq 1000001 1000100";
    let session = peer.background("b", flood).await;
    let mut position = None;
    // It prints 6.9 million characters, of which the last 200,000 are kept.
    while position.unwrap_or(0) < 6_888_896 {
        let response = peer.next("w", &session, position).await;
        let (at, end) = (
            response["at"].as_u64().unwrap(),
            response["next"].as_u64().unwrap(),
        );
        let text = response["text"].as_str().unwrap();
        assert_eq!(end - at, text.len() as u64, "all of it is ASCII");
        assert!(text.len() <= 16_000);
        if at > position.unwrap_or(0) {
            let line = text.lines().next().unwrap();
            assert!(line.parse::<u32>().is_ok(), "it begins with a line: {line}");
        }
        position = Some(end);
    }
    peer.submit("s", &session, "").await;
    let mut rest = String::new();
    loop {
        let response = peer.next("w", &session, position).await;
        assert_eq!(
            response["at"],
            json!(position),
            "nothing is passed over by who keeps up"
        );
        rest.push_str(response["text"].as_str().unwrap());
        position = response["next"].as_u64();
        if response["ended"] == true {
            break;
        }
    }
    assert!(rest.starts_with("1000001\n") && rest.ends_with("1000100\n"));
    let response = peer.next("w", &session, Some(0)).await;
    assert!(response["at"].as_u64().unwrap() > 6_000_000, "{response}");
}

#[tokio::test]
async fn an_ended_watch_gets_nothing_and_an_unknown_session_an_error() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer.background("b", "while read x; do echo $x; done").await;
    peer.ask("one", &session, Some(0)).await;
    peer.ask("two", &session, Some(0)).await;
    peer.peer
        .send_event("process.unwatch", json!({ "watchId": "one" }))
        .await;
    peer.submit("s", &session, "hi").await;
    assert_eq!(peer.output().await["watchId"], "two");
    // Whoever waits has been told when something else is answered.
    let response = peer.next("three", &session, Some(0)).await;
    assert_eq!(response["text"], "hi\n");
    assert!(peer.response.is_empty());
    for wrong in [
        json!("nonsense"),
        json!("00000000-0000-4000-8000-000000000000"),
    ] {
        let response = peer.next("w", &wrong, None).await;
        assert_eq!(response["ended"], true);
        assert!(
            response["error"]
                .as_str()
                .unwrap()
                .contains("no background session"),
            "{response}"
        );
    }
    let response = peer.next("w", &session, Some(0)).await;
    assert_eq!(response["text"], "hi\n");
}

#[tokio::test]
async fn the_65th_watch_is_refused_until_another_ends() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer.background("b", "exec sleep 1000").await;
    for watch in 0..64 {
        peer.ask(&watch.to_string(), &session, Some(0)).await;
    }
    let response = peer.next("more", &session, Some(0)).await;
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("64 open watches"),
        "{response}"
    );
    peer.peer
        .send_event("process.unwatch", json!({ "watchId": "7" }))
        .await;
    let other = peer.background("o", "echo there").await;
    let response = peer.next("more", &other, Some(0)).await;
    assert_eq!(response["text"], "there\n");
}
