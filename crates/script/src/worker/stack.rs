//! Extracts the script's own frames from the engine's stack traces.

/// Maximum number of frames shown.
const MAX_FRAMES: usize = 20;

/// Line and column of the innermost frame of the script. `before` characters of the first line are not part of it, and a
/// position after the last line of `code` is its end.
pub(super) fn script_position(stack: &str, before: usize, code: &str) -> Option<(u32, u32)> {
    let (line, column) = stack.lines().find_map(position)?;
    let last = u32::try_from(code.lines().count().max(1)).unwrap_or(u32::MAX);
    // The closing lines of the wrapper: the error is at the end of the script.
    if line > last {
        let width = code.lines().last().map_or(0, |line| line.chars().count());
        return Some((
            last,
            u32::try_from(width).unwrap_or(u32::MAX).saturating_add(1),
        ));
    }
    Some((line, own_column(line, column, before)))
}

/// The script's frames, in the engine's format.
pub(super) fn visible(stack: &str, before: usize) -> Option<String> {
    let own: Vec<String> = stack
        .lines()
        .filter_map(|text| {
            let (line, column) = position(text)?;
            let name = text.trim().strip_prefix("at ").unwrap_or_default();
            let name = name
                .split_once(" (")
                .map_or("<anonymous>", |(name, _)| name);
            let column = own_column(line, column, before);
            Some(format!("at {name} (script.js:{line}:{column})"))
        })
        .take(MAX_FRAMES)
        .collect();
    (!own.is_empty()).then(|| own.join("\n"))
}

fn own_column(line: u32, column: u32, before: usize) -> u32 {
    let before = if line == 1 {
        u32::try_from(before).unwrap_or(0)
    } else {
        0
    };
    column.saturating_sub(before).max(1)
}

/// Parses the `3:7` of `at f (script.js:3:7)`.
fn position(text: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.rsplit_once("script.js:")?;
    let (line, rest) = rest.split_once(':')?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((line.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = "    at ask (prelude:120:19)\n    at f (script.js:3:7)\n    at <anonymous> (script.js:1:12)\n";

    const CODE: &str = "a\nb\nfoo";

    #[test]
    fn the_first_own_line_is_the_place() {
        assert_eq!(script_position(STACK, 11, CODE), Some((3, 7)));
        assert_eq!(
            script_position("    at <anonymous> (script.js:1:12)\n", 11, CODE),
            Some((1, 1))
        );
        assert_eq!(
            script_position("    at script.js:2:5\n", 11, CODE),
            Some((2, 5))
        );
        assert_eq!(
            script_position("    at script.js:9:1\n", 11, CODE),
            Some((3, 4)),
            "past the end"
        );
        assert_eq!(script_position("at x (native)", 11, CODE), None);
        assert_eq!(
            script_position("script.js:99999999999999:1", 11, CODE),
            None
        );
    }

    #[test]
    fn only_own_calls_are_shown() {
        let visible = visible(STACK, 11).unwrap();
        assert_eq!(
            visible,
            "at f (script.js:3:7)\nat <anonymous> (script.js:1:1)"
        );
        assert_eq!(super::visible("at x (native)", 11), None);
    }
}
