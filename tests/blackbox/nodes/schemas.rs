//! Schemas of a node's tools that would stop the gateway.

use serde_json::{Value, json};

use super::fixture::on_record;
use super::player::{Player, greeting};
use crate::harness::Gateway;
use crate::http::Request;
use crate::schemas::{attacked, bombs, deep, ends_under, tree};

#[test]
fn a_tool_whose_schema_would_never_end_is_left_out_and_the_others_work() {
    let gateway = Gateway::start();
    let mut hello = greeting("stranger", &gateway.owner);
    let mut add = |name: &str, schema: &Value| {
        let tool = json!({ "name": name, "description": "", "inputSchema": schema });
        hello["tools"].as_array_mut().expect("tools").push(tool);
        hello["nodeRuntime"]["toolCapabilities"][name] = json!(["filesystem.read"]);
    };
    for (n, (schema, _)) in bombs().iter().enumerate() {
        add(&format!("Bomb{n}"), schema);
    }
    add("Tree", &tree());
    let mut player = Player::join_with(&gateway, "stranger", hello);
    assert_eq!(gateway.get("/healthz").status, 200);

    let record = on_record(&gateway, "stranger").expect("a node");
    assert_eq!(record["tools"], json!(["Bash", "Read", "Write", "Tree"]));
    let left = record["leftOut"].as_array().expect("what was left out");
    assert_eq!(left.len(), bombs().len());
    for (one, (_, says)) in left.iter().zip(bombs()) {
        let reason = one["reason"].as_str().expect("a reason");
        assert!(reason.contains(says), "{one}");
    }
    assert_eq!(
        gateway.call("stranger__Bomb0", json!({}))["code"],
        "unknown_tool"
    );

    let post = |arguments: Value| {
        Request::post("/api/tools/stranger__Tree", &arguments).bearer(&gateway.owner)
    };
    let attack = vec![post(deep(60)); 4];
    for answer in attacked(&gateway, &attack) {
        let said = answer.json();
        assert_eq!(said["code"], "invalid_arguments", "{said}");
        assert!(
            said["error"].to_string().contains("takes too long"),
            "{said}"
        );
    }
    std::thread::scope(|scope| {
        let (request, to) = (post(deep(6)), gateway.addr);
        let call = scope.spawn(move || request.send(to).json());
        let (id, asked) = player.called();
        assert_eq!(asked["args"], deep(6), "{asked}");
        player.answer("tool.result", json!({ "callId": id, "result": "seen" }));
        let said = call.join().expect("an answer");
        assert_eq!(said["result"], "seen", "{said}");
    });
    ends_under(gateway, attack);
}
