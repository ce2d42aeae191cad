//! Checks of this machine that need no running gateway.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use manyhands_config::models::{ModelSettings, ProviderKind};
use manyhands_config::{ConfigFile, Settings};
use manyhands_core::Timestamp;
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_guard::{Supervisor, probe, read_private, self_test};

use manyhands_store::last_backup;

use super::Finding;

/// Files of a home that contain secrets, besides the owner's token.
const SECRET_FILES: [&str; 4] = [
    "vault.key",
    "manyhands.db",
    "manyhands.db-wal",
    "service.env",
];
/// After how long a backup is old: 30 days.
const OLD_BACKUP_MS: i64 = 30 * 86_400_000;

/// Checks the home folder.
pub fn home(home: &Path) -> Finding {
    match std::fs::metadata(home) {
        Ok(found) if !found.is_dir() => Finding::wrong(
            "home",
            format!("{} is not a directory", home.display()),
            "choose another folder with MANYHANDS_HOME",
        ),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => Finding::wrong(
            "home",
            format!("other users can read {}", home.display()),
            format!("chmod 700 {}", home.display()),
        ),
        Ok(_) => Finding::fine("home", home.display().to_string()),
        Err(_) => Finding::fine(
            "home",
            format!(
                "{} will be created by the first `manyhands up`",
                home.display()
            ),
        ),
    }
}

/// Checks the settings file.
pub fn settings(file: &ConfigFile) -> Finding {
    match file.load() {
        Ok(_) => Finding::fine("settings", file.path().display().to_string()),
        Err(error) => Finding::wrong(
            "settings",
            error.to_string(),
            "fix the lines named above, then run `manyhands config check`",
        ),
    }
}

/// Checks the owner's token file.
pub fn owner_token(home: &Path) -> Finding {
    let file = home.join(OWNER_TOKEN_FILE);
    if !file.exists() {
        return Finding::fine(
            "token",
            "the owner's token will be created by the first `manyhands up`",
        );
    }
    match read_private(&file) {
        Ok(_) => Finding::fine("token", file.display().to_string()),
        Err(error) => Finding::wrong(
            "token",
            error.to_string(),
            format!("chmod 600 {}", file.display()),
        ),
    }
}

/// Checks that only the owner can read the vault's key and the database.
pub fn secret_files(home: &Path) -> Vec<Finding> {
    let open = SECRET_FILES
        .iter()
        .map(|name| home.join(name))
        .filter(|file| {
            let mode = std::fs::metadata(file).map(|found| found.permissions().mode());
            mode.is_ok_and(|mode| mode & 0o077 != 0)
        });
    open.map(|file| {
        Finding::wrong(
            "files",
            format!("other users can read {}", file.display()),
            format!("chmod 600 {} (or `manyhands doctor --fix`)", file.display()),
        )
    })
    .collect()
}

/// Checks that there is a recent backup of a home that has something to lose.
pub fn backups(home: &Path, now: Timestamp) -> Option<Finding> {
    if !home.join(OWNER_TOKEN_FILE).exists() {
        return None;
    }
    let remedy = "manyhands backup FILE, with FILE on another disk; for example once a week";
    Some(match last_backup(home) {
        None => Finding::warning("backup", "no backup was ever made", remedy),
        Some(last) if now.0 - last.at.0 > OLD_BACKUP_MS => Finding::warning(
            "backup",
            format!("the last backup is from {}", last.at.rfc3339()),
            remedy,
        ),
        Some(last) => Finding::fine(
            "backup",
            format!("{} to {}", last.at.rfc3339(), last.file.display()),
        ),
    })
}

/// Checks that the gateway is started again after a logout or reboot.
pub fn service(is_service: bool) -> Finding {
    let is_container = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|file| Path::new(file).exists());
    match (is_service, is_container) {
        (true, _) => Finding::fine("service", "the gateway is a service"),
        (false, true) => Finding::fine(
            "service",
            "in a container, whose runtime has to restart the gateway",
        ),
        (false, false) => Finding::warning(
            "service",
            "the gateway is not a service: nothing starts it after a logout or reboot",
            "manyhands install",
        ),
    }
}

