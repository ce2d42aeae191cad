//! An upgrade that is killed at any step: the next `upgrade`, and the next start of the gateway, find a whole home.

use std::path::Path;

use serde_json::json;

use super::releases::scripted;
use super::{DESTROYS, Desk};
use crate::harness::{eventually, run};
use crate::service::stage::link;

/// What goes on after the interruption.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// Somebody repeats `manyhands upgrade`.
    Upgrade,
    /// The machine is restarted, and with it the service.
    Reboot,
}

/// Where an upgrade to a version that works is killed, and the version that is there afterwards: 0 for the old one.
const KILLS: [(&str, &str, u8); 7] = [
    ("by the new program", "--version", 0),
    ("by the new program", "migrate", 0),
    ("before", "stop", 0),
    ("after", "stop", 0),
    ("before", "start", 9),
    ("after", "start", 9),
    ("by the new program", "up", 9),
];

/// Goes on after an interruption.
#[track_caller]
fn go_on(desk: &Desk, then: Then) {
    match then {
        Then::Upgrade => {
            // Not the program that is being replaced: it may be either version.
            let tool = desk.stage.path("tools/manyhands");
            link(Path::new(crate::harness::BINARY), &tool);
            run(desk.stage.command_of(&tool, &["upgrade"]), "").ok();
        }
        Then::Reboot => {
            desk.stage.kill_gateway();
            let start = || {
                let mut command = desk.stage.home.wrap(std::process::Command::new(
                    desk.stage.path("tools/systemctl"),
                ));
                command.args(["--user", "start", "manyhands.service"]);
                run(command, "").ok();
            };
            start();
            eventually("it is ready", || {
                // As `Restart=` does.
                if desk.stage.pid().is_none() {
                    start();
                }
                desk.stage.is_ready()
            });
        }
    }
}

fn killed(when: &str, what: &str, expect: u8, then: Then) {
    let desk = Desk::new();
    let script = match when {
        "by the new program" => format!(
            "if [ \"$1\" = {what} ] && [ ! -e \"{0}\" ]; then touch \"{0}\"; kill -9 $(cat \"{1}\"); fi",
            desk.stage.path("state/killed").display(),
            desk.stage.path("state/upgrade").display(),
        ),
        _ => {
            desk.stage.kill_at(when, what);
            String::new()
        }
    };
    let archive = scripted(&desk.stage, "9.9.9", &script)
        .display()
        .to_string();
    let mut command = desk
        .stage
        .command(&["upgrade", &archive, "--allow-unsigned", "--yes"]);
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null());
    let mut upgrade = command.spawn().expect("an upgrade");
    std::fs::write(desk.stage.path("state/upgrade"), upgrade.id().to_string()).expect("a note");
    let ended = upgrade.wait().expect("its end");
    let at = format!("{when} {what}, then {then:?}");
    assert_eq!(ended.code(), None, "killed {at}");
    go_on(&desk, then);
    let version = if expect == 9 {
        "9.9.9"
    } else {
        env!("CARGO_PKG_VERSION")
    };
    assert_eq!(desk.version(), version, "{at}");
    eventually(&at, || {
        !desk.stage.home.path().join("upgrade.json").exists()
    });
    desk.assert_whole("kept");
    if expect == 0 {
        let done = desk.upgrade(Path::new(&archive));
        assert_eq!(done.code, Some(0), "{at}, again: {done:?}");
    }
}

#[test]
fn an_upgrade_that_is_killed_is_finished_or_undone_by_the_next() {
    for (when, what, expect) in KILLS {
        killed(when, what, expect, Then::Upgrade);
    }
}

#[test]
fn an_upgrade_that_is_killed_is_finished_or_undone_by_the_next_start() {
    for (when, what, expect) in KILLS {
        killed(when, what, expect, Then::Reboot);
    }
}

/// A desk whose upgrade to a version that destroys the home was killed when the old version was to be started again.
fn destroyed() -> Desk {
    let desk = Desk::new();
    // Only once: the version that failed is what the next start finds.
    let once = desk.stage.path("state/destroyed");
    let script = format!(
        "if [ \"$1\" = up ] && [ ! -e \"{0}\" ]; then\ntouch \"{0}\" \"{1}\"\n{DESTROYS}\nfi",
        once.display(),
        desk.stage.path("state/kill-before-stop").display()
    );
    let ran = desk.upgrade(&scripted(&desk.stage, "8.8.8", &script));
    assert_eq!(ran.code, None, "killed while it goes back: {ran:?}");
    let journal = std::fs::read_to_string(desk.stage.home.path().join("upgrade.json"));
    assert!(journal.expect("the journal").contains("rolling-back"));
    desk
}

#[test]
fn going_back_is_continued_by_the_next_upgrade_or_start() {
    for then in [Then::Upgrade, Then::Reboot] {
        let desk = destroyed();
        go_on(&desk, then);
        assert_eq!(desk.version(), env!("CARGO_PKG_VERSION"), "{then:?}");
        desk.assert_whole("kept");
    }
}

#[test]
fn an_exchange_that_was_cut_in_the_middle_is_finished_or_undone() {
    for then in [Then::Upgrade, Then::Reboot] {
        for swapped in [false, true] {
            let desk = Desk::new();
            // As it is left between the backup and the start.
            desk.stage.kill_at("after", "stop");
            let archive = scripted(&desk.stage, "9.9.9", "");
            assert_eq!(desk.upgrade(&archive).code, None);
            let file = desk.stage.home.path().join("upgrade.json");
            let text = std::fs::read_to_string(&file).expect("the journal");
            let mut journal: serde_json::Value = serde_json::from_str(&text).expect("a journal");
            journal["step"] = json!("swapping");
            std::fs::write(&file, journal.to_string()).expect("the journal");
            let program = desk.stage.program();
            link(&program, &desk.stage.path("bin/manyhands.previous"));
            if swapped {
                std::fs::rename(desk.stage.path("bin/manyhands.new"), &program).expect("a rename");
            }
            go_on(&desk, then);
            let version = if swapped {
                "9.9.9"
            } else {
                env!("CARGO_PKG_VERSION")
            };
            assert_eq!(desk.version(), version, "{then:?}");
            eventually("no journal", || !file.exists());
            desk.assert_whole("kept");
        }
    }
}

#[test]
fn no_gateway_starts_while_an_upgrade_exchanges_the_programs() {
    let desk = Desk::new();
    desk.stage.kill_at("after", "stop");
    let archive = scripted(&desk.stage, "9.9.9", "");
    assert_eq!(desk.upgrade(&archive).code, None);
    let lock = std::fs::File::open(desk.stage.home.path().join("upgrade.lock")).expect("the lock");
    lock.lock().expect("the lock");
    let ran = desk.stage.cli(&["up", "--no-node"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is being upgraded from"), "{ran:?}");
    let found = desk.stage.cli(&["doctor"]).stdout;
    assert!(found.contains("an upgrade to 9.9.9 is running"), "{found}");
    drop(lock);
    let found = desk.stage.cli(&["doctor"]).stdout;
    assert!(
        found.contains("WARN   upgrade    an upgrade from"),
        "{found}"
    );
    let fixed = desk.stage.cli(&["doctor", "--fix"]).stdout;
    assert!(
        fixed.contains("fixed  upgrade    removed what the interrupted upgrade to 9.9.9 had left"),
        "{fixed}"
    );
    desk.stage.cli(&["start"]).ok();
    desk.assert_whole("kept");
}
