//! `sessions`: lists and manages sessions.

use std::process::ExitCode;

use manyhands_core::AgentId;
use serde_json::{Value, json};

use super::call::segment;
use super::usage::{dollars, tokens};
use crate::args::{Sessions, SessionsCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `sessions` command.
pub async fn run(sessions: Sessions, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match sessions.command {
        None => list(&remote, sessions.json).await?,
        Some(SessionsCommand::List { json }) => list(&remote, json).await?,
        Some(SessionsCommand::Show { key, limit, json }) => {
            show(&remote, &key, limit, json).await?
        }
        Some(SessionsCommand::Search {
            query,
            agent,
            limit,
            json,
        }) => {
            search(
                &remote,
                &query,
                agent.as_ref().map(AgentId::as_str),
                limit,
                json,
            )
            .await?
        }
        Some(SessionsCommand::Reset { key }) => {
            let done = remote
                .expect_post(&path(&key, "/reset"), &json!({}))
                .await?;
            // An empty session has no archive to name.
            let count = done["archivedMessages"].as_u64().unwrap_or_default();
            output::print_line(match (count, text(&done["archivedTo"]).as_str()) {
                (0, _) | (_, "") => {
                    format!("cleared {}; it had no messages", text(&done["sessionKey"]))
                }
                (_, place) => format!(
                    "cleared {}; {} in {place}",
                    text(&done["sessionKey"]),
                    counted(count, "message archived", "messages archived")
                ),
            });
        }
        Some(SessionsCommand::Compact { key, keep }) => {
            let keep = json!({ "keep": keep });
            let done = remote.expect_post(&path(&key, "/compact"), &keep).await?;
            let (left_out, kept) = (&done["trimmedMessages"], &done["keptMessages"]);
            output::print_line(match left_out.as_u64() {
                None | Some(0) => format!("nothing to compact; {kept} in the model's context"),
                Some(_) => format!(
                    "{left_out} archived in {}; {kept} left in the model's context",
                    text(&done["archivedTo"])
                ),
            });
        }
        Some(SessionsCommand::Delete { key }) => {
            let done = remote.delete(&path(&key, "")).await?;
            output::print_line(deleted(&done));
        }
        Some(SessionsCommand::Set {
            key,
            model,
            think,
            label,
        }) => {
            let mut change = json!({});
            for (name, value) in [("model", model), ("thinkingLevel", think), ("label", label)] {
                if let Some(value) = value {
                    // An empty value resets the setting to the agent's default.
                    change[name] = if value.is_empty() {
                        Value::Null
                    } else {
                        json!(value)
                    };
                }
            }
            let done = remote.expect_post(&path(&key, "/patch"), &change).await?;
            output::print_line(about(&done["session"]));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn path(key: &str, rest: &str) -> String {
    format!("/api/sessions/{}{rest}", segment(key))
}

/// Summary of what was deleted.
fn deleted(done: &Value) -> String {
    let count = |name: &str| done[name].as_u64().unwrap_or_default();
    let mut gone = vec![counted(count("deletedMessages"), "message", "messages")];
    match count("deletedArchives") {
        0 => {}
        archives => gone.push(counted(archives, "archive", "archives")),
    }
    let mut said = format!(
        "deleted {} with {}",
        text(&done["sessionKey"]),
        gone.join(" and ")
    );
    match count("withdrawnApprovals") {
        0 => {}
        questions => said.push_str(&format!(
            "; {} cancelled",
            counted(questions, "approval request", "approval requests")
        )),
    }
    said
}

async fn list(remote: &Remote, json: bool) -> Result<(), Failure> {
    let listed = remote.get("/api/sessions?limit=500").await?;
    if json {
        output::json(&listed);
        return Ok(());
    }
    let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
    if sessions.is_empty() {
        output::print_line("no sessions yet\nhint: manyhands chat \"MESSAGE\"");
        return Ok(());
    }
    let header = [
        "session",
        "label",
        "messages",
        "tokens",
        "cost",
        "state",
        "last active",
    ];
    output::table(&header, sessions.iter().map(row).collect());
    if let Some(total) = listed["total"].as_u64()
        && total > sessions.len() as u64
    {
        output::print_note(format!("showing the latest {} of {total}", sessions.len()));
    }
    Ok(())
}

fn row(session: &Value) -> Vec<String> {
    let count = |name: &str| session[name].as_u64().unwrap_or_default();
    vec![
        text(&session["sessionKey"]),
        text(&session["label"]),
        text(&session["messages"]),
        tokens(count("inputTokens") + count("outputTokens")),
        dollars(count("costMicros")),
        if session["busy"] == true {
            "running"
        } else {
            "idle"
        }
        .to_owned(),
        text(&session["lastActiveAt"]),
    ]
}

async fn show(remote: &Remote, key: &str, limit: u32, json: bool) -> Result<(), Failure> {
    let found = remote.get(&path(key, "")).await?;
    let said = remote
        .get(&path(key, &format!("/messages?limit={limit}")))
        .await?;
    if json {
        output::json(&json!({ "session": found["session"], "messages": said["messages"] }));
        return Ok(());
    }
    output::print_line(about(&found["session"]));
    for message in said["messages"].as_array().into_iter().flatten() {
        output::print_line(format!("\n{}", spoken(message)));
    }
    Ok(())
}

async fn search(
    remote: &Remote,
    query: &str,
    agent: Option<&str>,
    limit: u32,
    json: bool,
) -> Result<(), Failure> {
    let mut path = format!("/api/memory?query={}&limit={limit}", segment(query));
    if let Some(agent) = agent {
        path.push_str(&format!("&agent={agent}"));
    }
    let found = remote.get(&path).await?;
    if json {
        output::json(&found);
        return Ok(());
    }
    let results = found["results"].as_array().cloned().unwrap_or_default();
    if results.is_empty() {
        output::print_line("no results");
    }
    for (number, result) in results.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        output::print_line(format!("{gap}{}", recalled(result)));
    }
    if found["complete"] == false {
        output::print_note("older sessions are still being indexed; retry in a moment");
    }
    Ok(())
}

/// Formats a search result: location, time and snippet.
fn recalled(result: &Value) -> String {
    let place = match result["path"].as_str() {
        Some(path) => format!("{} {path}:{}", text(&result["agent"]), result["place"]),
        None => format!(
            "{} [{}] {}",
            text(&result["sessionKey"]),
            result["place"],
            text(&result["role"])
        ),
    };
    format!(
        "{place} ({}, {})\n  {}",
        text(&result["source"]),
        text(&result["at"]),
        text(&result["snippet"])
    )
}

/// Formats a session.
fn about(session: &Value) -> String {
    let count = |name: &str| session[name].as_u64().unwrap_or_default();
    let mut lines = vec![format!(
        "{} ({})",
        text(&session["sessionKey"]),
        match session["busy"] == true {
            true => "running",
            false => "idle",
        }
    )];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<12} {value}"));
        }
    };
    let settings = &session["settings"];
    line("label", text(&session["label"]));
    line("model", text(&settings["model"]));
    line("reasoning", text(&settings["thinkingLevel"]));
    line("messages", text(&session["messages"]));
    line(
        "usage",
        format!(
            "{} in, {} out, {}",
            tokens(count("inputTokens")),
            tokens(count("outputTokens")),
            dollars(count("costMicros"))
        ),
    );
    line(
        "queued",
        match count("queued") {
            0 => String::new(),
            waiting => counted(waiting, "message", "messages"),
        },
    );
    line("last active", text(&session["lastActiveAt"]));
    lines.join("\n")
}

