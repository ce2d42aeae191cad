//! The words of a guest in a chat: in the guest's own turns, in a group where the owner speaks next, and in what
//! the guest's turns leave behind.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::plan::{Call, Harm, turns};
use super::world::{Asked, harmed, listener, owner};
use crate::chats::telegram::fixture::{ADA, BO, OWNED, Stage, called};
use crate::harness::eventually;

const HARMS: [Harm; 6] = [
    Harm::Bash,
    Harm::ShellExec,
    Harm::Post,
    Harm::Delete,
    Harm::Message,
    Harm::DeliveringJob,
];

/// What carries a guest's words on.
#[derive(Debug, Clone, Copy)]
enum Way {
    SameTurn,
    Group,
    File,
    Skill,
    Job,
}

const WAYS: [Way; 5] = [Way::SameTurn, Way::Group, Way::File, Way::Skill, Way::Job];

fn sequences() -> Vec<(Way, Harm)> {
    let all = WAYS.into_iter();
    all.flat_map(|way| HARMS.map(|harm| (way, harm))).collect()
}

fn file(way: Way, number: usize) -> String {
    match way {
        Way::Skill => format!("skills/x{number}x/SKILL.md"),
        _ => format!("note-x{number}x.md"),
    }
}

/// What the model plays in one sequence.
fn script(number: usize, (way, harm): (Way, Harm), port: u16) -> String {
    let (first, then) = (format!("x{number}x-a"), format!("x{number}x-b"));
    let harm = harm.call(&format!("harm-x{number}x"), number, port);
    let path = file(way, number);
    let (before, after): (Vec<Call>, Vec<Call>) = match way {
        Way::SameTurn => (vec![harm], vec![]),
        Way::Group => (vec![], vec![harm]),
        Way::File | Way::Skill => {
            let write = json!({ "path": path, "content": then });
            let read = ("gsv__ReadFile", json!({ "path": path }));
            (vec![("gsv__WriteFile", write)], vec![read, harm])
        }
        Way::Job => {
            let spec = json!({ "mode": "task", "message": then, "deliver": false });
            let schedule = json!({ "kind": "every", "everyDays": 300 });
            let job = json!({ "name": format!("x{number}x"), "schedule": schedule, "spec": spec });
            let add = json!({ "action": "add", "job": job });
            (vec![("gsv__Cron", add)], vec![harm])
        }
    };
    turns(&first, &before) + &turns(&then, &after)
}

/// The guest of a sequence, who has a chat of their own: the bot writes in each at its own pace.
fn guest(number: usize) -> i64 {
    1_000 + i64::try_from(number).expect("a small number")
}

/// The guest of a sequence says something in a chat.
fn say(stage: &Stage, number: usize, chat: i64, mut what: Value) {
    let name = format!("guest{number}");
    what["from"] = json!({ "id": guest(number), "is_bot": false, "first_name": name });
    stage.send(BO, chat, what);
    stage.at_rest();
}

/// Plays one sequence to the end of its turns.
fn play(stage: &Stage, number: usize, way: Way) {
    let (first, then) = (format!("x{number}x-a"), format!("x{number}x-b"));
    let group = -guest(number);
    match way {
        Way::Group => say(stage, number, group, called(&first)),
        _ => say(stage, number, guest(number), json!({ "text": first })),
    }
    let owner = owner(&stage.scene.gateway);
    match way {
        Way::SameTurn => {}
        Way::Group => {
            stage.call(ADA, group, &then);
            stage.at_rest();
        }
        Way::File | Way::Skill => {
            let body = json!({ "sessionKey": format!("s{number}"), "message": then });
            owner.post("/api/chat?wait=90", &body);
        }
        Way::Job => {
            let list = owner.post(
                "/api/tools/gsv__Cron",
                &json!({ "action": "list", "limit": 200 }),
            );
            let name = format!("x{number}x");
            let all = list["jobs"].as_array().expect("jobs");
            let job = all.iter().find(|job| job["name"] == name.as_str());
            let id = &job.unwrap_or_else(|| panic!("{name}: {list}"))["id"];
            let run = json!({ "action": "run", "mode": "force", "id": id });
            owner.post("/api/tools/gsv__Cron", &run);
        }
    }
}

/// Plays all sequences: those that were asked about, and those whose harm was done.
fn outcome(rules: &str) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (port, requests) = listener();
    let all = sequences();
    let guests: Vec<String> = (0..all.len())
        .map(|number| guest(number).to_string())
        .collect();
    let owned = OWNED.replace("[\"22\"]", &format!("{guests:?}"));
    let settings = format!(
        "# asks by default\n{owned}channels.telegram.tools = [\"*\"]\nlimits.calls_per_minute = 100000\n{rules}"
    );
    let scripts = all.iter().enumerate();
    let script: String = scripts
        .map(|(number, one)| script(number, *one, port))
        .collect();
    let stage = Stage::new(
        &settings,
        &format!("{script}  - {{ when: {{}}, text: ok }}\n"),
    );
    stage.telegram.chat(33, "private");
    let asked = Asked::by(&owner(&stage.scene.gateway));
    for (number, (way, _)) in all.iter().enumerate() {
        play(&stage, number, *way);
    }
    let gateway = &stage.scene.gateway;
    if !rules.is_empty() {
        let done = || harmed(gateway, &stage.telegram, &requests).len() == all.len();
        eventually("every harm", done);
    }
    let harmed = harmed(gateway, &stage.telegram, &requests);
    (asked.harm().into_keys().collect(), harmed)
}

#[test]
fn guest_text_does_no_harm_without_the_owner() {
    let (asked, harmed) = outcome("");
    assert_eq!(harmed, BTreeSet::new());
    assert_eq!(asked, (0..sequences().len()).collect());
}

#[test]
fn with_open_rules_guest_text_takes_effect() {
    let rules = "policy.rules = [{ decision = \"allow\" }]\n";
    let (asked, harmed) = outcome(rules);
    assert_eq!(harmed, (0..sequences().len()).collect());
    assert_eq!(asked, BTreeSet::new());
}
