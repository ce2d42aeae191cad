//! A file of a workspace is written over a socket only as whoever writes it has seen it.

use std::thread;

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::socket::Socket;

fn write(socket: &mut Socket, path: &str, content: &str, seen: &str) -> Value {
    socket.request(
        "workspace.write",
        json!({ "path": path, "content": content, "ifVersion": seen }),
    )
}

fn version(socket: &mut Socket, path: &str) -> String {
    let read = socket.request("workspace.read", json!({ "path": path }));
    let version = read["payload"]["version"].as_str();
    version.unwrap_or_else(|| panic!("{read}")).to_owned()
}

#[track_caller]
fn refused(said: &Value, words: &str) {
    assert_eq!(said["error"]["code"], 409, "{said}");
    let message = said["error"]["message"].as_str().expect("a message");
    assert!(message.contains(words), "{words:?} in {message:?}");
}

#[test]
fn a_new_file_never_takes_the_place_of_one_that_is_there() {
    let gateway = Gateway::start();
    let mut socket = gateway.ws();
    gateway.write("notes/a.md", "thoughts");
    refused(&write(&mut socket, "notes/a.md", "", ""), "already exists");
    assert_eq!(gateway.read("notes/a.md").as_deref(), Some("thoughts"));
    let made = write(&mut socket, "notes/b.md", "", "");
    assert_eq!(made["payload"]["written"], true, "{made}");
    assert_eq!(gateway.read("notes/b.md").as_deref(), Some(""));
}

#[test]
fn what_changed_or_went_since_it_was_read_is_not_written_over() {
    let gateway = Gateway::start();
    let mut socket = gateway.ws();
    gateway.write("a.md", "one");
    let seen = version(&mut socket, "a.md");
    gateway.write("a.md", "two");
    let said = write(&mut socket, "a.md", "mine", &seen);
    refused(&said, "changed since it was read");
    assert_eq!(gateway.read("a.md").as_deref(), Some("two"));

    // What was written tells its version, and the same text is the same version.
    let seen = version(&mut socket, "a.md");
    let kept = write(&mut socket, "a.md", "mine", &seen);
    let kept = kept["payload"]["version"].as_str().expect("a version");
    assert_eq!(kept, version(&mut socket, "a.md"));
    gateway.write("a.md", "mine");
    let again = write(&mut socket, "a.md", "mine again", kept);
    assert_eq!(again["ok"], true, "{again}");

    let seen = version(&mut socket, "a.md");
    gateway.call("gsv__DeleteFile", json!({ "path": "a.md" }));
    let said = write(&mut socket, "a.md", "back", &seen);
    refused(&said, "was deleted since it was read");
    assert_eq!(gateway.read("a.md"), None);
    assert_eq!(write(&mut socket, "a.md", "back", "")["ok"], true);

    // Who names no version writes as ever.
    let said = socket.request(
        "workspace.write",
        json!({ "path": "a.md", "content": "over" }),
    );
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(gateway.read("a.md").as_deref(), Some("over"));
}

#[test]
fn a_global_skill_that_was_read_becomes_a_copy_and_only_once() {
    let gateway = Gateway::start();
    let mut socket = gateway.ws();
    let shared = gateway.home.blob("skills/tea/SKILL.md");
    std::fs::create_dir_all(shared.parent().expect("a folder")).expect("made");
    std::fs::write(&shared, "boil").expect("written");
    let path = "skills/tea/SKILL.md";
    let seen = version(&mut socket, path);
    assert_eq!(write(&mut socket, path, "boil well", &seen)["ok"], true);
    let said = write(&mut socket, path, "brew", &seen);
    refused(&said, "changed since it was read");
    assert_eq!(gateway.read(path).as_deref(), Some("boil well"));
    assert_eq!(std::fs::read_to_string(&shared).expect("read"), "boil");
}

#[test]
fn a_text_that_was_told_in_part_cannot_be_kept_over_the_whole() {
    let gateway = Gateway::start();
    let mut socket = gateway.ws();
    let long = "a line of many\n".repeat(100_000);
    gateway.write("long.md", &long);
    let read = socket.request("workspace.read", json!({ "path": "long.md" }));
    let told = read["payload"]["content"].as_str().expect("a text");
    assert!(told.len() < long.len(), "it is cut");
    let seen = read["payload"]["version"].as_str().expect("a version");
    refused(&write(&mut socket, "long.md", told, seen), "changed");
    let on_disk = std::fs::read(gateway.home.blob("agents/main/long.md")).expect("read");
    assert_eq!(on_disk.len(), long.len());
}

#[test]
fn of_many_who_saw_the_same_text_one_writes() {
    let gateway = Gateway::start();
    gateway.write("a.md", "seen by all");
    let seen = version(&mut gateway.ws(), "a.md");
    let won: Vec<bool> = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let (mut socket, seen) = (gateway.ws(), seen.clone());
                scope.spawn(move || {
                    let said = write(&mut socket, "a.md", &format!("writer {number}"), &seen);
                    assert!(said["ok"] == true || said["error"]["code"] == 409, "{said}");
                    said["ok"] == true
                })
            })
            .collect();
        let joined = writers.into_iter().map(|writer| writer.join());
        joined.map(|done| done.expect("no panic")).collect()
    });
    let winners: Vec<usize> = (0..8).filter(|at| won[*at]).collect();
    assert_eq!(winners.len(), 1, "{won:?}");
    let expect = format!("writer {}", winners[0]);
    assert_eq!(gateway.read("a.md"), Some(expect));
}
