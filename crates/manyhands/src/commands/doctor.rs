//! `doctor`: what is in order, and what to do where it is not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use manyhands_config::models::{ModelSettings, ProviderKind};
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_guard::{Supervisor, probe, read_private, self_test};
use manyhands_store::{HomeLock, StoreError};
use serde_json::{Value, json};

use crate::ground::Ground;
use crate::output::{self, Done};
use crate::own_node::OwnNode;

/// Less room than this and writes will soon fail.
const LOW_SPACE: u64 = 256 * 1024 * 1024;

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    outcome: Result<String, (String, String)>,
    /// Whether it keeps nothing from working, though somebody should look at it.
    mild: bool,
}

impl Finding {
    fn fine(what: &'static str, about: impl Into<String>) -> Self {
        Self {
            what,
            outcome: Ok(about.into()),
            mild: false,
        }
    }

    fn wrong(what: &'static str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what,
            outcome: Err((why.into(), remedy.into())),
            mild: false,
        }
    }

    fn mild(what: &'static str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            mild: true,
            ..Self::wrong(what, why, remedy)
        }
    }
}

/// Looks at everything; ends with 1 when something is wrong.
pub async fn run(ground: &Ground) -> Done {
    let mut findings = vec![home(&ground.home), settings(ground), owner_token(ground)];
    findings.push(space(&ground.home));
    findings.extend(gateway(ground).await);
    findings.extend(models(ground));
    findings.extend(own_node(ground));
    findings.extend(sandbox().await);
    let mut wrong = 0;
    for finding in &findings {
        match &finding.outcome {
            Ok(about) => output::say(format!("ok     {:<10} {about}", finding.what)),
            Err((why, remedy)) => {
                let word = if finding.mild { "look" } else { "WRONG" };
                wrong += usize::from(!finding.mild);
                output::say(format!(
                    "{word:<6} {:<10} {why}\n       {:<10} do: {remedy}",
                    finding.what, ""
                ));
            }
        }
    }
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn home(home: &Path) -> Finding {
    match std::fs::metadata(home) {
        Ok(found) if !found.is_dir() => Finding::wrong(
            "home",
            format!("{} is not a directory", home.display()),
            "choose another with MANYHANDS_HOME",
        ),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => Finding::wrong(
            "home",
            format!("others can look into {}", home.display()),
            format!("chmod 700 {}", home.display()),
        ),
        Ok(_) => Finding::fine("home", home.display().to_string()),
        Err(_) => Finding::fine(
            "home",
            format!("{} is made by the first `manyhands up`", home.display()),
        ),
    }
}

fn settings(ground: &Ground) -> Finding {
    match ground.config().load() {
        Ok(_) => Finding::fine("settings", ground.config().path().display().to_string()),
        Err(error) => Finding::wrong(
            "settings",
            error.to_string(),
            "mend the lines named above; `manyhands config check` looks again",
        ),
    }
}

fn owner_token(ground: &Ground) -> Finding {
    let file = ground.home.join(OWNER_TOKEN_FILE);
    if !file.exists() {
        return Finding::fine(
            "token",
            "the owner's token is made by the first `manyhands up`",
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

fn space(home: &Path) -> Finding {
    let there = home
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(there) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let about = format!("{} MiB free", free / (1024 * 1024));
            if free < LOW_SPACE {
                Finding::wrong(
                    "space",
                    about,
                    "free some space: writes fail when it runs out",
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

/// A running gateway is asked; without one its store is opened and looked at.
async fn gateway(ground: &Ground) -> Vec<Finding> {
    if let Some(holder) = HomeLock::holder(&ground.home) {
        let asked = match ground.remote() {
            Ok(remote) => match remote.get("/api/nodes").await {
                Ok(nodes) => remote
                    .get("/api/channels")
                    .await
                    .map(|chats| (nodes, chats)),
                Err(failure) => Err(failure),
            },
            Err(failure) => Err(failure),
        };
        return match asked {
            Ok((listed, of_chats)) => {
                let mut findings = vec![
                    Finding::fine("gateway", format!("{holder}")),
                    nodes(&listed),
                ];
                findings.extend(chats(&of_chats));
                findings
            }
            Err(failure) => vec![Finding::wrong(
                "gateway",
                format!("{holder} does not answer: {}", failure.0),
                "look at its log; restart it",
            )],
        };
    }
    if !ground.home.join(OWNER_TOKEN_FILE).exists() {
        return vec![Finding::fine("gateway", "not started yet: `manyhands up`")];
    }
    match look(ground).await {
        Ok((on_record, of_chats)) => {
            let mut findings = vec![
                Finding::fine("gateway", "not running; its store opens"),
                Finding::fine("nodes", format!("{on_record} on record")),
            ];
            findings.extend(chats(&of_chats));
            findings
        }
        Err(error) => vec![Finding::wrong(
            "gateway",
            error.to_string(),
            "follow the message, or bring a backup back with `manyhands restore`",
        )],
    }
}

/// Opens the store, and counts the nodes on record and the messages that are not done.
async fn look(ground: &Ground) -> Result<(usize, Value), StoreError> {
    let (_lock, store) = ground.store().await?;
    let nodes = store.nodes().list().await;
    let (heard, said) = (store.chats().backlog().await, store.chats().lost().await);
    store.close().await?;
    let (heard, said) = (heard?, said?);
    let of_chats = json!({
        "inbox": { "waiting": heard.waiting, "failed": heard.failed },
        "outbox": { "waiting": said.waiting, "failed": said.failed, "unknown": said.unknown },
    });
    Ok((nodes?.len(), of_chats))
}

/// How the accounts on chat platforms stand, and what did not arrive.
fn chats(listed: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let accounts = listed["channels"].as_array();
    let accounts = accounts.map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for account in accounts.iter().filter(|one| one["state"] == "error") {
        let (channel, name) = (text(&account["channel"]), text(&account["accountId"]));
        let why = format!("{channel} {name}: {}", text(&account["detail"]));
        let remedy =
            format!("mend that, then `manyhands channel start {channel} --account {name}`");
        findings.push(Finding::wrong("chats", why, remedy));
    }
    let count = |of: &str, state: &str| listed[of][state].as_u64().unwrap_or(0);
    let (failed, unknown) = (count("outbox", "failed"), count("outbox", "unknown"));
    if failed + unknown > 0 {
        let why = format!("{failed} messages did not arrive, and {unknown} may not have");
        let remedy = "`manyhands outbox` shows them; send them again or drop them there";
        findings.push(Finding::mild("chats", why, remedy));
    }
    let unheard = count("inbox", "failed");
    if unheard > 0 {
        let why = format!("{unheard} messages were heard and could not be worked on");
        let remedy = "`manyhands inbox` shows them and why; `manyhands inbox retry` tries again";
        findings.push(Finding::mild("chats", why, remedy));
    }
    if findings.is_empty() && !accounts.is_empty() {
        let connected = accounts.iter().filter(|one| one["state"] == "connected");
        let waiting = count("inbox", "waiting") + count("outbox", "waiting");
        let about = format!(
            "{} accounts, {} connected, {waiting} messages wait",
            accounts.len(),
            connected.count()
        );
        findings.push(Finding::fine("chats", about));
    }
    findings
}

fn nodes(listed: &Value) -> Finding {
    let nodes = listed["nodes"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let online = nodes.iter().filter(|node| node["online"] == true).count();
    Finding::fine(
        "nodes",
        format!("{} on record, {online} online", nodes.len()),
    )
}

/// Whether the settings lead to a model; wrong settings are told of elsewhere.
fn models(ground: &Ground) -> Option<Finding> {
    let (settings, _) = ground.config().load().ok()?;
    Some(match think(&settings.models) {
        Ok(about) => Finding::fine("models", about),
        Err((why, remedy)) => Finding::wrong("models", why, remedy),
    })
}

fn think(models: &ModelSettings) -> Result<String, (String, String)> {
    let wrong = |why: String, remedy: &str| Err((why, remedy.to_owned()));
    if models.providers.is_empty() && models.default.is_none() {
        let about = "none is configured, so nobody can be talked to; `manyhands models` says how";
        return Ok(about.to_owned());
    }
    let Some(default) = &models.default else {
        let remedy =
            "set models.default in config.toml, as provider/model; `manyhands models` lists them";
        return wrong("none is the default".to_owned(), remedy);
    };
    let name = default.split('/').next().unwrap_or_default();
    let Some(provider) = models.providers.get(name) else {
        let why = format!("the default is {default}, and there is no provider {name:?}");
        return wrong(why, "add it under [models.providers] in config.toml");
    };
    if let Some(script) = &provider.script
        && !script.is_file()
    {
        let why = format!("{name} replays {}, which is not there", script.display());
        return wrong(why, "mend models.providers in config.toml");
    }
    let keyless = provider.api_key.is_none() && provider.base_url.is_none();
    if keyless && provider.kind != ProviderKind::Scripted {
        let why = format!("the default is {default}, and {name} has no key");
        let remedy = format!(
            "set models.providers.{name}.api_key = \"vault:{name}\" in config.toml, and store it: printf %s \"$KEY\" | manyhands secret set {name}"
        );
        return Err((why, remedy));
    }
    let scripted = match provider.kind {
        ProviderKind::Scripted => "; it replays a file, no model is asked",
        _ => "",
    };
    Ok(format!(
        "{default}{scripted}; `manyhands models test` asks it"
    ))
}

/// How this machine is lent by the settings; wrong settings are told of elsewhere.
fn own_node(ground: &Ground) -> Option<Finding> {
    let (settings, _) = ground.config().load().ok()?;
    if !settings.node.enabled {
        let about = "this machine is not lent: node.enabled = false";
        return Some(Finding::fine("own node", about));
    }
    Some(match OwnNode::of(&settings, ground) {
        Ok(own) => {
            let mut about = format!("{} ({})", own.id, own.lending);
            if let Some(warning) = own.warning() {
                about.push_str(&format!("; {warning}"));
            }
            Finding::fine("own node", about)
        }
        Err(failure) => Finding::wrong(
            "own node",
            failure.0,
            "mend [node] in config.toml, or start with `manyhands up --no-node`",
        ),
    })
}

async fn sandbox() -> Vec<Finding> {
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
        Ok(test) if test.contained() => Finding::fine(
            "sandbox",
            format!("Landlock {abi} and seccomp hold a program that tries to get out"),
        ),
        Ok(test) => Finding::wrong(
            "sandbox",
            format!("a program got out: {test:?}"),
            "do not let agents run programs on this machine; please report it",
        ),
        Err(error) => Finding::wrong(
            "sandbox",
            error.to_string(),
            "programs cannot be run in the sandbox on this machine",
        ),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_do_not_hear_and_messages_that_were_lost_are_found() {
        let none = json!({ "waiting": 0, "failed": 0, "unknown": 0 });
        let account = |state: &str| json!({ "channel": "line", "accountId": "default", "state": state, "detail": "no token" });
        let listed = |state: &str, inbox: &Value, outbox: &Value| json!({ "channels": [account(state)], "inbox": inbox, "outbox": outbox });
        let fine = chats(&listed("connected", &none, &none));
        assert_eq!(fine.len(), 1);
        let about = fine[0].outcome.as_ref().expect("all is well");
        assert_eq!(about, "1 accounts, 1 connected, 0 messages wait");
        assert!(chats(&json!({ "channels": [], "inbox": none, "outbox": none })).is_empty());
        let lost = json!({ "waiting": 4, "failed": 2, "unknown": 3 });
        let found = chats(&listed("error", &lost, &lost));
        let whys: Vec<(&str, bool)> = found
            .iter()
            .map(|one| {
                (
                    one.outcome.as_ref().expect_err("wrong").0.as_str(),
                    one.mild,
                )
            })
            .collect();
        assert_eq!(
            whys,
            [
                ("line default: no token", false),
                ("2 messages did not arrive, and 3 may not have", true),
                ("2 messages were heard and could not be worked on", true),
            ]
        );
    }

    #[test]
    fn what_keeps_a_model_from_answering_is_found() {
        let check = |models: Value, expect: Result<&str, &str>| {
            let settings = serde_json::from_value(models.clone()).expect("settings");
            match (think(&settings), expect) {
                (Ok(about), Ok(start)) => assert!(about.starts_with(start), "{about}"),
                (Err((why, _)), Err(start)) => assert!(why.starts_with(start), "{why}"),
                (other, _) => panic!("{models}: {other:?}"),
            }
        };
        let keyed = json!({ "kind": "anthropic", "api_key": "vault:a" });
        check(json!({}), Ok("none is configured"));
        check(
            json!({ "providers": { "a": keyed } }),
            Err("none is the default"),
        );
        check(
            json!({ "default": "a/m", "providers": { "a": keyed } }),
            Ok("a/m"),
        );
        check(
            json!({ "default": "b/m", "providers": { "a": keyed } }),
            Err("the default is b/m, and there is no provider"),
        );
        check(
            json!({ "default": "a/m", "providers": { "a": { "kind": "anthropic" } } }),
            Err("the default is a/m, and a has no key"),
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
