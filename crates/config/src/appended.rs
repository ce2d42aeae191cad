//! Handles sections that are appended to the default file.
//!
//! The default file has a header for every section, with nothing but comments below. TOML allows a section only once, so
//! an appended `[policy]` would be refused. A header without keys has no meaning, so it is ignored if its
//! section appears again.

use std::borrow::Cow;
use std::collections::HashMap;

use toml_edit::DocumentMut;

/// Blanks out empty headers whose section appears again, if that makes the text valid; otherwise returns it
/// unchanged. Lines and columns stay the same.
pub(crate) fn merged(text: &str) -> Cow<'_, str> {
    let reads = |text: &str| text.parse::<DocumentMut>().is_ok();
    // The common case: nothing to do, and nothing to get wrong.
    if reads(text) {
        return Cow::Borrowed(text);
    }
    let blanked = blanked(text);
    match reads(&blanked) {
        true => Cow::Owned(blanked),
        false => Cow::Borrowed(text),
    }
}

fn blanked(text: &str) -> String {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        if let Some(name) = header(line) {
            last.insert(name, number);
        }
    }
    let mut result = String::with_capacity(text.len());
    for (number, line) in lines.iter().enumerate() {
        // Only an earlier header is blanked, so that the keys stay below the one that has them.
        let comes_again = header(line).is_some_and(|name| last[name] > number);
        if comes_again && is_empty(&lines[number + 1..]) {
            let kept = line.trim_end_matches(['\r', '\n']);
            // Blanked, not removed: positions in error messages have to match the file.
            result.extend(std::iter::repeat_n(' ', kept.len()));
            result.push_str(&line[kept.len()..]);
        } else {
            result.push_str(line);
        }
    }
    result
}

/// The name in a line such as `[tools.bash]`.
fn header(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    // `[[name]]` is an entry of a list, which may appear any number of times.
    (!name.starts_with('[')).then(|| name.trim())
}

/// Whether no key comes before the next header.
fn is_empty(below: &[&str]) -> bool {
    let says = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let next = below.iter().find(says);
    next.is_none_or(|line| line.trim_start().starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::default_file;

    #[test]
    fn every_section_of_the_default_file_can_be_appended() {
        let file = default_file();
        let headers: Vec<&str> = file.lines().filter(|line| header(line).is_some()).collect();
        assert!(headers.len() > 20, "{headers:?}");
        for section in headers {
            check(&format!("{file}\n{section}\n")).unwrap_or_else(|e| panic!("{section}: {e:?}"));
        }
        let text = format!("{file}\n[policy]\nmode = \"auto\"\n[limits]\nresult_bytes = 7\n");
        let (settings, _) = check(&text).unwrap();
        assert_eq!(settings.limits.result_bytes, 7);
        let changed = crate::edit::set(&text, &"limits.result_bytes".parse().unwrap(), &8.into());
        let (settings, _) = check(&changed.unwrap()).unwrap();
        assert_eq!(settings.limits.result_bytes, 8);
    }

    #[test]
    fn a_section_with_a_duplicate_key_is_refused_with_its_line() {
        let text = "[limits]\nresult_bytes = 7\n[log]\n[limits]\nartifact_days = 1\n";
        let problems = check(text).unwrap_err();
        assert_eq!(problems[0].line, Some(4), "{problems:?}");
    }
}