/// Formats a message.
fn spoken(message: &Value) -> String {
    let tools: Vec<String> = message["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    let who = match (text(&message["role"]).as_str(), tools.as_slice()) {
        (role, []) => role.to_owned(),
        ("tool", tools) => format!("result of {}", tools.join(", ")),
        (role, tools) => format!("{role} (calls {})", tools.join(", ")),
    };
    format!("[{}] {who}\n{}", message["seq"], text(&message["text"]))
        .trim_end()
        .to_owned()
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_summarised_in_a_few_lines() {
        let session = json!({
            "sessionKey": "agent:main:work", "label": "Work", "messages": 4, "busy": true, "queued": 1,
            "inputTokens": 12_345, "outputTokens": 67, "costMicros": 1_500, "lastActiveAt": "t",
            "settings": { "model": "p/m" },
        });
        let expect = "agent:main:work (running)\n  label        Work\n  model        p/m\n  messages     4\n  \
            usage        12.3k in, 67 out, $0.0015\n  queued       1 message\n  last active  t";
        assert_eq!(about(&session), expect);
    }

    #[test]
    fn deletion_reports_what_was_removed() {
        let check = |done: Value, expect: &str| assert_eq!(deleted(&done), expect);
        check(
            json!({ "sessionKey": "agent:main:work", "deletedMessages": 1, "deletedArchives": 0, "withdrawnApprovals": 0 }),
            "deleted agent:main:work with 1 message",
        );
        check(
            json!({ "sessionKey": "agent:main:work", "deletedMessages": 4, "deletedArchives": 2, "withdrawnApprovals": 1 }),
            "deleted agent:main:work with 4 messages and 2 archives; 1 approval request cancelled",
        );
    }

    #[test]
    fn a_message_says_who_and_what() {
        let check = |message: Value, expect: &str| assert_eq!(spoken(&message), expect);
        check(
            json!({ "seq": 0, "role": "user", "text": "hi" }),
            "[0] user\nhi",
        );
        check(
            json!({ "seq": 1, "role": "assistant", "text": "", "tools": ["bash"] }),
            "[1] assistant (calls bash)",
        );
        check(
            json!({ "seq": 2, "role": "tool", "text": "ok", "tools": ["bash"] }),
            "[2] result of bash\nok",
        );
    }
}
