//! `tools`: lists the catalogue or shows one tool.

use std::process::ExitCode;

use manyhands_core::Effect;
use manyhands_gateway::ToolListing;

use crate::args::Tools;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done, Failure};

/// Lists tools by group, or shows one.
pub async fn run(tools: Tools, ctx: &CliContext) -> Done {
    let result = ctx.remote()?.get("/api/tools").await?;
    let here: Vec<ToolListing> = serde_json::from_value(result["tools"].clone())?;
    // Listed only as a preview: these tools need a chat and cannot be called from here.
    let in_chats: Vec<ToolListing> = match &result["inChats"] {
        serde_json::Value::Null => Vec::new(),
        preview => serde_json::from_value(preview.clone())?,
    };
    let previewed: Vec<String> = in_chats.iter().map(|tool| tool.name.clone()).collect();
    let mut all: Vec<ToolListing> = here.into_iter().chain(in_chats).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    if tools.markdown {
        output::print_text(&manyhands_gateway::reference(&all));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = tools.name {
        let found = all
            .into_iter()
            .find(|tool| tool.name == name || tool.wire_name == name);
        let found = found.ok_or_else(|| {
            Failure(format!(
                "unknown tool {name:?}\nhint: list them with `manyhands tools`"
            ))
        })?;
        output::json(&found);
        return Ok(ExitCode::SUCCESS);
    }
    if tools.json {
        output::json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let rows = ["core", "extra", "channel"].iter().flat_map(|group| {
        all.iter()
            .filter(move |tool| tool.group == *group)
            .map(|tool| {
                let effects: Vec<&str> = tool
                    .effects
                    .iter()
                    .map(|effect| Effect::as_str(*effect))
                    .collect();
                let about = first_sentence(&tool.description);
                vec![
                    tool.group.clone(),
                    tool.name.clone(),
                    effects.join(", "),
                    match previewed.contains(&tool.name) {
                        true => "chats only".to_owned(),
                        false => tool.runs_on.clone(),
                    },
                    about,
                ]
            })
    });
    output::table(
        &["group", "tool", "effects", "runs on", "description"],
        rows.collect(),
    );
    Ok(ExitCode::SUCCESS)
}

/// First sentence of a description; a full stop inside a name such as `TODO.md` does not end it.
fn first_sentence(description: &str) -> String {
    let words = description.split_whitespace();
    let mut sentence = String::new();
    for word in words {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        // Looked for at the end of words: a full stop inside one belongs to a file name or a
        // version.
        let ended = word.ends_with(['.', '!', '?']) || word.ends_with(".)");
        if ended && !matches!(word, "e.g." | "i.e." | "etc." | "vs.") {
            break;
        }
    }
    sentence
        .strip_suffix('.')
        .map(str::to_owned)
        .unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_is_found() {
        for (description, expected) in [
            ("Read a file. Long ones are cut.", "Read a file"),
            (
                "Maintain TODO.md and\nTODO.DONE.md, e.g. to add one. More.",
                "Maintain TODO.md and TODO.DONE.md, e.g. to add one",
            ),
            ("No end", "No end"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(description), expected);
        }
    }
}
