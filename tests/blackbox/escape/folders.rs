//! Folders that the owner chose badly: in one another, or around the product's own state.

use std::path::Path;

use serde_json::json;

use super::text;
use crate::harness::{Daemon, Gateway, Home, up};

/// Starts on these settings; `None` where that is refused, as it may be.
fn start(home: Home, settings: &str) -> Option<Gateway> {
    let home = home.with_config(settings);
    let mut trial = Daemon::spawn(up(&home));
    let up = trial.wait_until_up();
    drop(trial);
    match up {
        Ok(_) => Some(Gateway::on(home)),
        Err(log) => {
            let named = ["workspace_root", "file_cache_dir", "file_state_dir"];
            assert!(named.iter().any(|name| log.contains(name)), "{log}");
            None
        }
    }
}

/// What both shells show of a file, or change in it. A token is cut out of results; backwards
/// it does not look like one.
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
fn a_workspace_around_the_home_does_not_give_the_home_away() {
    for setting in ["workspace_root", "file_cache_dir", "file_state_dir"] {
        let home = Home::new();
        let (around, token) = (home.outside(""), home.path().join("owner.token"));
        let config = home.path().join("config.toml");
        let settings = format!("{setting} = {:?}\n", text(&around));
        let Some(gateway) = start(home, &settings) else {
            continue;
        };
        let told = reach(&gateway, &token) + &reach(&gateway, &config);
        let backwards: String = gateway.owner.chars().rev().collect();
        assert!(!told.contains(&backwards), "{setting}: the token is told");
        let now = std::fs::read_to_string(&config).expect("the settings");
        assert_eq!(now, settings, "{setting}: the settings are changed");
    }
}

/// A folder inside another that programs may change can be swapped for a link.
#[test]
fn a_folder_inside_the_workspace_cannot_be_turned_into_a_way_out() {
    let home = Home::new();
    let (work, outside) = (home.outside("work"), home.outside("outside"));
    std::fs::create_dir(&outside).expect("a folder");
    let secret = outside.join("secret");
    std::fs::write(&secret, "canary\n").expect("a file");
    let cache = work.join("cache");
    let settings = format!(
        "workspace_root = {:?}\nfile_cache_dir = {:?}\n",
        text(&work),
        text(&cache)
    );
    let Some(gateway) = start(home, &settings) else {
        return;
    };
    let turn = format!("rm -rf cache && ln -s {} cache", text(&outside));
    gateway.call("bash", json!({ "cmd": turn }));
    let told = reach(&gateway, &secret) + &reach(&gateway, &cache.join("secret"));
    assert!(!told.contains("canary"), "{told}");
    assert_eq!(
        std::fs::read_to_string(&secret).expect("the secret"),
        "canary\n"
    );
    let gateway = gateway.restart();
    let told = reach(&gateway, &secret);
    assert!(!told.contains("canary"), "after a restart: {told}");
    assert_eq!(
        std::fs::read_to_string(&secret).expect("the secret"),
        "canary\n"
    );
}
