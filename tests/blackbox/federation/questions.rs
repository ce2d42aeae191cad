//! What servers ask back, and how long it may take to answer.

use serde_json::{Value, json};

use super::{STRANGERS, Scripted, client, gateway, names, node, official, stranger};
use crate::harness::{Home, eventually, run};

#[test]
fn a_call_does_not_run_out_of_time_while_somebody_thinks_about_its_question() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["elicit", "silence"]);
    let gateway = gateway(home, &scripted.settings("s", "timeout = 1"), &["s"]);
    let answer = gateway.home.outside("answer");
    let clients = STRANGERS.map(|(sdk, era)| {
        let mut client = client(&gateway, sdk, era, "s", &json!([["call", "elicit"]]));
        client.env("ANSWER_WHEN", &answer);
        std::thread::spawn(move || run(client, ""))
    });
    let asked = answer.with_extension("asked");
    eventually("everybody is asked", || {
        let asked = std::fs::read_to_string(&asked).unwrap_or_default();
        asked.lines().count() == STRANGERS.len()
    });
    // Calls that began later run out of their time, one after the other, longer than any call may take.
    for _ in 0..8 {
        let said = gateway.call("s__silence", json!({}));
        assert_eq!(said["code"], "deadline_exceeded", "the control: {said}");
    }
    std::fs::write(&answer, "").expect("the word");
    for (client, (sdk, era)) in clients.into_iter().zip(STRANGERS) {
        let ran = client.join().expect("its end").ok();
        let said = ran.json()["seen"][0]["value"].clone();
        let text = said["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{sdk} {era}: {ran:?}"));
        let given: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(
            (&given["action"], &given["content"]["color"]),
            (&json!("accept"), &json!("my color")),
            "{sdk} {era}: {said}"
        );
    }
}

#[test]
fn a_server_that_asks_only_those_who_answer_offers_that_where_the_owner_says_so() {
    let settings = node("asks", &[&official("everything"), "stdio"], "asks = true")
        + &node("plain", &[&official("everything"), "stdio"], "");
    let gateway = gateway(Home::new(), &settings, &["asks", "plain"]);
    let tool = "trigger-elicitation-request";
    let offers = |server: &str| names(&gateway).contains(&format!("{server}__{tool}"));
    eventually("the tool is offered", || offers("asks"));
    assert!(!offers("plain"), "it was told that nobody answers");
    for (sdk, era) in STRANGERS {
        let seen = stranger(&gateway, sdk, era, "asks", json!([["call", tool]]));
        let said = seen[0].to_string();
        assert!(said.contains("my name"), "{sdk} {era}: {said}");
    }
    // Nobody can be asked about a call that is made here.
    let said = gateway.call(&format!("asks__{tool}"), json!({}));
    let text = said.to_string();
    assert!(text.contains("cancel"), "{said}");
    assert_eq!(said["ok"], true, "{said}");
}
