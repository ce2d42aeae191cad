//! `doctor`: what is in order, and what to do where it is not.

use std::process::ExitCode;

use manyhands_api::doctor::{Finding, State, chats, machine};
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_store::{HomeLock, StoreError};

use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::own_node::OwnNode;

/// Looks at everything; ends with 1 when something is wrong.
pub async fn run(ground: &Ground) -> Done {
    let mut findings = match HomeLock::holder(&ground.home) {
        Some(holder) => match asked(ground).await {
            Ok(found) => {
                let mut findings = vec![Finding::fine("gateway", format!("{holder}"))];
                findings.extend(found);
                findings
            }
            Err(failure) => {
                let mut findings = around(ground);
                findings.push(Finding::wrong(
                    "gateway",
                    format!("{holder} does not answer: {}", failure.0),
                    "look at its log; restart it",
                ));
                findings.extend(machine::sandbox().await);
                findings
            }
        },
        None => {
            let mut findings = around(ground);
            findings.extend(kept(ground).await);
            findings.extend(machine::sandbox().await);
            findings
        }
    };
    findings.extend(own_node(ground));
    let mut wrong = 0;
    for finding in &findings {
        let what = &finding.what;
        let word = match finding.state {
            State::Ok => "ok",
            State::Look => "look",
            State::Wrong => "WRONG",
        };
        wrong += usize::from(finding.state == State::Wrong);
        output::say(format!("{word:<6} {what:<10} {}", finding.about));
        if let Some(remedy) = &finding.remedy {
            output::say(format!("       {:<10} do: {remedy}", ""));
        }
    }
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A running gateway looks itself.
async fn asked(ground: &Ground) -> Result<Vec<Finding>, Failure> {
    let mut found = ground.remote()?.get("/api/doctor").await?;
    serde_json::from_value(found["findings"].take())
        .map_err(|error| Failure(format!("what it says cannot be read: {error}")))
}

/// What can be seen of the home from outside.
fn around(ground: &Ground) -> Vec<Finding> {
    let home = &ground.home;
    let settings = ground.config().load().map(|(settings, _)| settings);
    let limits = settings.as_ref().map(|settings| settings.limits.clone());
    let mut findings = vec![
        machine::home(home),
        machine::settings(&ground.config()),
        machine::owner_token(home),
        machine::space(home, limits.unwrap_or_default().min_free_bytes),
    ];
    // Wrong settings are reported already.
    if let Ok(settings) = settings {
        findings.push(machine::models(&settings.models));
    }
    findings
}

/// Without a gateway its store is opened and looked at.
async fn kept(ground: &Ground) -> Vec<Finding> {
    if !ground.home.join(OWNER_TOKEN_FILE).exists() {
        return vec![Finding::fine("gateway", "not started yet: `manyhands up`")];
    }
    look(ground).await.unwrap_or_else(|error| {
        vec![Finding::wrong(
            "gateway",
            error.to_string(),
            "follow the message, or bring a backup back with `manyhands restore`",
        )]
    })
}

/// Opens the store, and counts the nodes on record and the messages that are not done.
async fn look(ground: &Ground) -> Result<Vec<Finding>, StoreError> {
    let (_lock, store) = ground.store().await?;
    let nodes = store.nodes().list().await;
    let (heard, said) = (store.chats().backlog().await, store.chats().lost().await);
    store.close().await?;
    let mut findings = vec![
        Finding::fine("gateway", "not running; its store opens"),
        Finding::fine("nodes", format!("{} on record", nodes?.len())),
    ];
    findings.extend(chats(&[], &heard?, &said?));
    Ok(findings)
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
