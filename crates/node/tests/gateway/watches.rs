use std::collections::VecDeque;

use serde_json::{Value, json};

use super::fake::{Gateway, Machine, OURS, Peer};

/// A gateway's end of the socket, and what was told of watches while it waited for something else.
struct Watcher {
    peer: Peer,
    told: VecDeque<Value>,
}

impl Watcher {
    async fn of(gateway: &Gateway, machine: &Machine) -> Self {
        let peer = machine.at_work(gateway, OURS).await;
        let told = VecDeque::new();
        Self { peer, told }
    }

    /// Hears one thing; what is asked is taken, and answers to calls are given back.
    async fn hear(&mut self) -> Option<Value> {
        let said = self.peer.text().await;
        if said["event"] == "process.output" {
            self.told.push_back(said["payload"].clone());
            return None;
        }
        let id = said["id"].as_str().unwrap().to_owned();
        self.peer.answer(&id, json!({ "ok": true })).await;
        (said["method"] == "tool.result").then(|| said["params"].clone())
    }

    async fn call(&mut self, id: &str, tool: &str, args: Value) -> Value {
        self.peer.invoke(id, tool, args).await;
        loop {
            if let Some(answer) = self.hear().await {
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
        let told = self.call(id, "Process", args).await;
        assert!(told.get("error").is_none(), "{told}");
    }

    async fn ask(&mut self, watch: &str, session: &Value, from: Option<u64>) {
        let ask = json!({ "watchId": watch, "sessionId": session, "from": from });
        self.peer.tell("process.watch", ask).await;
    }

    /// What is told next.
    async fn output(&mut self) -> Value {
        loop {
            if let Some(told) = self.told.pop_front() {
                return told;
            }
            assert_eq!(self.hear().await, None, "no call is open");
        }
    }

    /// What a question is answered with.
    async fn next(&mut self, watch: &str, session: &Value, from: Option<u64>) -> Value {
        self.ask(watch, session, from).await;
        let told = self.output().await;
        assert_eq!(told["watchId"], watch);
        told
    }
}

#[tokio::test]
async fn what_a_program_prints_is_told_as_it_comes_and_so_is_its_end() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer
        .background("b", "echo first; while read x; do echo \"ä $x\"; done")
        .await;
    let told = peer.next("w", &session, None).await;
    assert_eq!(
        told,
        json!({ "watchId": "w", "at": 0, "next": 6, "text": "first\n" })
    );
    peer.ask("w", &session, Some(6)).await;
    // Asked again while the first is open, it is answered once.
    peer.ask("w", &session, Some(6)).await;
    peer.submit("s", &session, "one").await;
    let told = peer.output().await;
    assert_eq!(
        (&told["at"], &told["next"], &told["text"]),
        (&json!(6), &json!(12), &json!("ä one\n"))
    );
    peer.ask("w", &session, Some(12)).await;
    peer.call(
        "k",
        "Process",
        json!({ "action": "kill", "sessionId": session }),
    )
    .await;
    let told = peer.output().await;
    assert_eq!(
        told,
        json!({ "watchId": "w", "at": 12, "next": 12, "text": "", "ended": true })
    );
    let told = peer.next("late", &session, Some(6)).await;
    assert_eq!(
        (&told["text"], &told["ended"]),
        (&json!("ä one\n"), &json!(true))
    );
}

#[tokio::test]
async fn a_flood_is_told_in_pieces_and_what_was_passed_over_can_be_counted() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let flood = "seq 1000000; read x; seq 1000001 1000100";
    let session = peer.background("b", flood).await;
    let mut position = None;
    // It prints 6.9 million characters, of which the last 200,000 are kept.
    while position.unwrap_or(0) < 6_888_896 {
        let told = peer.next("w", &session, position).await;
        let (at, end) = (told["at"].as_u64().unwrap(), told["next"].as_u64().unwrap());
        let text = told["text"].as_str().unwrap();
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
        let told = peer.next("w", &session, position).await;
        assert_eq!(
            told["at"],
            json!(position),
            "nothing is passed over by who keeps up"
        );
        rest.push_str(told["text"].as_str().unwrap());
        position = told["next"].as_u64();
        if told["ended"] == true {
            break;
        }
    }
    assert!(rest.starts_with("1000001\n") && rest.ends_with("1000100\n"));
    let told = peer.next("w", &session, Some(0)).await;
    assert!(told["at"].as_u64().unwrap() > 6_000_000, "{told}");
}

#[tokio::test]
async fn who_watches_no_more_is_told_nothing_and_nobody_hears_of_what_there_is_not() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer.background("b", "while read x; do echo $x; done").await;
    peer.ask("one", &session, Some(0)).await;
    peer.ask("two", &session, Some(0)).await;
    peer.peer
        .tell("process.unwatch", json!({ "watchId": "one" }))
        .await;
    peer.submit("s", &session, "hi").await;
    assert_eq!(peer.output().await["watchId"], "two");
    // Whoever waits has been told when something else is answered.
    let told = peer.next("three", &session, Some(0)).await;
    assert_eq!(told["text"], "hi\n");
    assert!(peer.told.is_empty());
    for wrong in [
        json!("nonsense"),
        json!("00000000-0000-4000-8000-000000000000"),
    ] {
        let told = peer.next("w", &wrong, None).await;
        assert_eq!(told["ended"], true);
        assert!(
            told["error"]
                .as_str()
                .unwrap()
                .contains("no background session"),
            "{told}"
        );
    }
    let told = peer.next("w", &session, Some(0)).await;
    assert_eq!(told["text"], "hi\n");
}

#[tokio::test]
async fn the_65th_watch_is_refused_and_a_place_is_free_again_when_one_ends() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = Watcher::of(&gateway, &machine).await;
    let session = peer.background("b", "exec sleep 1000").await;
    for watch in 0..64 {
        peer.ask(&watch.to_string(), &session, Some(0)).await;
    }
    let told = peer.next("more", &session, Some(0)).await;
    assert!(
        told["error"].as_str().unwrap().contains("64 open watches"),
        "{told}"
    );
    peer.peer
        .tell("process.unwatch", json!({ "watchId": "7" }))
        .await;
    let other = peer.background("o", "echo there").await;
    let told = peer.next("more", &other, Some(0)).await;
    assert_eq!(told["text"], "there\n");
}
