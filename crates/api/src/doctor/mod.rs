//! Health checks, with a remedy for each problem.
//!
//! `manyhands doctor` and `GET /api/doctor` report the same findings. Checks that need no gateway
//! are in [`machine`]; the others run inside the gateway, each with its own time limit.

mod inside;
pub mod machine;

use std::time::Duration;

use manyhands_gateway::Gateway;
pub use manyhands_gateway::{Finding, State};
use manyhands_store::{Backlog, OutboxCounts};

/// How long findings are reused.
const FRESH: Duration = Duration::from_secs(2);

/// Runs all checks inside a running gateway. Concurrent callers wait for one run and share its
/// findings.
pub async fn diagnose(gateway: &Gateway) -> Vec<Finding> {
    // Held across the run, so that concurrent callers wait for it and share its findings.
    let mut last = gateway.findings.lock().await;
    let now = gateway.clock.monotonic();
    if let Some((at, found)) = &*last
        && now.saturating_sub(*at) < FRESH
    {
        return found.clone();
    }
    let found = inside::diagnose(gateway).await;
    // Counted from the end: a run may take longer than `FRESH`.
    *last = Some((gateway.clock.monotonic(), found.clone()));
    found
}

/// Status of a chat account.
#[derive(Debug, Clone)]
pub struct ChatAccount {
    /// Platform.
    pub channel: String,
    /// Account name.
    pub account: String,
    /// State, in a word.
    pub state: &'static str,
    /// What is wrong with it.
    pub detail: Option<String>,
}

/// Checks chat accounts and undelivered messages.
pub fn chats(accounts: &[ChatAccount], inbox: &Backlog, outbox: &OutboxCounts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in accounts.iter().filter(|one| one.state == "error") {
        let (channel, name) = (&one.channel, &one.account);
        let detail = one.detail.as_deref().unwrap_or("not working");
        let why = format!("{channel} {name}: {detail}");
        let remedy =
            format!("fix it, then run `manyhands channel start {channel} --account {name}`");
        findings.push(Finding::wrong("chats", why, remedy));
    }
    let OutboxCounts {
        failed, unknown, ..
    } = outbox;
    if failed + unknown > 0 {
        let why = format!("{failed} messages were not delivered, {unknown} may not have been");
        let remedy = "`manyhands outbox` shows them; resend or drop them there";
        findings.push(Finding::warning("chats", why, remedy));
    }
    if inbox.failed > 0 {
        let why = format!("{} incoming messages could not be processed", inbox.failed);
        let remedy =
            "`manyhands inbox` shows them with the reason; retry with `manyhands inbox retry`";
        findings.push(Finding::warning("chats", why, remedy));
    }
    if findings.is_empty() && !accounts.is_empty() {
        let connected = accounts.iter().filter(|one| one.state == "connected");
        let about = format!(
            "{} accounts, {} connected, {} messages queued",
            accounts.len(),
            connected.count(),
            inbox.waiting + outbox.waiting
        );
        findings.push(Finding::fine("chats", about));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_accounts_and_undelivered_messages_are_reported() {
        let account = |state| ChatAccount {
            channel: "line".to_owned(),
            account: "default".to_owned(),
            state,
            detail: Some("no token".to_owned()),
        };
        let (none, nothing) = (Backlog::default(), OutboxCounts::default());
        let fine = chats(&[account("connected")], &none, &nothing);
        let about = "1 accounts, 1 connected, 0 messages queued";
        assert_eq!(fine, [Finding::fine("chats", about)]);
        assert!(chats(&[], &none, &nothing).is_empty());
        let inbox = Backlog {
            waiting: 4,
            failed: 2,
        };
        let outbox = OutboxCounts {
            waiting: 4,
            failed: 2,
            unknown: 3,
        };
        let found = chats(&[account("error")], &inbox, &outbox);
        let whys: Vec<(&str, State)> = found
            .iter()
            .map(|one| (one.about.as_str(), one.state))
            .collect();
        assert_eq!(
            whys,
            [
                ("line default: no token", State::Wrong),
                (
                    "2 messages were not delivered, 3 may not have been",
                    State::Look
                ),
                ("2 incoming messages could not be processed", State::Look),
            ]
        );
    }
}
