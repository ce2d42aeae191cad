//! List prices of well-known models: dollars per million tokens, without discounts, at the rate for
//! prompts of ordinary length.

/// The date of the list. Prices change; `models.prices` takes precedence.
pub const AS_OF: &str = "2026-11-15";

/// Model; prices of input, output, cache read, cache write.
pub(crate) const LIST: &[(&str, [f64; 4])] = &[
    ("claude-fable-5-1", [10.0, 50.0, 0.25, 12.5]),
    ("claude-fable-5", [10.0, 50.0, 1.0, 12.5]),
    ("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0]),
    ("claude-opus-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-7", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-6", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-1", [15.0, 75.0, 1.5, 18.75]),
    ("claude-sonnet-5-5", [2.0, 10.0, 0.2, 2.5]),
    ("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5]),
    ("claude-sonnet-4-6", [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4", [3.0, 15.0, 0.3, 3.75]),
    // The rate for long prompts: a limit must not be exceeded because a prompt grew.
    ("claude-haiku-5-5", [0.5, 2.5, 0.05, 0.625]),
    ("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]),
    ("gpt-5.6-sol", [5.0, 30.0, 0.5, 6.25]),
    ("gpt-5.6-terra", [2.0, 12.0, 0.2, 2.5]),
    ("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25]),
    ("gpt-5.5", [5.0, 30.0, 0.5, 5.0]),
    ("gpt-5.5-pro", [30.0, 180.0, 30.0, 30.0]),
    ("gpt-5.4", [2.5, 15.0, 0.25, 2.5]),
    ("gpt-5.4-mini", [0.75, 4.5, 0.075, 0.75]),
    ("gpt-5.4-nano", [0.2, 1.25, 0.02, 0.2]),
    ("gpt-5.3-codex", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5.2", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5.1", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", [0.05, 0.4, 0.005, 0.05]),
    ("gpt-4.1", [2.0, 8.0, 0.5, 2.0]),
    ("gpt-4.1-mini", [0.4, 1.6, 0.1, 0.4]),
    ("gpt-4.1-nano", [0.1, 0.4, 0.025, 0.1]),
    ("gpt-4o", [2.5, 10.0, 1.25, 2.5]),
    ("gpt-4o-mini", [0.15, 0.6, 0.075, 0.15]),
    ("gemini-3.7-flash", [0.75, 3.75, 0.075, 0.75]),
    ("gemini-3.6-flash", [0.75, 3.75, 0.075, 0.75]),
    ("gemini-3.5-flash", [1.5, 9.0, 0.15, 1.5]),
    ("gemini-3.1-pro", [2.0, 12.0, 0.2, 2.0]),
    ("gemini-2.5-pro", [1.25, 10.0, 0.125, 1.25]),
    ("gemini-2.5-flash", [0.3, 2.5, 0.03, 0.3]),
    ("gemini-2.5-flash-lite", [0.1, 0.4, 0.01, 0.1]),
];
