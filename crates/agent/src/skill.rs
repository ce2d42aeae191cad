//! `SKILL.md` files: front matter with name, description and requirements, then the text.

use serde::Deserialize;
use serde_json::Value;

/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 200;

/// The metadata of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name; defaults to the folder's.
    pub name: String,
    /// Description; defaults to the first paragraph.
    pub description: String,
    /// Whether it is listed regardless of capabilities.
    pub always: bool,
    /// Capabilities that some machine must have.
    pub capabilities: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SkillFront {
    name: Option<String>,
    description: Option<String>,
    always: bool,
    metadata: Option<Value>,
}

/// Parses the skill in `folder`. Invalid front matter is ignored.
pub fn parse(folder: &str, text: &str) -> Skill {
    let (front, body) = split(text);
    // Strict: YAML 1.1 reads words such as `no` and `on` as booleans, which would break a skill of that name.
    let options = serde_saphyr::options! { strict_booleans: true };
    let front: SkillFront = front
        .and_then(|front| serde_saphyr::from_str_with_options(front, options).ok())
        .unwrap_or_default();
    let described = front.description.unwrap_or_else(|| first_paragraph(body));
    Skill {
        name: front
            .name
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| folder.to_owned()),
        description: one_line(&described),
        always: front.always,
        capabilities: front
            .metadata
            .map(|metadata| needs(&metadata))
            .unwrap_or_default(),
    }
}

/// Splits off the front matter between two lines of dashes.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else {
        return (None, text);
    };
    match rest.split_once("\n---") {
        Some((front, body)) => (
            Some(front),
            body.split_once('\n').map_or("", |(_, body)| body),
        ),
        None => (None, text),
    }
}

fn first_paragraph(body: &str) -> String {
    let lines = body.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.is_empty() || line.starts_with('#'));
    lines
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_DESCRIPTION).collect()
}

/// `requires.capabilities` under `gsv`, else `openclaw`, else `clawdbot`. Metadata may be a string of JSON with trailing
/// commas, as published skills have it.
fn needs(metadata: &Value) -> Vec<String> {
    let read;
    let metadata = match metadata {
        Value::String(text) => {
            read = serde_json::from_str(&without_trailing_commas(text)).unwrap_or_default();
            &read
        }
        other => other,
    };
    let of = ["gsv", "openclaw", "clawdbot"]
        .iter()
        .find_map(|name| metadata.get(name));
    let listed = of.and_then(|of| of["requires"]["capabilities"].as_array());
    let texts = listed.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Drops commas before closing brackets, outside of strings.
fn without_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c == '"' {
            in_string = true;
        } else if matches!(c, '}' | ']') {
            let kept = out.trim_end().trim_end_matches(',').len();
            if out.trim_end().ends_with(',') {
                out.truncate(kept);
            }
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_says_what_a_skill_is_and_needs() {
        let text = "---\nname: deploy\ndescription: Ships it\nalways: true\nmetadata: '{\"gsv\": {\"requires\": {\"capabilities\": [\"shell.exec\",],},},}'\n---\n# Deploy\n\nDo it.";
        let skill = parse("folder", text);
        assert_eq!(
            (skill.name.as_str(), skill.description.as_str()),
            ("deploy", "Ships it")
        );
        assert!(skill.always);
        assert_eq!(skill.capabilities, ["shell.exec"]);
        let nested =
            "---\nmetadata:\n  openclaw:\n    requires:\n      capabilities: [text.search]\n---\n";
        assert_eq!(parse("x", nested).capabilities, ["text.search"]);
    }

    #[test]
    fn without_front_matter_folder_and_first_paragraph_are_used() {
        let skill = parse("notes", "# Notes\n\nHow notes\nare kept.\n\nMore.");
        assert_eq!(
            (skill.name.as_str(), skill.description.as_str()),
            ("notes", "How notes are kept.")
        );
        assert!(skill.capabilities.is_empty() && !skill.always);
        let long = parse("x", &"word ".repeat(100));
        assert_eq!(long.description.chars().count(), 200);
    }

    #[test]
    fn what_cannot_be_parsed_is_left_out() {
        let skill = parse("odd", "---\nname: [1\n---\nText.");
        assert_eq!(
            (skill.name.as_str(), skill.description.as_str()),
            ("odd", "Text.")
        );
        let quoted = without_trailing_commas(r#"{"a": "x,]", "b": [1, ], }"#);
        assert_eq!(quoted, r#"{"a": "x,]", "b": [1]}"#);
    }
}
