//! `channel`, `pair`, `outbox` and `inbox`: chat accounts, pairing, and undelivered messages.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use super::connection::credentials;
use crate::args::{Channel, Inbox, InboxCommand, Mode, Outbox, OutboxCommand, Pair};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Length of a message preview.
const PREVIEW: usize = 60;

/// Runs a `channel` command.
pub async fn channel(channel: Channel, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match channel {
        Channel::Status { json } => return status(&remote, json).await,
        Channel::Login {
            channel,
            account,
            mode,
            number,
            env,
        } => {
            let wanted = required(&channel, mode)?.iter().map(|name| {
                let from = env.iter().find(|(named, _)| named == name);
                (
                    (*name).to_owned(),
                    from.map(|(_, variable)| variable.clone()),
                )
            });
            // In the platform's order: piped credentials are read line by line.
            let wanted: Vec<(String, Option<String>)> = wanted.collect();
            // Before anything is read from the terminal.
            if let Some((name, _)) = env
                .iter()
                .find(|(name, _)| !wanted.iter().any(|(one, _)| one == name))
            {
                return Err(Failure(format!("{channel} has no credential named {name}")));
            }
            let mut body = json!({});
            for (name, value) in credentials(&wanted, ctx)? {
                let key = match name.as_str() {
                    // Options are named as in config.toml, the API uses camel case.
                    "app_token" => "appToken",
                    "verify_token" => "verifyToken",
                    other => other,
                };
                body[key] = json!(value);
            }
            if let Some(mode) = mode {
                body["mode"] = json!(mode.word());
            }
            if let Some(number) = number {
                body["number"] = json!(number);
            }
            let path = path(&channel, &account.name, "login");
            let done = remote.expect_post(&path, &body).await?;
            let handle = match done["handle"].as_str() {
                Some(handle) => format!(" (@{handle})"),
                None => String::new(),
            };
            output::print_line(format!(
                "{channel} is logged in as {}{handle}",
                text(&done["name"])
            ));
            output::print_note(
                "hint: send it a message, then find yourself with `manyhands pair list` and approve with --owner",
            );
        }
        Channel::Bridge { channel, account } => {
            let path = path(&channel, &account.name, "bridge");
            let made = remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!(
                "a bridge can now serve {channel}: it connects to /ws in mode `channel`, as {channel}/{}",
                account.name
            ));
            match made["token"].as_str() {
                Some(token) => output::print_line(format!("token (shown once): {token}")),
                None => output::print_line(format!(
                    "it keeps its token; `manyhands token create {channel} --role channel` creates another"
                )),
            }
        }
        Channel::Logout { channel, account } => {
            let path = path(&channel, &account.name, "logout");
            remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!("{channel} is logged out"));
        }
        Channel::Start { channel, account } => {
            let path = path(&channel, &account.name, "start");
            remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!("{channel} is started"));
        }
        Channel::Stop { channel, account } => {
            let path = path(&channel, &account.name, "stop");
            remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!("{channel} is stopped"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn path(channel: &str, account: &str, what: &str) -> String {
    format!(
        "/api/channels/{}/{}/{what}",
        segment(channel),
        segment(account)
    )
}

/// Credentials a platform requires.
fn required(channel: &str, mode: Option<Mode>) -> Result<&'static [&'static str], Failure> {
    let webhook = mode == Some(Mode::Webhook);
    Ok(match channel {
        "telegram" if webhook => &["token", "secret"],
        "telegram" | "discord" => &["token"],
        "slack" if webhook => &["token", "secret"],
        "slack" => &["token", "app_token"],
        "line" => &["token", "secret"],
        "whatsapp" => &["token", "secret", "verify_token"],
        other => {
            return Err(Failure(format!(
                "unknown channel '{other}'\nhint: choose telegram, slack, line, discord or whatsapp"
            )));
        }
    })
}

async fn status(remote: &Remote, json: bool) -> Done {
    let listed = remote.get("/api/channels").await?;
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let all = rows(&listed["channels"]);
    if all.is_empty() {
        output::print_line("no chat account yet\nhint: `manyhands channel login telegram`");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = all.iter().map(|one| {
        vec![
            text(&one["channel"]),
            text(&one["accountId"]),
            text(&one["state"]),
            text(&one["name"]),
            when(&one["lastMessageAt"]),
            text(&one["detail"]),
        ]
    });
    let columns = [
        "channel",
        "account",
        "state",
        "name",
        "last message",
        "problem",
    ];
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

fn rows(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn when(value: &Value) -> String {
    match value.as_i64() {
        Some(at) => manyhands_core::Timestamp(at).rfc3339(),
        None => text(value),
    }
}

/// Runs a `pair` command.
pub async fn pair(pair: Pair, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let path =
        |channel: &str, who: &str| format!("/api/pairs/{}/{}", segment(channel), segment(who));
    match pair {
        Pair::List { json } => return pairs(&remote, json).await,
        Pair::Approve {
            channel,
            who,
            owner,
        } => {
            let path = format!("{}/approve", path(&channel, &who));
            let done = remote
                .expect_post(&path, &json!({ "owner": owner }))
                .await?;
            let name = named(&done);
            let what = if owner {
                "is paired as the owner"
            } else {
                "is paired"
            };
            output::print_line(format!("{name} {what} on {channel}"));
        }
        Pair::Reject { channel, who } => {
            let path = format!("{}/reject", path(&channel, &who));
            let done = remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!("{} is rejected on {channel}", named(&done)));
        }
        Pair::Forget { channel, who } => {
            remote.delete(&path(&channel, &who)).await?;
            output::print_line(format!("{who} is no longer paired on {channel}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn named(done: &Value) -> String {
    match done["name"].as_str() {
        Some(name) => format!("{name} ({})", text(&done["senderId"])),
        None => text(&done["senderId"]),
    }
}

async fn pairs(remote: &Remote, json: bool) -> Done {
    let listed = remote.get("/api/pairs").await?;
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let all = rows(&listed["pairs"]);
    if all.is_empty() {
        output::print_line("no pairing requests");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = all.iter().map(|one| {
        let state = match one["owner"].as_bool() {
            Some(true) => "owner".to_owned(),
            _ => text(&one["state"]),
        };
        vec![
            text(&one["channel"]),
            text(&one["senderId"]),
            text(&one["name"]),
            state,
            text(&one["code"]),
            short(&one["message"]),
        ]
    });
    let columns = ["channel", "id", "name", "state", "code", "message"];
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

fn short(value: &Value) -> String {
    let all = text(value);
    // A table cell shows one line.
    let line = all.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(PREVIEW).collect();
    match cut.len() < all.len() {
        true => format!("{cut}…"),
        false => cut,
    }
}

/// Runs an `outbox` command.
pub async fn outbox(outbox: Outbox, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match outbox.command {
        Some(OutboxCommand::Resend { id }) => {
            let path = format!("/api/outbox/{}/resend", segment(&id));
            remote.expect_post(&path, &Value::Null).await?;
            output::print_line(format!("{id} will be resent"));
            return Ok(ExitCode::SUCCESS);
        }
        Some(OutboxCommand::Drop { id }) => {
            remote
                .delete(&format!("/api/outbox/{}", segment(&id)))
                .await?;
            output::print_line(format!("{id} was dropped"));
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let query = outbox
        .state
        .map_or(String::new(), |state| format!("?state={}", segment(&state)));
    let listed = remote.get(&format!("/api/outbox{query}")).await?;
    if outbox.json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let all = rows(&listed["messages"]);
    if all.is_empty() {
        output::print_line("no pending or undelivered messages");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = all.iter().map(|one| {
        vec![
            text(&one["id"]),
            text(&one["state"]),
            format!("{}:{}", text(&one["channel"]), text(&one["to"])),
            text(&one["attempts"]),
            short(&one["text"]),
            text(&one["error"]),
        ]
    });
    let columns = ["id", "state", "to", "attempts", "message", "problem"];
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

/// Runs an `inbox` command.
pub async fn inbox(inbox: Inbox, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    if let Some(InboxCommand::Retry { id }) = inbox.command {
        let path = format!("/api/inbox/{}/retry", segment(&id));
        remote.expect_post(&path, &Value::Null).await?;
        output::print_line(format!("retrying {id}"));
        return Ok(ExitCode::SUCCESS);
    }
    let listed = remote.get("/api/inbox").await?;
    if inbox.json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let all = rows(&listed["messages"]);
    if all.is_empty() {
        output::print_line("no failed messages");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = all.iter().map(|one| {
        vec![
            text(&one["id"]),
            format!("{}:{}", text(&one["channel"]), text(&one["chat"])),
            text(&one["name"]),
            short(&one["text"]),
            text(&one["error"]),
        ]
    });
    let columns = ["id", "from", "name", "message", "problem"];
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}
