//! Regular expressions in schemas: how large they become, and which engine runs them.

use jsonschema::PatternOptions;
use serde_json::{Value, json};

/// The longest pattern.
const MAX_PATTERN: usize = 4_000;
/// The longest pattern with look-around or back references: each of its parts is compiled by itself.
const MAX_BACKTRACKING: usize = 1_000;
/// How large one pattern may become when it is compiled.
pub(super) const MAX_COMPILED: usize = 2 * 1024 * 1024;
/// How much memory the cache of one pattern's automaton may take.
pub(super) const MAX_CACHE: usize = 1024 * 1024;
/// How often a pattern with look-around or back references may backtrack in one match. Those that
/// code generators write (an e-mail address with `(?!.*\.\.)`) hardly backtrack at all.
pub(super) const BACKTRACKS: usize = 1_000;

/// Sizes that are told apart, in bytes; the work for each byte of a text grows with them.
const SIZES: [usize; 5] = [4 * 1024, 16 * 1024, 64 * 1024, 512 * 1024, MAX_COMPILED];

/// What a pattern costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    /// Its size when compiled, at most.
    pub(super) compiled: usize,
    /// Whether it needs the engine that backtracks.
    pub(super) backtracks: bool,
}

impl Pattern {
    /// Compiles a pattern as the validator will.
    pub(super) fn read(pattern: &str) -> Result<Self, String> {
        let shown: String = pattern.chars().take(60).collect();
        if pattern.len() > MAX_PATTERN {
            return Err(format!(
                "has a pattern of more than {MAX_PATTERN} bytes ({shown}...)"
            ));
        }
        let schema = json!({ "pattern": pattern });
        // The regex crate does not report the size of a compiled pattern: the smallest limit it compiles under is
        // an upper bound.
        if let Some(compiled) = SIZES.iter().find(|size| linear(&schema, **size)) {
            return Ok(Self {
                compiled: *compiled,
                backtracks: false,
            });
        }
        if pattern.len() <= MAX_BACKTRACKING && backtracking(&schema) {
            return Ok(Self {
                compiled: 4 * SIZES[2],
                backtracks: true,
            });
        }
        Err(format!(
            "has a pattern that is not a regular expression or becomes larger than {MAX_COMPILED} bytes ({shown})"
        ))
    }

    /// The work for a text of this many bytes.
    pub(super) fn cost(self, bytes: u64) -> u64 {
        match self.backtracks {
            // Eight steps back are about one unit; each may look through the text once more.
            true => (BACKTRACKS as u64 / 8).saturating_add(bytes / 2),
            false => {
                let states = (self.compiled / SIZES[0]) as u64;
                2 + bytes.saturating_mul(states) / 4
            }
        }
    }
}

fn linear(schema: &Value, size: usize) -> bool {
    let options = PatternOptions::regex()
        .size_limit(size)
        .dfa_size_limit(MAX_CACHE);
    let options = jsonschema::options()
        .with_pattern_options(options)
        .offline();
    options.build(schema).is_ok()
}

fn backtracking(schema: &Value) -> bool {
    let options = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACKS)
        .size_limit(SIZES[2])
        .dfa_size_limit(MAX_CACHE);
    let options = jsonschema::options()
        .with_pattern_options(options)
        .offline();
    options.build(schema).is_ok()
}