/// Checks the address in the settings of a gateway that does not run.
pub fn listen(settings: &Settings) -> Finding {
    let listen = &settings.listen;
    let host = listen
        .rsplit_once(':')
        .map_or(listen.as_str(), |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost",
    };
    if is_local || settings.tls.is_some() {
        return Finding::fine("listening", format!("on {listen}, when it runs"));
    }
    let remedy = "set tls.cert and tls.key, or listen on 127.0.0.1 behind a TLS reverse proxy";
    match settings.insecure_remote {
        true => Finding::warning(
            "listening",
            format!("on {listen}, when it runs: connections are unencrypted, tokens included"),
            remedy,
        ),
        false => Finding::wrong(
            "listening",
            format!(
                "{listen} can be reached from other machines without TLS, so the gateway refuses to start"
            ),
            remedy,
        ),
    }
}

/// Checks free disk space; below `least` bytes only the owner may write.
pub fn space(home: &Path, least: u64) -> Finding {
    // Before the first start the home does not exist, but its disk does.
    let there = home
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(there) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let about = format!("{} MiB free", free / (1024 * 1024));
            if free < least {
                let least = least / (1024 * 1024);
                Finding::wrong(
                    "space",
                    format!(
                        "{about}, less than the {least} MiB of limits.min_free_bytes: only the owner can write"
                    ),
                    "free some space: all writes fail when it runs out",
                )
            } else {
                Finding::fine("space", about)
            }
        }
        Err(error) => Finding::wrong(
            "space",
            format!("{}: {error}", there.display()),
            "check the disk",
        ),
    }
}

/// Checks that the settings lead to a usable model.
pub fn models(models: &ModelSettings) -> Finding {
    if models.providers.is_empty() && models.default.is_none() {
        return Finding::warning(
            "models",
            "none configured, so agents cannot reply",
            "manyhands models add anthropic (or openai, google, ollama, …)",
        );
    }
    match think(models) {
        Ok(about) => Finding::fine("models", about),
        Err((why, remedy)) => Finding::wrong("models", why, remedy),
    }
}

fn think(models: &ModelSettings) -> Result<String, (String, String)> {
    let wrong = |why: String, remedy: &str| Err((why, remedy.to_owned()));
    let Some(default) = &models.default else {
        let remedy =
            "set models.default in config.toml, as provider/model; `manyhands models` lists them";
        return wrong("no default model".to_owned(), remedy);
    };
    let name = default.split('/').next().unwrap_or_default();
    let Some(provider) = models.providers.get(name) else {
        let why = format!("the default is {default}, but there is no provider {name:?}");
        return wrong(why, "add it under [models.providers] in config.toml");
    };
    if let Some(script) = &provider.script
        && !script.is_file()
    {
        let why = format!("{name} replays {}, which does not exist", script.display());
        return wrong(why, "fix models.providers in config.toml");
    }
    // With a base_url of its own a provider may be local and need no key.
    let keyless = provider.api_key.is_none() && provider.base_url.is_none();
    if keyless && provider.kind != ProviderKind::Scripted {
        let why = format!("the default is {default}, but {name} has no API key");
        let remedy = format!(
            "set models.providers.{name}.api_key = \"vault:{name}\" in config.toml, and store it: printf %s \"$KEY\" | manyhands secret set {name}"
        );
        return Err((why, remedy));
    }
    let scripted = match provider.kind {
        ProviderKind::Scripted => "; replays a file, no model is called",
        _ => "",
    };
    Ok(format!(
        "{default}{scripted}; `manyhands models test` tests it"
    ))
}

