//! kill -9 in the middle of writing, again and again.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually, tree};
use crate::http::{Connection, PATIENCE, Request};

const ROUNDS: usize = 18;
const WRITERS: usize = 6;

fn content(name: &str) -> String {
    format!("{name} ").repeat(500)
}

/// Writes one file after another until the gateway is gone; tells each acknowledgement.
fn write_until_gone(
    to: SocketAddr,
    owner: &str,
    round: usize,
    writer: usize,
    told: &Sender<String>,
) {
    let Ok(mut connection) = Connection::open(to) else {
        return;
    };
    for number in 0.. {
        let name = format!("r{round}/w{writer}-{number}.md");
        let arguments = json!({ "path": name, "content": content(&name) });
        let request = Request::post("/api/tools/gsv__WriteFile", &arguments).bearer(owner);
        match connection.send(&request) {
            Ok(response) => {
                assert_eq!(response.status, 200, "{}", response.text());
                let _ = told.send(name);
            }
            Err(_) => return,
        }
    }
}

/// One life: writers run, some writes are acknowledged, and it is killed.
fn live_and_die(gateway: Gateway, round: usize, acknowledged: &mut Vec<String>) -> Home {
    let (told, heard) = channel();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (told, owner, to) = (told.clone(), gateway.owner.clone(), gateway.addr);
            std::thread::spawn(move || write_until_gone(to, &owner, round, writer, &told))
        })
        .collect();
    drop(told);
    // Each life ends at another moment.
    for _ in 0..=(round * 3) {
        acknowledged.push(heard.recv_timeout(PATIENCE).expect("an acknowledgement"));
    }
    let home = gateway.kill9();
    acknowledged.extend(heard.iter());
    for writer in writers {
        writer.join().expect("a writer");
    }
    home
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_half_written() {
    let mut home = Home::new();
    let mut acknowledged = Vec::new();
    let mut interrupted = 0;
    for round in 0..ROUNDS {
        home = live_and_die(Gateway::on(home), round, &mut acknowledged);
        let gateway = Gateway::on(home);
        gateway.verify_audit();
        check_files(&gateway, &acknowledged);
        interrupted += check_audit(&gateway, round);
        home = gateway.kill9();
    }
    assert!(
        acknowledged.len() > ROUNDS * 10,
        "{} writes were acknowledged",
        acknowledged.len()
    );
    assert!(
        interrupted > 0,
        "some calls were cut off, and are on record"
    );
    let gateway = Gateway::on(home);
    eventually("half-written files are swept", || {
        !tree(&gateway.home.blob(""))
            .iter()
            .any(|(name, _)| name.contains(".mh-tmp-"))
    });
}

/// Every acknowledged file is there, and every file that is there is whole.
fn check_files(gateway: &Gateway, acknowledged: &[String]) {
    let files: BTreeMap<String, Vec<u8>> = tree(&gateway.home.blob("agents/main"))
        .into_iter()
        .collect();
    for name in acknowledged {
        let found = files
            .get(name)
            .unwrap_or_else(|| panic!("{name} was acknowledged and is gone"));
        assert!(
            *found == content(name).as_bytes(),
            "{name} is not what was written"
        );
    }
    for (name, bytes) in &files {
        let temporary = name.contains(".mh-tmp-") || name.ends_with('/');
        assert!(
            temporary || *bytes == content(name).as_bytes(),
            "{name} is half written"
        );
    }
    let last = acknowledged.last().expect("a name");
    assert_eq!(gateway.read(last), Some(content(last)));
}

/// How many calls of this round were cut off; each has exactly one start and one end.
fn check_audit(gateway: &Gateway, round: usize) -> usize {
    let mut ends: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let of_round = format!("\"r{round}/");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for entry in gateway.audit() {
        let ours = entry["tool"] == "gsv__WriteFile"
            && entry["summary"]
                .as_str()
                .is_some_and(|s| s.contains(&of_round));
        if ours {
            ends.entry(text(&entry["call"]))
                .or_default()
                .push((text(&entry["kind"]), text(&entry["code"])));
        }
    }
    let mut interrupted = 0;
    for (call, entries) in &ends {
        assert_eq!(entries.len(), 2, "{call}: {entries:?}");
        assert_eq!(
            (entries[0].0.as_str(), entries[1].0.as_str()),
            ("finished", "started"),
            "{call}"
        );
        interrupted += usize::from(entries[0].1 == "interrupted");
    }
    interrupted
}

#[test]
fn a_file_that_is_overwritten_again_and_again_is_always_whole() {
    let mut home = Home::new();
    let mut floor = 0;
    for _ in 0..6 {
        let gateway = Gateway::on(home);
        let (to, owner) = (gateway.addr, gateway.owner.clone());
        let (told, heard) = channel();
        let from = floor + 1;
        let writer = std::thread::spawn(move || {
            let mut connection = Connection::open(to).expect("a connection");
            for version in from.. {
                let arguments =
                    json!({ "path": "one.md", "content": version.to_string().repeat(3_000) });
                let request = Request::post("/api/tools/gsv__WriteFile", &arguments).bearer(&owner);
                match connection.send(&request) {
                    Ok(response) if response.status == 200 => {
                        let _ = told.send(version);
                    }
                    _ => return,
                }
            }
        });
        for _ in 0..7 {
            floor = heard.recv_timeout(PATIENCE).expect("an acknowledgement");
        }
        home = gateway.kill9();
        floor = heard.iter().last().unwrap_or(floor);
        writer.join().expect("the writer");
        let text = std::fs::read_to_string(home.blob("agents/main/one.md")).expect("the file");
        let fits = [floor, floor + 1]
            .into_iter()
            .find(|version: &i32| text == version.to_string().repeat(3_000));
        floor = fits.unwrap_or_else(|| panic!("neither version {floor} nor the next"));
    }
}
