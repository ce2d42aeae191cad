//! Options that OpenAI's models accept, and what both of OpenAI's formats share.

use serde_json::Value;

use crate::model::OfferedModel;
use crate::request::Thinking;

/// A model class, derived from the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gpt {
    /// `o1`, `o3` and `o4`.
    O,
    /// `gpt-5` and later, version times ten.
    Five(u32),
    /// Models without reasoning: `gpt-4o`, `gpt-4.1`.
    Plain,
    /// Other vendors' models.
    Other,
}

impl Gpt {
    pub(super) fn of(model: &str) -> Self {
        let name = model
            .rsplit('/')
            .next()
            .unwrap_or(model)
            .to_ascii_lowercase();
        if let Some(rest) = name.strip_prefix("gpt-") {
            let number: String = rest
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            let mut parts = number
                .split('.')
                .map(|part| part.parse::<u32>().unwrap_or(0));
            let version = parts.next().unwrap_or(0) * 10 + parts.next().unwrap_or(0).min(9);
            return match version {
                0 => Self::Other,
                50.. => Self::Five(version),
                _ => Self::Plain,
            };
        }
        let o = name.strip_prefix('o').unwrap_or("");
        if o.starts_with(['1', '3', '4']) && matches!(o.as_bytes().get(1), None | Some(b'-')) {
            return Self::O;
        }
        Self::Other
    }

    /// Reasons, and so accepts no temperature and counts thoughts as output.
    pub(super) fn is_reasoning_model(self) -> bool {
        matches!(self, Self::O | Self::Five(_))
    }

    /// The effort for `level`; `None` to omit the field.
    pub(super) fn effort(self, level: Option<Thinking>) -> Option<&'static str> {
        let level = level?;
        Some(match (self, level) {
            (Self::Plain, _) | (Self::Other, Thinking::None) => return None,
            (Self::Five(50), Thinking::None | Thinking::Minimal) => "minimal",
            (Self::Five(51..), Thinking::None) => "none",
            (Self::Five(52..), Thinking::Xhigh) => "xhigh",
            (_, Thinking::None | Thinking::Minimal | Thinking::Low) => "low",
            (_, Thinking::Medium) => "medium",
            (_, Thinking::High | Thinking::Xhigh) => "high",
        })
    }
}

/// Parses a model list: `{"data": [{"id": …}]}` of OpenAI and Anthropic, or Ollama's
/// `{"models": [{"name": …}]}`.
pub(super) fn read_list(list: &Value) -> Option<Vec<OfferedModel>> {
    let entries = list["data"]
        .as_array()
        .or_else(|| list["models"].as_array())?;
    let read = |entry: &Value| {
        let name = entry["id"].as_str().or_else(|| entry["name"].as_str())?;
        Some(OfferedModel {
            model: name.to_owned(),
            title: entry["display_name"].as_str().map(str::to_owned),
            context_tokens: ["context_length", "max_input_tokens", "context_window"]
                .iter()
                .find_map(|field| entry[field].as_u64())
                .or_else(|| entry["meta"]["n_ctx_train"].as_u64()),
        })
    };
    Some(entries.iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_gets_its_own_thinking_options() {
        use Thinking::{High, Low, Minimal, None, Xhigh};
        for (model, level, effort) in [
            ("gpt-4o", High, Option::None),
            ("gpt-5", None, Some("minimal")),
            ("gpt-5-mini", Xhigh, Some("high")),
            ("gpt-5.1", None, Some("none")),
            ("gpt-5.1", Minimal, Some("low")),
            ("gpt-5.6-sol", Xhigh, Some("xhigh")),
            ("openai/gpt-5.5", Xhigh, Some("xhigh")),
            ("o3", None, Some("low")),
            ("o4-mini", High, Some("high")),
            ("qwen3", None, Option::None),
            ("gpt-oss-120b", Low, Some("low")),
        ] {
            assert_eq!(
                Gpt::of(model).effort(Some(level)),
                effort,
                "{model} {level}"
            );
        }
        assert_eq!(Gpt::of("gpt-5.5").effort(Option::None), Option::None);
        assert_eq!(Gpt::of("olmo"), Gpt::Other);
        assert_eq!(Gpt::of("gpt-6.1-sol"), Gpt::Five(61));
    }
}
