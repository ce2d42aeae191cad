//! Text styles, and whether the terminal shows them.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// `NO_COLOR` is set, or the terminal knows no styles.
static UNSTYLED: AtomicBool = AtomicBool::new(false);
/// The terminal cannot move the cursor.
static DUMB: AtomicBool = AtomicBool::new(false);

/// Reads `NO_COLOR` and `TERM`, once at the start of the program.
pub fn configure(environment: &BTreeMap<String, String>) {
    let (unstyled, dumb) = wanted(environment);
    UNSTYLED.store(unstyled, Ordering::Relaxed);
    DUMB.store(dumb, Ordering::Relaxed);
}

fn wanted(environment: &BTreeMap<String, String>) -> (bool, bool) {
    let dumb = environment.get("TERM").is_some_and(|term| term == "dumb");
    // As https://no-color.org says: present and not empty, whatever its value.
    let no_color = environment.get("NO_COLOR");
    let unstyled = dumb || no_color.is_some_and(|value| !value.is_empty());
    (unstyled, dumb)
}

/// Whether styles may be used on terminals.
pub fn is_allowed() -> bool {
    !UNSTYLED.load(Ordering::Relaxed)
}

/// Whether the terminal cannot move the cursor, so that nothing can be redrawn.
pub fn is_dumb() -> bool {
    DUMB.load(Ordering::Relaxed)
}

/// Whether stdout shows styles.
pub fn on_stdout() -> bool {
    is_allowed() && std::io::stdout().is_terminal()
}

/// Whether stderr shows styles.
pub fn on_stderr() -> bool {
    is_allowed() && std::io::stderr().is_terminal()
}

/// How a piece of text is shown. The colours are the sixteen that themes define, so that they are readable on dark
/// and light backgrounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Heavier.
    pub bold: bool,
    /// Less visible.
    pub dim: bool,
    /// Slanted.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// SGR code of the foreground colour.
    pub colour: Option<u8>,
}

impl Style {
    /// Ordinary text.
    pub const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        colour: None,
    };
    /// Bold.
    pub const STRONG: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    /// Less visible.
    pub const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    /// A heading.
    pub const HEADING: Self = Self {
        bold: true,
        underline: true,
        ..Self::PLAIN
    };
    /// An error or a removed line.
    pub const RED: Self = Self::colour(31);
    /// A success, a string or an added line.
    pub const GREEN: Self = Self::colour(32);
    /// A warning or a number.
    pub const YELLOW: Self = Self::colour(33);
    /// A link.
    pub const BLUE: Self = Self::colour(34);
    /// A keyword.
    pub const MAGENTA: Self = Self::colour(35);
    /// Code, or something to type.
    pub const CYAN: Self = Self::colour(36);

    /// Only a colour.
    pub const fn colour(code: u8) -> Self {
        Self {
            colour: Some(code),
            ..Self::PLAIN
        }
    }

    /// Bold as well.
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Wraps text, which must be safe for a terminal, in this style if `on`.
    pub fn paint(self, text: &str, on: bool) -> String {
        if !on || text.is_empty() || self == Self::PLAIN {
            return text.to_owned();
        }
        let flags = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.strike, 9),
        ];
        let flags = flags.iter().filter(|(on, _)| *on).map(|(_, code)| *code);
        let codes: Vec<String> = flags.chain(self.colour).map(|c| c.to_string()).collect();
        format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_off_for_no_color_and_dumb_terminals() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            wanted(&pairs.collect())
        };
        assert_eq!(of(&[("TERM", "xterm")]), (false, false));
        assert_eq!(of(&[]), (false, false));
        assert_eq!(of(&[("NO_COLOR", "")]), (false, false));
        assert_eq!(of(&[("NO_COLOR", "0")]), (true, false));
        assert_eq!(of(&[("TERM", "dumb")]), (true, true));
    }

    #[test]
    fn a_style_is_closed_where_it_ends() {
        assert_eq!(Style::RED.bold().paint("x", true), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(Style::RED.paint("x", false), "x");
        assert_eq!(Style::PLAIN.paint("x", true), "x");
        assert_eq!(Style::RED.paint("", true), "");
    }
}
