//! What is in order, and what to do where it is not.
//!
//! The same findings are told by `manyhands doctor` and `GET /api/doctor`. What can be looked at without
//! a gateway is in [`machine`]; the rest is asked of the one that runs, and each look has its own time.

mod inside;
pub mod machine;

use std::time::Duration;

use manyhands_gateway::Gateway;
pub use manyhands_gateway::{Finding, State};
use manyhands_store::{Backlog, OutboxCounts};

/// How long findings are good: who asks again within it is told the same.
const FRESH: Duration = Duration::from_secs(2);

/// Everything that can be asked inside a running gateway. Who comes while somebody else's look goes
/// on waits for it and is told the same.
pub async fn look(gateway: &Gateway) -> Vec<Finding> {
    let mut last = gateway.findings.lock().await;
    let now = gateway.clock.monotonic();
    if let Some((at, found)) = &*last
        && now.saturating_sub(*at) < FRESH
    {
        return found.clone();
    }
    let found = inside::look(gateway).await;
    *last = Some((gateway.clock.monotonic(), found.clone()));
    found
}

/// How an account on a chat platform stands.
#[derive(Debug, Clone)]
pub struct Account {
    /// The platform.
    pub channel: String,
    /// The account's name.
    pub account: String,
    /// How it stands, in a word.
    pub state: &'static str,
    /// What is wrong with it.
    pub detail: Option<String>,
}

/// How the accounts on chat platforms stand, and what did not arrive.
pub fn chats(accounts: &[Account], heard: &Backlog, said: &OutboxCounts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in accounts.iter().filter(|one| one.state == "error") {
        let (channel, name) = (&one.channel, &one.account);
        let detail = one.detail.as_deref().unwrap_or("it does not work");
        let why = format!("{channel} {name}: {detail}");
        let remedy =
            format!("mend that, then `manyhands channel start {channel} --account {name}`");
        findings.push(Finding::wrong("chats", why, remedy));
    }
    let OutboxCounts {
        failed, unknown, ..
    } = said;
    if failed + unknown > 0 {
        let why = format!("{failed} messages did not arrive, and {unknown} may not have");
        let remedy = "`manyhands outbox` shows them; send them again or drop them there";
        findings.push(Finding::look("chats", why, remedy));
    }
    if heard.failed > 0 {
        let why = format!(
            "{} messages were heard and could not be worked on",
            heard.failed
        );
        let remedy = "`manyhands inbox` shows them and why; `manyhands inbox retry` tries again";
        findings.push(Finding::look("chats", why, remedy));
    }
    if findings.is_empty() && !accounts.is_empty() {
        let connected = accounts.iter().filter(|one| one.state == "connected");
        let about = format!(
            "{} accounts, {} connected, {} messages wait",
            accounts.len(),
            connected.count(),
            heard.waiting + said.waiting
        );
        findings.push(Finding::fine("chats", about));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_do_not_hear_and_messages_that_were_lost_are_found() {
        let account = |state| Account {
            channel: "line".to_owned(),
            account: "default".to_owned(),
            state,
            detail: Some("no token".to_owned()),
        };
        let (none, nothing) = (Backlog::default(), OutboxCounts::default());
        let fine = chats(&[account("connected")], &none, &nothing);
        let about = "1 accounts, 1 connected, 0 messages wait";
        assert_eq!(fine, [Finding::fine("chats", about)]);
        assert!(chats(&[], &none, &nothing).is_empty());
        let heard = Backlog {
            waiting: 4,
            failed: 2,
        };
        let said = OutboxCounts {
            waiting: 4,
            failed: 2,
            unknown: 3,
        };
        let found = chats(&[account("error")], &heard, &said);
        let whys: Vec<(&str, State)> = found
            .iter()
            .map(|one| (one.about.as_str(), one.state))
            .collect();
        assert_eq!(
            whys,
            [
                ("line default: no token", State::Wrong),
                ("2 messages did not arrive, and 3 may not have", State::Look),
                (
                    "2 messages were heard and could not be worked on",
                    State::Look
                ),
            ]
        );
    }
}
