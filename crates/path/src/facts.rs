//! What rules can ask of an argument besides its text: the host of a URL, the programs of a command.
//!
//! Both are read the way the tool will read them, not the way they are spelled. Whatever cannot be
//! understood is `None`; a rule that allows never matches it, and one that denies or asks always does.

use serde_json::Value;
use url::Url;

/// Programs that run another one, named by their first argument that is neither an option nor an
/// assignment.
const WRAPPERS: [&str; 12] = [
    "env", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "ionice", "chrt", "command",
    "exec", "builtin",
];
/// Programs whose arguments are programs or code: what they run is not in the command's own words.
const INTERPRETERS: [&str; 8] = [
    "eval", "source", ".", "xargs", "sudo", "su", "doas", "parallel",
];
/// The shells: with `-c` they run a text.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "busybox"];
/// Words that begin or join commands of a shell; what follows is a command again.
const KEYWORDS: [&str; 12] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}",
];

/// The host of a URL, as a browser would connect to it: lower case, IDNA, IP addresses in their
/// one spelling. `None` for anything but plain http and https.
pub(crate) fn host(value: &Value) -> Option<String> {
    let url = Url::parse(value.as_str()?.trim()).ok()?;
    let plain = matches!(url.scheme(), "http" | "https" | "ws" | "wss")
        && url.username().is_empty()
        && url.password().is_none();
    if !plain {
        return None;
    }
    let host = url.host_str()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The names of all programs that a command runs: a shell's text, or a list of words.
pub(crate) fn programs(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => programs_of_text(text),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            program_of(&words?).map(|program| vec![program])
        }
        _ => None,
    }
}

fn programs_of_text(text: &str) -> Option<Vec<String>> {
    let mut programs = Vec::new();
    for words in commands(text)? {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = match words.iter().position(|word| !KEYWORDS.contains(word)) {
            Some(at) => &words[at..],
            None => continue, // only `fi`, `done` or nothing
        };
        programs.push(program_of(words)?);
    }
    (!programs.is_empty()).then_some(programs)
}

/// The program that one simple command runs, behind assignments and wrappers.
fn program_of(words: &[&str]) -> Option<String> {
    let mut words = words.iter().skip_while(|word| is_assignment(word));
    let mut program = name_of(words.next()?)?;
    while WRAPPERS.contains(&program.as_str()) {
        // Options may take values of their own (`timeout -s KILL 5 rm`): a wrapper with options is
        // not understood, so that none of them can hide the program.
        let mut rest = words
            .by_ref()
            .skip_while(|word| is_assignment(word) || is_duration(word));
        let next = rest.next()?;
        if next.starts_with('-') {
            return None;
        }
        program = name_of(next)?;
    }
    // Their arguments are programs themselves: matching `xargs` would say nothing about what runs.
    if INTERPRETERS.contains(&program.as_str()) {
        return None;
    }
    let runs_text = words.any(|word| word.starts_with('-') && word.contains('c'));
    if SHELLS.contains(&program.as_str()) && runs_text {
        return None;
    }
    Some(program)
}

