//! Checks of this machine that need no running gateway.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use manyhands_config::ConfigFile;
use manyhands_config::models::{ModelSettings, ProviderKind};
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_guard::{Supervisor, probe, read_private, self_test};

use super::Finding;

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
    match think(models) {
        Ok(about) => Finding::fine("models", about),
        Err((why, remedy)) => Finding::wrong("models", why, remedy),
    }
}

fn think(models: &ModelSettings) -> Result<String, (String, String)> {
    let wrong = |why: String, remedy: &str| Err((why, remedy.to_owned()));
    if models.providers.is_empty() && models.default.is_none() {
        // Not a problem: tools work without any model.
        let about = "none configured, so agents cannot reply; see `manyhands models`";
        return Ok(about.to_owned());
    }
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
        check(json!({}), Ok("none configured"));
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
}
