//! Parses the `WWW-Authenticate` header of a rejected request.

/// The most scopes taken over from any server.
pub(super) const MAX_SCOPES: usize = 64;

/// The first Bearer challenge of a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// URL of the resource metadata.
    pub resource_metadata: Option<String>,
    /// The required scopes.
    pub scope: Vec<String>,
    /// The OAuth error code.
    pub error: Option<String>,
}

impl Challenge {
    /// Parses a header; skips what it does not understand.
    pub fn read(header: Option<&str>) -> Self {
        let mut challenge = Self::default();
        let Some(rest) = header.and_then(bearer) else {
            return challenge;
        };
        for (name, value) in parameters(rest) {
            match name.as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scope = scopes(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
        challenge
    }

    /// Returns whether the token was valid but lacks a scope.
    pub fn wants_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Parses a space-separated scope list; skips scopes with illegal characters.
pub fn scopes(text: &str) -> Vec<String> {
    let legal = |scope: &&str| {
        scope.len() <= 256
            && scope
                .bytes()
                .all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    let words = text.split_ascii_whitespace().filter(legal);
    words.take(MAX_SCOPES).map(str::to_owned).collect()
}

/// Returns the parameters of the Bearer challenge; the word inside a quoted string does not count.
fn bearer(header: &str) -> Option<&str> {
    const WORD: &str = "bearer";
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in header.char_indices() {
        if quoted {
            (quoted, escaped) = match (c, escaped) {
                (_, true) => (true, false),
                ('\\', false) => (true, true),
                (c, false) => (c != '"', false),
            };
            continue;
        }
        quoted = c == '"';
        let before = header[..at].trim_end();
        let end = at + WORD.len();
        let named = header
            .get(at..end)
            .is_some_and(|word| word.eq_ignore_ascii_case(WORD));
        let begins = before.is_empty() || before.ends_with(',');
        let after = header.as_bytes().get(end);
        if named && begins && after.is_none_or(|byte| byte.is_ascii_whitespace()) {
            return Some(&header[end..]);
        }
    }
    None
}

/// Parses `name=value` and `name="value"` pairs until something else follows.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim();
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"_-*.".contains(&b);
        if name.is_empty() || !name.bytes().all(is_token) {
            break; // another scheme begins
        }
        let after = after.trim_start();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => match unquote(quoted) {
                Some(read) => read,
                None => break,
            },
            None => {
                let end = after.find([',', ' ', '\t']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        found.push((name.to_ascii_lowercase(), value));
        rest = left.trim_start_matches([' ', '\t', ',']);
    }
    found
}

fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, metadata: Option<&str>, scope: &[&str], error: Option<&str>) {
        let read = Challenge::read(Some(header));
        assert_eq!(read.resource_metadata.as_deref(), metadata, "{header}");
        assert_eq!(read.scope, scope, "{header}");
        assert_eq!(read.error.as_deref(), error, "{header}");
    }

    #[test]
    fn a_bearer_challenge_is_read_however_it_is_written() {
        let url = Some("https://a.example/m");
        check(
            "Bearer resource_metadata=\"https://a.example/m\"",
            url,
            &[],
            None,
        );
        check(
            "bearer  Scope=\"a b\", error=insufficient_scope",
            None,
            &["a", "b"],
            Some("insufficient_scope"),
        );
        check(
            "Basic realm=\"x, Bearer y\", Bearer resource_metadata=\"https://a.example/m\"",
            url,
            &[],
            None,
        );
        check(
            "Bearer error=\"a\\\"b\", Basic realm=\"z\", scope=\"no\"",
            None,
            &[],
            Some("a\"b"),
        );
        check("Bearer", None, &[], None);
        check("Basic realm=\"Bearer\"", None, &[], None);
        check("Bearer scope=\"open", None, &[], None);
        check(
            "Bearer scope=\"good b\u{e4}d go\\\\od\"",
            None,
            &["good"],
            None,
        );
    }

    #[test]
    fn no_header_is_no_challenge() {
        assert_eq!(Challenge::read(None), Challenge::default());
    }
}