/// The last component of a path: `/usr/bin/git` is `git`.
fn name_of(word: &str) -> Option<String> {
    let name = word.rsplit('/').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-[".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    })
}

fn is_duration(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

/// The simple commands of a shell text, as words. `None` where something is substituted or defined:
/// what runs is then not in the text.
fn commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    fn flush(word: &mut Option<String>, commands: &mut [Vec<String>]) {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    }
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => word.push(chars.next()?),
                        '`' => return None,
                        '$' if chars.peek() == Some(&'(') => return None,
                        other => word.push(other),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                other => word.get_or_insert_default().push(other),
            },
            '`' | '(' | ')' => return None, // substitution, subshell or function
            '$' => match chars.peek() {
                Some('(' | '\'' | '"') => return None,
                _ if word.is_none() && commands.last().is_some_and(Vec::is_empty) => return None,
                _ => word.get_or_insert_default().push('$'),
            },
            '<' | '>' => {
                flush(&mut word, &mut commands);
                if chars.peek() == Some(&'(') || chars.peek() == Some(&'<') {
                    return None; // process substitution, here-document
                }
                while chars.next_if(|c| "<>&| \t".contains(*c)).is_some() {}
                // The file is no word of the command.
                while let Some(c) = chars.next_if(|c| !" \t\n;&|<>".contains(*c)) {
                    if "`$('\"\\".contains(c) {
                        return None;
                    }
                }
            }
            ';' | '&' | '|' | '\n' => {
                flush(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            c if c.is_whitespace() => flush(&mut word, &mut commands),
            '*' | '?' | '[' | '{' | '~' if commands.last().is_some_and(Vec::is_empty) => {
                // A program named by a pattern.
                if c != '{' && c != '[' {
                    return None;
                }
                word.get_or_insert_default().push(c);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    flush(&mut word, &mut commands);
    commands.retain(|words| !words.is_empty());
    let defines = |words: &Vec<String>| {
        let first = words.first().map(String::as_str);
        matches!(
            first,
            Some("function" | "alias" | "for" | "case" | "select" | "trap")
        )
    };
    (!commands.iter().any(defines)).then_some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn urls_have_one_host_however_they_are_spelled() {
        for (url, expect) in [
            ("https://example.com/a", Some("example.com")),
            ("HTTPS://EXAMPLE.com:443/%2e%2e/x", Some("example.com")),
            ("http://example.com./", Some("example.com")),
            ("http:\\\\example.com\\@evil.test", Some("example.com")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://2130706433/", Some("127.0.0.1")),
            ("http://0177.0.0.1/", Some("127.0.0.1")),
            ("http://[::ffff:127.0.0.1]/", Some("[::ffff:7f00:1]")),
            ("http://bücher.example/", Some("xn--bcher-kva.example")),
            ("http://ex\u{61}mple%2ecom/", Some("example.com")),
            ("https://example.com@evil.test/", None),
            ("https://user:pw@example.com/", None),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(host(&json!(url)).as_deref(), expect, "{url}");
        }
        assert_eq!(host(&json!(7)), None);
    }

    #[test]
    fn programs_are_found_behind_paths_wrappers_and_assignments() {
        for (command, expect) in [
            ("git status", Some(vec!["git"])),
            ("/usr/bin/git status", Some(vec!["git"])),
            ("env git push", Some(vec!["git"])),
            ("env A=1 B=2 /usr/bin/git push", Some(vec!["git"])),
            ("A=1 git push", Some(vec!["git"])),
            ("nice git push", Some(vec!["git"])),
            ("timeout 5 git push", Some(vec!["git"])),
            ("g\\it push", Some(vec!["git"])),
            ("g''it \"push\"", Some(vec!["git"])),
            ("git log | head -3", Some(vec!["git", "head"])),
            (
                "git add . && git commit -m 'a; rm b'",
                Some(vec!["git", "git"]),
            ),
            ("make; ls\ncat x # rm", Some(vec!["make", "ls", "cat"])),
            ("git log > out.txt 2>&1", Some(vec!["git"])),
            ("if true; then git pull; fi", Some(vec!["true", "git"])),
            ("bash build.sh", Some(vec!["bash"])),
            ("echo $HOME", Some(vec!["echo"])),
            ("git $(rm x)", None),
            ("git `rm x`", None),
            ("git \"$(rm x)\"", None),
            ("$CMD push", None),
            ("eval git", None),
            ("bash -c 'git'", None),
            ("sh -ec git", None),
            ("xargs git", None),
            ("sudo git", None),
            ("timeout -s KILL 5 rm", None),
            ("env -i rm", None),
            ("git <(rm x)", None),
            ("cat <<EOF\nEOF", None),
            ("(rm x)", None),
            ("f() { rm x; }", None),
            ("for x in a; do rm $x; done", None),
            ("/usr/bin/gi? push", None),
            ("*", None),
            ("git 'unclosed", None),
            ("", None),
        ] {
            let expect = expect.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(programs(&json!(command)), expect, "{command}");
        }
        assert_eq!(
            programs(&json!(["/bin/git", "a;b"])),
            Some(vec!["git".to_owned()])
        );
        assert_eq!(
            programs(&json!(["env", "git"])),
            Some(vec!["git".to_owned()])
        );
        assert_eq!(programs(&json!(["bash", "-c", "git"])), None);
        assert_eq!(programs(&json!([])), None);
        assert_eq!(programs(&json!({})), None);
    }
}
