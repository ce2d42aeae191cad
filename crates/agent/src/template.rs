//! Agent templates: front matter with settings, then the system prompt.
//!
//! ```text
//! ---
//! model: anthropic/claude-sonnet-5-5
//! thinking: low
//! tools: ["gsv__*", web_search]
//! ---
//! You look things up ...
//! ```

use manyhands_core::Pattern;
use manyhands_llm::{ModelId, Thinking};
use serde::Deserialize;

use crate::skill::split;

/// Built-in templates; a file of the same name overrides one.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("coder", include_str!("templates/coder.md")),
    ("researcher", include_str!("templates/researcher.md")),
    ("reviewer", include_str!("templates/reviewer.md")),
];

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The model; defaults to that of the agent's creator.
    pub model: Option<ModelId>,
    /// Reasoning effort.
    pub thinking: Option<Thinking>,
    /// Patterns of its tools, limited to those of its creator; defaults to all.
    pub tools: Vec<Pattern>,
    /// The system prompt.
    pub prompt: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TemplateFront {
    #[serde(rename = "name")]
    _name: Option<String>,
    #[serde(rename = "description")]
    _description: Option<String>,
    model: Option<String>,
    thinking: Option<String>,
    tools: Option<Vec<Pattern>>,
}

/// Parses a template.
pub fn parse(text: &str) -> Result<Template, String> {
    let (front, body) = split(text);
    let front: TemplateFront = match front {
        Some(front) => serde_saphyr::from_str(front).map_err(|e| e.to_string())?,
        None => TemplateFront::default(),
    };
    let prompt = body.trim();
    if prompt.is_empty() {
        return Err("there is no prompt after the front matter".to_owned());
    }
    let model = front.model.map(|model| model.parse::<ModelId>());
    let thinking = front.thinking.map(|level| level.parse::<Thinking>());
    Ok(Template {
        model: model.transpose().map_err(|e| e.to_string())?,
        thinking: thinking.transpose().map_err(|e| e.to_string())?,
        tools: front.tools.unwrap_or_else(|| vec![Pattern::new("*")]),
        prompt: prompt.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_defines_model_tools_and_prompt() {
        let text = "---\nmodel: a/b\nthinking: low\ntools: [\"gsv__*\", bash]\n---\nYou look.\n";
        let template = parse(text).unwrap();
        assert_eq!(template.model, Some("a/b".parse().unwrap()));
        assert_eq!(template.thinking, Some(Thinking::Low));
        assert_eq!(
            template.tools,
            [Pattern::new("gsv__*"), Pattern::new("bash")]
        );
        assert_eq!(template.prompt, "You look.");
        let plain = parse("You look.").unwrap();
        assert_eq!((plain.model, plain.tools), (None, vec![Pattern::new("*")]));
        for (wrong, words) in [
            ("", "no prompt"),
            ("---\nmodel: x\n---\nYou.", "provider/model"),
            ("---\nthinking: hard\n---\nYou.", "thinking level"),
            ("---\nmodell: a/b\n---\nYou.", "modell"),
            ("---\ntools: all\n---\nYou.", "tools"),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(words), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn the_built_in_templates_can_be_read() {
        for (name, text) in BUILT_IN {
            assert!(parse(text).is_ok(), "{name}");
        }
    }
}
