//! `mcp search`: the well-known servers, and what the official registry has.

use std::process::ExitCode;

use manyhands_federation::directory::{Directory, Listing};
use serde_json::{Value, json};

use super::registry::Registry;
use crate::args::SearchServers;
use manyhands_terminal::output::{self, Done};

/// Maximum number of characters of a description in the table.
const MAX_TEXT: usize = 80;

/// Searches both.
pub async fn run(search: SearchServers) -> Done {
    let words = search.words.join(" ");
    let known = Directory::builtin().search(&words);
    // Without words, the registry would return an arbitrary page of all its servers.
    let registry = match words.is_empty() {
        true => None,
        false => Registry::new(&search.registry)?,
    };
    let (mut published, mut unavailable) = (Vec::new(), None);
    if let Some(registry) = &registry {
        match registry.search(&words).await {
            Ok(found) => published = found,
            Err(failure) => unavailable = Some(failure.0),
        }
    }
    if search.json {
        let list = |found: Vec<Value>| Value::Array(found);
        output::json(&json!({
            "servers": list(known.iter().map(|one| json!(one)).collect()),
            "registry": list(published.iter().map(published_as_json).collect()),
            "registryError": unavailable,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let rows = known.iter().map(|one| row(one, &one.name, "built-in"));
    let rows = rows.chain(published.iter().map(|one| row(one, full(one), "registry")));
    let rows: Vec<Vec<String>> = rows.collect();
    let found = !rows.is_empty();
    if found {
        output::table(&["name", "description", "runs", "needs", "list"], rows);
    }
    if let Some(why) = unavailable {
        output::print_note(format!("note: {why}"));
    }
    if !found {
        output::print_line(format!("no server found for {words:?}"));
        return Ok(ExitCode::FAILURE);
    }
    output::print_note("hint: add one with `manyhands mcp add NAME`");
    Ok(ExitCode::SUCCESS)
}

/// The name in the registry, by which it is added.
fn full(published: &Listing) -> &str {
    published
        .tags
        .first()
        .map_or(published.name.as_str(), String::as_str)
}

fn published_as_json(one: &Listing) -> Value {
    json!({ "name": full(one), "description": one.description, "homepage": one.homepage, "listing": one })
}

fn row(one: &Listing, name: &str, list: &str) -> Vec<String> {
    let runs = match (&one.url, one.command()) {
        (Some(_), _) => "URL".to_owned(),
        (None, Some((program, _))) => program.to_owned(),
        (None, None) => String::new(),
    };
    let secrets = one
        .inputs
        .iter()
        .filter(|input| input.secret && !input.optional);
    let mut needs: Vec<&str> = secrets.map(|_| "a key").take(1).collect();
    if one.oauth {
        needs.push("a login");
    }
    let text: String = one.description.chars().take(MAX_TEXT).collect();
    vec![
        name.to_owned(),
        text,
        runs,
        needs.join(", "),
        list.to_owned(),
    ]
}
