//! Text lengths as platforms count them.

/// Length in UTF-16 units.
pub(crate) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The beginning of a line that fits into `most` units, with an ellipsis if shortened.
pub(crate) fn shortened(line: &str, most: usize) -> String {
    let line = line.trim();
    if units(line) <= most {
        return line.to_owned();
    }
    let mut short = String::new();
    let mut room = most.saturating_sub(1);
    for c in line.chars() {
        let size = c.len_utf16();
        if size > room {
            break;
        }
        room -= size;
        short.push(c);
    }
    format!("{}…", short.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_says_so() {
        assert_eq!(shortened(" Allow once ", 20), "Allow once");
        assert_eq!(shortened("Allow once and for all", 12), "Allow once…");
        assert_eq!(shortened("😀😀😀", 4), "😀…");
        assert_eq!(units(&shortened("😀😀😀", 5)), 5);
    }
}
