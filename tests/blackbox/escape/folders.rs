//! Folders that the owner chose badly: in one another, or around the product's own state.

use std::path::Path;

use serde_json::json;

use super::text;
use crate::harness::{Daemon, Gateway, Home, tree, up};

/// The settings that name a folder for tools.
const SETTINGS: [&str; 3] = ["workspace_root", "file_cache_dir", "file_state_dir"];

/// Asserts that a gateway with these settings does not start, names `setting` as the reason, and changes nothing but
/// its own state, which it opens before it looks at the folders.
#[track_caller]
fn refused(setting: &str, home: Home, settings: &str) {
    let home = home.with_config(settings);
    let seen = || {
        let mut files = tree(&home.outside(""));
        files.retain(|(name, _)| !name.starts_with("home/") || name.ends_with("/config.toml"));
        files
    };
    let before = seen();
    let log = match Daemon::spawn(up(&home)).wait_until_up() {
        Err(log) => log,
        Ok(url) => panic!("{settings} is accepted: {url}"),
    };
    assert!(log.contains(setting), "{settings}: {log}");
    assert_eq!(seen(), before, "{settings}");
}

/// Output of every tool that could show a file or append to it. Tokens are masked in results, but not when they are
/// written backwards.
fn reach(gateway: &Gateway, file: &Path) -> String {
    let cmd = format!("cat {0}; rev {0}; echo evil >> {0}", text(file));
    let bash = gateway.call("bash", json!({ "cmd": cmd }));
    let argv = ["cat", text(file)];
    let shell = gateway.call("tool::shell_exec", json!({ "argv": argv }));
    let path = json!({ "path": text(file) });
    let read = gateway.call("tool::file_read", path.clone());
    let also = gateway.call("read_file", path);
    format!("{bash}{shell}{read}{also}")
}

#[test]
fn a_folder_around_the_home_is_refused() {
    for setting in SETTINGS {
        let home = Home::new();
        let settings = format!("{setting} = {:?}\n", text(&home.outside("")));
        refused(setting, home, &settings);
    }
}

#[test]
fn a_folder_beside_the_home_does_not_expose_the_home() {
    for setting in SETTINGS {
        let home = Home::new();
        let (beside, token) = (home.outside("beside"), home.path().join("owner.token"));
        let config = home.path().join("config.toml");
        let settings = format!("{setting} = {:?}\n", text(&beside));
        let gateway = Gateway::on(home.with_config(&settings));
        let shown = reach(&gateway, &token) + &reach(&gateway, &config);
        let backwards: String = gateway.owner.chars().rev().collect();
        assert!(!shown.contains(&backwards), "{setting}: the token is shown");
        let now = std::fs::read_to_string(&config).expect("the settings");
        assert_eq!(now, settings, "{setting}: the settings are changed");
        let note = beside.join("note");
        std::fs::write(&note, "canary\n").expect("a file");
        assert!(
            reach(&gateway, &note).contains("canary"),
            "the control: {setting}"
        );
    }
}

/// A program could replace a folder inside another one that it may change by a link to anywhere.
#[test]
fn a_folder_inside_the_workspace_is_refused() {
    for setting in ["file_cache_dir", "file_state_dir"] {
        let home = Home::new();
        let work = home.outside("work");
        let settings = format!(
            "workspace_root = {:?}\n{setting} = {:?}\n",
            text(&work),
            text(&work.join("inside"))
        );
        refused(setting, home, &settings);
    }
}

#[test]
fn a_folder_beside_the_workspace_cannot_be_replaced_by_a_link() {
    let home = Home::new();
    let (work, cache) = (home.outside("work"), home.outside("cache"));
    let outside = home.outside("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let secret = outside.join("secret");
    std::fs::write(&secret, "canary\n").expect("a file");
    let settings = format!(
        "workspace_root = {:?}\nfile_cache_dir = {:?}\n",
        text(&work),
        text(&cache)
    );
    let mut gateway = Gateway::on(home.with_config(&settings));
    let replace = format!(
        "rm -rf {0}; ln -s {1} {0}; ln -s {1} way",
        text(&cache),
        text(&outside)
    );
    gateway.call("bash", json!({ "cmd": replace }));
    assert!(
        work.join("way").is_symlink(),
        "the control: the program ran"
    );
    assert!(!cache.is_symlink(), "the folder was replaced");
    for when in ["at once", "after a restart"] {
        for file in [&secret, &cache.join("secret"), &work.join("way/secret")] {
            let shown = reach(&gateway, file);
            assert!(!shown.contains("canary"), "{when}: {shown}");
        }
        let now = std::fs::read_to_string(&secret).expect("the secret");
        assert_eq!(now, "canary\n", "{when}");
        gateway = gateway.restart();
    }
}