/// Checks that the sandbox confines programs, by trying to escape from it.
pub async fn sandbox() -> Vec<Finding> {
    let offered = probe();
    if !offered.problems.is_empty() {
        return offered
            .problems
            .into_iter()
            .map(|problem| Finding::wrong("sandbox", problem.what, problem.remedy))
            .collect();
    }
    let abi = offered.landlock_abi.unwrap_or_default();
    vec![match self_test(&Supervisor::new(1)).await {
        Ok(test) if test.contained() => {
            let limited = match test.modes {
                true => "",
                false => {
                    "; this kernel or container offers no seccomp listener, so programs cannot change modes, \
                     owners or times of their files, and git, tar and others may fail"
                }
            };
            Finding::fine(
                "sandbox",
                format!(
                    "Landlock {abi} and seccomp confine a program that tries to escape{limited}"
                ),
            )
        }
        Ok(test) => Finding::wrong(
            "sandbox",
            format!("a program escaped: {test:?}"),
            "do not let agents run programs on this machine; please report it",
        ),
        Err(error) => Finding::wrong(
            "sandbox",
            error.to_string(),
            "the sandbox cannot run programs on this machine",
        ),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_gateway::State;
    use serde_json::{Value, json};

    #[test]
    fn problems_that_keep_a_model_from_answering_are_reported() {
        let check = |models: Value, expect: Result<&str, &str>| {
            let settings = serde_json::from_value(models.clone()).expect("settings");
            match (think(&settings), expect) {
                (Ok(about), Ok(start)) => assert!(about.starts_with(start), "{about}"),
                (Err((why, _)), Err(start)) => assert!(why.starts_with(start), "{why}"),
                (other, _) => panic!("{models}: {other:?}"),
            }
        };
        let keyed = json!({ "kind": "anthropic", "api_key": "vault:a" });
        let none = models(&ModelSettings::default());
        assert_eq!(none.state, State::Look, "{none:?}");
        check(
            json!({ "providers": { "a": keyed } }),
            Err("no default model"),
        );
        check(
            json!({ "default": "a/m", "providers": { "a": keyed } }),
            Ok("a/m"),
        );
        check(
            json!({ "default": "b/m", "providers": { "a": keyed } }),
            Err("the default is b/m, but there is no provider"),
        );
        check(
            json!({ "default": "a/m", "providers": { "a": { "kind": "anthropic" } } }),
            Err("the default is a/m, but a has no API key"),
        );
        let here = json!({ "kind": "openai", "base_url": "http://127.0.0.1:11434/v1" });
        check(
            json!({ "default": "o/m", "providers": { "o": here } }),
            Ok("o/m"),
        );
        let script = json!({ "kind": "scripted", "script": "/nowhere/at.yaml" });
        check(
            json!({ "default": "scripted/m", "providers": { "scripted": script } }),
            Err("scripted replays"),
        );
    }

    #[test]
    fn a_backup_is_missed_once_there_is_something_to_lose() {
        let home = tempfile::tempdir().unwrap();
        let now = Timestamp(OLD_BACKUP_MS * 3);
        assert_eq!(backups(home.path(), now), None);
        std::fs::write(home.path().join(OWNER_TOKEN_FILE), "x").unwrap();
        let state = || backups(home.path(), now).map(|found| found.state);
        assert_eq!(state(), Some(State::Look));
        for (at, expect) in [
            (now.0 - 5, State::Ok),
            (now.0 - OLD_BACKUP_MS - 1, State::Look),
        ] {
            let record = json!({ "at": at, "file": "/b" }).to_string();
            std::fs::write(home.path().join("last-backup.json"), record).unwrap();
            assert_eq!(state(), Some(expect));
        }
    }

    #[test]
    fn an_open_address_is_found_before_the_gateway_runs() {
        for (listen, insecure, state) in [
            ("127.0.0.1:7717", false, State::Ok),
            ("[::1]:7717", false, State::Ok),
            ("localhost:7717", false, State::Ok),
            ("0.0.0.0:7717", true, State::Look),
            ("0.0.0.0:7717", false, State::Wrong),
        ] {
            let settings = Settings {
                listen: listen.to_owned(),
                insecure_remote: insecure,
                ..Settings::default()
            };
            assert_eq!(super::listen(&settings).state, state, "{listen}");
        }
    }
}
