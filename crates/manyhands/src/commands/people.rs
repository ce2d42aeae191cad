//! `todo` and `contacts`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use crate::args::{Contacts, ContactsCommand, Todo, TodoCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// The tool that changes to-dos.
const TOOL: &str = "/api/tools/todo_update";

/// Lists, adds or completes to-dos.
pub async fn todo(todo: Todo, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match todo.command {
        None => list(&remote, false, todo.json).await?,
        Some(TodoCommand::List { done, json }) => list(&remote, done, json).await?,
        Some(TodoCommand::Add {
            content,
            people,
            chat,
            repeat,
            next,
            tz,
        }) => {
            // Without a person the item concerns whoever runs the command.
            let people = match people.is_empty() {
                true => vec!["$SPEAKER".to_owned()],
                false => people,
            };
            let mut item = json!({ "action": "add", "content": content, "people": people });
            if repeat.is_some() {
                item["action"] = json!("add_recurring");
            }
            let more = [
                ("chat_id", chat),
                ("repeat", repeat),
                ("next", next),
                ("tz", tz),
            ];
            for (key, value) in more.into_iter().filter_map(|(k, v)| Some((k, v?))) {
                item[key] = json!(value);
            }
            print_change(&remote.expect_post(TOOL, &item).await?);
        }
        Some(TodoCommand::Done { item }) => {
            let item = json!({ "action": "complete", "content": item });
            print_change(&remote.expect_post(TOOL, &item).await?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the result of a change.
fn print_change(result: &Value) {
    let (entry, counts) = (&result["entry"], &result["updated_counts"]);
    output::print_line(format!(
        "{} {}; {} open, {} done",
        text(&entry["id"]),
        text(&entry["content"]),
        counts["open_count"],
        counts["done_count"]
    ));
    for removed in result["removed"].as_array().into_iter().flatten() {
        let (id, content) = (text(&removed["id"]), text(&removed["content"]));
        output::print_note(format!("removed duplicate: {id} {content}"));
    }
    for warning in result["warnings"].as_array().into_iter().flatten() {
        output::print_note(format!("warning: {}", text(warning)));
    }
}

async fn list(remote: &Remote, done: bool, json: bool) -> Result<(), Failure> {
    // Completed items are only of interest when asked for; the list grows forever.
    let most = if done { 10_000 } else { 0 };
    let listed = remote.get(&format!("/api/todos?done={most}")).await?;
    if json {
        output::json(&listed);
        return Ok(());
    }
    let mut rows = Vec::new();
    for (kind, when) in [
        ("open", "created_at"),
        ("recurring", "next"),
        ("done", "done_at"),
    ] {
        for item in listed[kind].as_array().into_iter().flatten() {
            let repeat = &item["repeat"];
            let state = if kind == "recurring" {
                text(repeat)
            } else {
                kind.to_owned()
            };
            rows.push(vec![
                text(&item["id"]),
                state,
                text(&item[when]),
                text(&item["content"]),
            ]);
        }
    }
    if rows.is_empty() {
        output::print_line("no to-dos\nhint: manyhands todo add \"TEXT\"");
        return Ok(());
    }
    output::table(&["id", "state", "time", "item"], rows);
    Ok(())
}

/// Lists contacts, or shows one.
pub async fn contacts(contacts: Contacts, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let json = match contacts.command {
        None => contacts.json,
        Some(ContactsCommand::List { json }) => json,
        Some(ContactsCommand::Show { contact }) => {
            let path = format!("/api/contacts/{}", segment(&contact));
            output::json(&remote.get(&path).await?["contact"]);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let listed = remote.get("/api/contacts").await?;
    if json {
        output::json(&listed["contacts"]);
        return Ok(ExitCode::SUCCESS);
    }
    let all = listed["contacts"].as_array().cloned().unwrap_or_default();
    if all.is_empty() {
        output::print_line(
            "no contacts\nhint: they are created by the first messages, or read from file_state_dir/contacts/ACTIVE.md",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let row = |one: &Value| {
        let state = if one["active"] == true {
            "active"
        } else {
            "inactive"
        };
        let mut row = vec![text(&one["contact_id"]), text(&one["nickname"])];
        row.extend([text(&one["channel"]), state.to_owned()]);
        row.push(text(&one["last_interaction_at"]));
        row
    };
    let header = ["contact", "name", "channel", "state", "last interaction"];
    output::table(&header, all.iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}
