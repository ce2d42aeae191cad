//! Emoji that bots can react with.

/// All reaction emoji listed by the Bot API.
pub const REACTIONS: [&str; 73] = [
    "\u{2764}",
    "👍",
    "👎",
    "🔥",
    "🥰",
    "👏",
    "😁",
    "🤔",
    "🤯",
    "😱",
    "🤬",
    "😢",
    "🎉",
    "🤩",
    "🤮",
    "💩",
    "🙏",
    "👌",
    "🕊",
    "🤡",
    "🥱",
    "🥴",
    "😍",
    "🐳",
    "\u{2764}\u{200d}🔥",
    "🌚",
    "🌭",
    "💯",
    "🤣",
    "\u{26a1}",
    "🍌",
    "🏆",
    "💔",
    "🤨",
    "😐",
    "🍓",
    "🍾",
    "💋",
    "🖕",
    "😈",
    "😴",
    "😭",
    "🤓",
    "👻",
    "👨\u{200d}💻",
    "👀",
    "🎃",
    "🙈",
    "😇",
    "😨",
    "🤝",
    "\u{270d}",
    "🤗",
    "🫡",
    "🎅",
    "🎄",
    "\u{2603}",
    "💅",
    "🤪",
    "🗿",
    "🆒",
    "💘",
    "🙉",
    "🦄",
    "😘",
    "💊",
    "🙊",
    "😎",
    "👾",
    "🤷\u{200d}\u{2642}",
    "🤷",
    "🤷\u{200d}\u{2640}",
    "😡",
];

/// The listed emoji that `written` means, ignoring colour selectors.
pub fn reaction(written: &str) -> Option<&'static str> {
    // Keyboards append a selector to some emoji, which Telegram's list omits.
    let bare: String = written
        .trim()
        .chars()
        .filter(|c| *c != '\u{fe0f}')
        .collect();
    REACTIONS.into_iter().find(|emoji| *emoji == bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_known_as_keyboards_write_it() {
        for (written, found) in [
            ("\u{1f44d}", Some("\u{1f44d}")),
            ("\u{2764}\u{fe0f}", Some("\u{2764}")),
            (
                " \u{2764}\u{fe0f}\u{200d}\u{1f525}",
                Some("\u{2764}\u{200d}\u{1f525}"),
            ),
            (
                "\u{1f937}\u{200d}\u{2642}\u{fe0f}",
                Some("\u{1f937}\u{200d}\u{2642}"),
            ),
            ("\u{1f354}", None),
            ("thumbsup", None),
            ("", None),
        ] {
            assert_eq!(reaction(written), found, "{written}");
        }
    }

    #[test]
    fn each_emoji_stands_once_in_the_list() {
        let all: std::collections::HashSet<_> = REACTIONS.into_iter().collect();
        assert_eq!(all.len(), REACTIONS.len());
    }
}
