//! Options that Claude models accept. The rules changed with almost every version; other models
//! behind the same format get the oldest and plainest form.

use serde_json::{Value, json};

use crate::request::Thinking;

/// Capabilities of a model, derived from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claude {
    family: Family,
    /// Major times ten plus minor; 0 if not Claude.
    version: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Sonnet,
    Haiku,
    Opus,
    /// Fable and Mythos, which always think.
    Deep,
    Other,
}

/// Minimum thinking budget in tokens.
const MIN_BUDGET: u32 = 1_024;

/// Conditions that affect thinking.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// A tool call is forced, which excludes thinking.
    pub(super) forced: bool,
    /// The reply being continued has no thoughts of this model, which the older form requires.
    pub(super) resumed: bool,
    /// Maximum output tokens.
    pub(super) max_output: u32,
}

/// Thinking options of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThinkingConfig {
    /// The field `thinking`.
    pub(super) thinking: Option<Value>,
    /// The field `output_config.effort`.
    pub(super) effort: Option<&'static str>,
}

impl Claude {
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.to_ascii_lowercase().replace(['.', '@', ':'], "-");
        let other = Self {
            family: Family::Other,
            version: 0,
        };
        let Some((_, rest)) = name.split_once("claude-") else {
            return other;
        };
        let mut family = Family::Other;
        // A date suffix is longer than any version number.
        let mut numbers = Vec::new();
        for part in rest.split('-') {
            match (part, part.parse::<u32>()) {
                ("sonnet", _) => family = Family::Sonnet,
                ("haiku", _) => family = Family::Haiku,
                ("opus", _) => family = Family::Opus,
                ("fable" | "mythos", _) => family = Family::Deep,
                (_, Ok(number)) if part.len() <= 2 => numbers.push(number),
                _ => {}
            }
        }
        let major = numbers.first().copied().unwrap_or(0);
        let minor = numbers.get(1).copied().unwrap_or(0).min(9);
        Self {
            family,
            version: major * 10 + minor,
        }
    }

    /// Supports adaptive thinking, controlled by effort.
    fn adaptive(self) -> bool {
        self.version >= 46
    }

    /// Thinking cannot be disabled.
    fn thinking_is_always_on(self) -> bool {
        self.family == Family::Deep || (self.family == Family::Opus && self.version >= 55)
    }

    /// Rejects a forced tool call.
    pub(super) fn refuses_force(self) -> bool {
        let newest = self.version >= 55 && self.family != Family::Haiku;
        newest || (self.family == Family::Deep && self.version >= 51)
    }

    /// Accepts a temperature.
    pub(super) fn takes_temperature(self) -> bool {
        let later = match self.family {
            Family::Opus | Family::Deep => self.version >= 47,
            _ => self.version >= 50,
        };
        !later
    }

    /// Supports structured output.
    pub(super) fn structured(self) -> bool {
        self.version >= 45
    }

    /// The options for `level`.
    pub(super) fn thinking_config(self, level: Option<Thinking>, case: Case) -> ThinkingConfig {
        let quiet = ThinkingConfig {
            thinking: None,
            effort: None,
        };
        let Some(level) = level else {
            return quiet;
        };
        if self.adaptive() {
            return self.adaptive_thinking(level, case.forced);
        }
        let able = self.version == 0 || self.version >= 37;
        if level == Thinking::None || case.forced || case.resumed || !able {
            return quiet;
        }
        let budget = match level {
            Thinking::None | Thinking::Minimal => MIN_BUDGET,
            Thinking::Low => 4_096,
            Thinking::Medium => 10_000,
            Thinking::High => 20_000,
            Thinking::Xhigh => 32_000,
        };
        // Thinking counts as output: leave a quarter for the answer.
        let budget = budget.min(case.max_output / 4 * 3);
        if budget < MIN_BUDGET {
            return quiet;
        }
        ThinkingConfig {
            thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })),
            effort: None,
        }
    }

    fn adaptive_thinking(self, level: Thinking, forced: bool) -> ThinkingConfig {
        let effort = match level {
            Thinking::None | Thinking::Minimal | Thinking::Low => "low",
            Thinking::Medium => "medium",
            Thinking::High => "high",
            Thinking::Xhigh if self.version >= 47 => "xhigh",
            Thinking::Xhigh => "max",
        };
        let off = (level == Thinking::None || (forced && !self.refuses_force()))
            && !self.thinking_is_always_on();
        let thinking = if !off {
            let mut thinking = json!({ "type": "adaptive" });
            if self.version >= 47 {
                // Otherwise the thoughts are returned empty.
                thinking["display"] = json!("summarized");
            }
            Some(thinking)
        } else if self.family == Family::Sonnet && self.version >= 55 {
            Some(json!({ "type": "between_tools" }))
        } else if self.version >= 50 {
            Some(json!({ "type": "disabled" }))
        } else {
            None
        };
        // Without thinking, effort above high is rejected.
        let effort = match effort {
            "xhigh" | "max" if off => "high",
            effort => effort,
        };
        ThinkingConfig {
            thinking,
            effort: Some(effort),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_every_spelling() {
        for (model, family, version) in [
            ("claude-opus-5-5", Family::Opus, 55),
            ("claude-opus-5", Family::Opus, 50),
            ("anthropic/claude-sonnet-4.5", Family::Sonnet, 45),
            ("claude-sonnet-4-20250514", Family::Sonnet, 40),
            ("claude-3-7-sonnet-20250219", Family::Sonnet, 37),
            ("claude-haiku-4-5@20251001", Family::Haiku, 45),
            ("claude-fable-5-1", Family::Deep, 51),
            ("glm-5", Family::Other, 0),
        ] {
            assert_eq!(Claude::of(model), Claude { family, version }, "{model}");
        }
    }

    const CASE: Case = Case {
        forced: false,
        resumed: false,
        max_output: 100_000,
    };

    #[test]
    fn each_version_is_asked_in_the_form_it_takes() {
        let target = |model: &str, level: Thinking| {
            let thought = Claude::of(model).thinking_config(Some(level), CASE);
            let thinking = thought.thinking.unwrap_or_default();
            let kind = thinking["type"].as_str().unwrap_or("").to_owned();
            let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
            (kind, thought.effort.unwrap_or(""), budget)
        };
        use Thinking::{High, Low, Minimal, None, Xhigh};
        for (model, level, kind, effort, budget) in [
            ("claude-sonnet-4-5", High, "enabled", "", 20_000),
            ("claude-sonnet-4-5", None, "", "", 0),
            ("claude-3-5-sonnet", High, "", "", 0),
            ("claude-opus-4-6", Xhigh, "adaptive", "max", 0),
            ("claude-opus-4-6", None, "", "low", 0),
            ("claude-opus-4-8", Xhigh, "adaptive", "xhigh", 0),
            ("claude-opus-5", None, "disabled", "low", 0),
            ("claude-opus-5-5", None, "adaptive", "low", 0),
            ("claude-sonnet-5-5", None, "between_tools", "low", 0),
            ("claude-haiku-5-5", None, "disabled", "low", 0),
            ("claude-fable-5-1", Minimal, "adaptive", "low", 0),
            ("kimi-k3", Low, "enabled", "", 4_096),
        ] {
            assert_eq!(
                target(model, level),
                (kind.to_owned(), effort, budget),
                "{model} {level}"
            );
        }
        let unsaid = Claude::of("claude-opus-5-5").thinking_config(Option::None, CASE);
        assert_eq!(
            (unsaid.thinking, unsaid.effort),
            (Option::None, Option::None)
        );
        let force = Case {
            forced: true,
            ..CASE
        };
        let forced = Claude::of("claude-opus-5").thinking_config(Some(Xhigh), force);
        assert_eq!(forced.thinking.unwrap()["type"], "disabled");
        assert_eq!(forced.effort, Some("high"));
    }

    #[test]
    fn the_older_form_thinks_only_where_it_may_and_has_room() {
        let budget = |case: Case| {
            let thought =
                Claude::of("claude-sonnet-4-5").thinking_config(Some(Thinking::High), case);
            thought.thinking.map(|t| t["budget_tokens"].clone())
        };
        let max_output = |max_output: u32| Case { max_output, ..CASE };
        assert_eq!(budget(max_output(8_192)), Some(json!(6_144)));
        assert_eq!(budget(max_output(1_000)), None);
        let resumed = Case {
            resumed: true,
            ..CASE
        };
        assert_eq!(budget(resumed), None);
    }
}
