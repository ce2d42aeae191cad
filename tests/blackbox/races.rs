//! A thousand at once.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::{Connection, Request, Response};

const MANY: usize = 1_000;

/// Sends all requests at the same moment: all but the last byte of each first, then that.
fn at_once(gateway: &Gateway, requests: &[Request]) -> Vec<Response> {
    let mut open: Vec<(Connection, Vec<u8>)> = requests
        .iter()
        .map(|request| {
            let mut connection = Connection::open(gateway.addr).expect("a connection");
            let bytes = request.bytes(connection.host());
            connection.write(&bytes[..bytes.len() - 1]).expect("sent");
            (connection, bytes)
        })
        .collect();
    for (connection, bytes) in &mut open {
        connection.write(&bytes[bytes.len() - 1..]).expect("sent");
    }
    open.iter_mut()
        .map(|(connection, _)| connection.read().expect("an answer"))
        .collect()
}

fn call(gateway: &Gateway, tool: &str, arguments: Value) -> Request {
    Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&gateway.owner)
}

#[test]
fn of_a_thousand_writers_to_one_file_one_is_there_whole() {
    let gateway = Gateway::start();
    let content = |n: usize| format!("{n}:").repeat(2_000 + n);
    let requests: Vec<Request> = (0..MANY)
        .map(|n| {
            call(
                &gateway,
                "gsv__WriteFile",
                json!({ "path": "one.md", "content": content(n) }),
            )
        })
        .collect();
    let answers = at_once(&gateway, &requests);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer.status, 200, "{n}: {}", answer.text());
        assert_eq!(answer.json()["result"]["size"], content(n).len());
    }
    let file = std::fs::read_to_string(gateway.home.blob("agents/main/one.md")).expect("the file");
    let winner: usize = file
        .split(':')
        .next()
        .expect("a number")
        .parse()
        .expect("a number");
    assert!(file == content(winner), "the file is exactly one of them");
    let listed = gateway.call("gsv__ReadFile", json!({}));
    assert_eq!(
        listed["result"]["files"],
        json!(["one.md"]),
        "nothing else is left behind"
    );
    let left = std::fs::read_dir(gateway.home.blob("agents/main"))
        .expect("the folder")
        .count();
    assert_eq!(left, 1);
    assert_eq!(
        gateway.metric("tool_execution_total", &["gsv__WriteFile", "\"ok\""]),
        MANY as f64
    );
    gateway.verify_audit();
}

#[test]
fn of_a_thousand_edits_none_is_lost_and_none_half_done() {
    let gateway = Gateway::start();
    let before: String = (0..MANY).map(|n| format!("<{n}>\n")).collect();
    gateway.write("list.md", &before);
    let requests: Vec<Request> = (0..MANY)
        .map(|n| {
            let arguments = json!({ "path": "list.md", "oldString": format!("<{n}>"), "newString": format!("[{n}]") });
            call(&gateway, "gsv__EditFile", arguments)
        })
        .collect();
    let answers = at_once(&gateway, &requests);
    let mut expect = before;
    let mut edited = 0;
    for (n, answer) in answers.iter().enumerate() {
        let said = answer.json();
        match answer.status {
            200 => {
                expect = expect.replace(&format!("<{n}>"), &format!("[{n}]"));
                edited += 1;
            }
            409 => {
                assert_eq!(said["code"], "conflict", "{said}");
                assert!(
                    said["error"]
                        .as_str()
                        .expect("an error")
                        .contains("nothing was written"),
                    "{said}"
                );
            }
            other => panic!("{other}: {said}"),
        }
    }
    assert!(edited > 0, "somebody wins");
    let after = gateway.read("list.md").expect("the file");
    assert!(
        after == expect,
        "the file holds exactly the {edited} edits that were acknowledged"
    );
    let again = call(
        &gateway,
        "gsv__EditFile",
        json!({ "path": "list.md", "oldString": "]\n", "newString": "]\n", "replaceAll": true }),
    );
    assert_eq!(
        gateway.send(&again).status,
        200,
        "the control: alone, an edit goes through"
    );
}
