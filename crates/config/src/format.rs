//! Checks of strings, selected by `x-check` in the schema.

use std::net::SocketAddr;

use manyhands_core::NodeId;

/// Returns what is wrong with `text` according to the check `name`; continues the message "`key` ...".
pub(crate) fn flaw(name: &str, text: &str) -> Option<String> {
    match name {
        "address" => address(text),
        "host" => host(text),
        "origin" => origin(text),
        "regex" => regex(text),
        "level" => level(text),
        "network" => network(text),
        "proxy" => proxy(text),
        "node" => node(text),
        "timezone" => timezone(text),
        "clock" => clock(text),
        "url" => url(text),
        "vault" => vault(text),
        _ => unreachable!("the schema names a check that does not exist: {name}"),
    }
}

fn address(text: &str) -> Option<String> {
    let named = || {
        let (host, port) = text.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        // A bare IPv6 address has colons of its own; its port could not be told apart.
        (self::host(host).is_none() && !host.contains(':')).then_some(())
    };
    let good = text.parse::<SocketAddr>().is_ok() || named().is_some();
    (!good).then(|| "must be host:port, as in `127.0.0.1:7717` or `[::1]:7717`".to_owned())
}

fn host(text: &str) -> Option<String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let good = !text.is_empty() && text.len() <= 253 && text.chars().all(legal);
    (!good).then(|| "must be host names without scheme or path, as in `desk.example`".to_owned())
}

fn origin(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let good = rest.is_some_and(|rest| host(rest).is_none());
    (!good).then(|| {
        "must be origins, scheme and host without a path, as in `https://desk.example`".to_owned()
    })
}

fn regex(text: &str) -> Option<String> {
    // Rules are evaluated on every call; a huge expression would slow down all of them.
    const MAX_COMPILED: usize = 1 << 20;
    let built = regex::RegexBuilder::new(text)
        .size_limit(MAX_COMPILED)
        .build();
    let error = built.err()?.to_string();
    // The error shows the expression on several lines; the last one has the reason.
    let why = error.lines().last().unwrap_or_default();
    let why = why.trim().trim_start_matches("error: ");
    Some(format!("is not a regular expression: {why}"))
}

fn network(text: &str) -> Option<String> {
    let good = text.split_once('/').is_some_and(|(address, bits)| {
        let address = address.parse::<std::net::IpAddr>();
        let width = address
            .as_ref()
            .map_or(0, |a| if a.is_ipv4() { 32 } else { 128 });
        address.is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= width)
    });
    (!good).then(|| "must be networks, as in `192.168.7.0/24` or `fd00::/8`".to_owned())
}

fn proxy(text: &str) -> Option<String> {
    let good = text.parse::<std::net::IpAddr>().is_ok() || network(text).is_none();
    (!good).then(|| "must be addresses or networks, as in `10.0.0.2` or `fd00::/8`".to_owned())
}

fn node(text: &str) -> Option<String> {
    let wrong = text.parse::<NodeId>().err()?.to_string();
    Some(wrong.trim_start_matches(&format!("{text:?} ")).to_owned())
}

fn timezone(text: &str) -> Option<String> {
    let known = jiff::tz::TimeZone::get(text).is_ok();
    (!known).then(|| "must be an IANA time zone, as in `Europe/Berlin` or `UTC`".to_owned())
}

fn clock(text: &str) -> Option<String> {
    let known = crate::cron::minutes(text).is_some();
    (!known).then(|| "must be a time of day, as in `08:00`".to_owned())
}

fn url(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let authority = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    // Credentials in a URL would be shown in logs and error messages.
    let good = authority.is_some_and(|a| host(a).is_none()) && !text.contains(['?', '#', ' ', '@']);
    (!good).then(|| "must be a URL without query, as in `https://api.example/v1`".to_owned())
}

fn vault(text: &str) -> Option<String> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-' | b'/');
    let name = text.strip_prefix("vault:");
    let good = name.is_some_and(|name| !name.is_empty() && name.bytes().all(legal));
    (!good).then(|| {
        "must be `vault:NAME`; store the secret with `manyhands secret set NAME`".to_owned()
    })
}

fn level(text: &str) -> Option<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let good = text.split(',').all(|directive| {
        let (target, level) = directive.rsplit_once('=').unwrap_or(("-", directive));
        // Checked here, because the level takes effect only at the next restart.
        !target.trim().is_empty() && LEVELS.contains(&level.trim().to_lowercase().as_str())
    });
    (!good).then(|| {
        "must be off, error, warn, info, debug or trace, or a list such as `info,manyhands_path=debug`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(flaw(name, text), None, "{name}: {text}");
        }
        for text in bad {
            assert!(flaw(name, text).is_some(), "{name}: {text}");
        }
    }

    #[test]
    fn each_format_accepts_valid_and_refuses_invalid_values() {
        check(
            "network",
            &["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"],
            &["", "10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129", "/8"],
        );
        check(
            "proxy",
            &["10.0.0.2", "::1", "172.16.0.0/12", "fd00::/8"],
            &["", "proxy.example", "10.0.0.2:80", "10.0.0.0/33", "*"],
        );
        check(
            "node",
            &["laptop", "server-2", "a"],
            &["", "Laptop", "gsv", "a_b", "a.b"],
        );
        check(
            "timezone",
            &["Europe/Berlin", "UTC", "America/New_York"],
            &["", "Berlin", "Mars/Olympus", "../etc/passwd"],
        );
        check(
            "url",
            &["https://api.example/v1", "http://127.0.0.1:8080"],
            &[
                "",
                "ftp://x",
                "https://",
                "https://a@b",
                "https://a/?q=1",
                "api.example",
            ],
        );
        check(
            "vault",
            &["vault:a", "vault:mail/token.1"],
            &["", "vault:", "plain-secret", "vault:a b"],
        );
        check(
            "address",
            &["127.0.0.1:7717", "[::1]:0", "localhost:80", "0.0.0.0:65535"],
            &[
                "",
                "7717",
                ":7717",
                "localhost",
                "localhost:",
                "localhost:99999",
                "::1:80",
                "a b:1",
            ],
        );
        check(
            "host",
            &["desk.example", "desk.example:8080", "10.0.0.2", "[::1]"],
            &["", "https://desk.example", "desk.example/x", "a b"],
        );
        check(
            "origin",
            &["https://desk.example", "http://localhost:3000"],
            &[
                "",
                "desk.example",
                "https://",
                "https://desk.example/",
                "ftp://desk.example",
                "*",
            ],
        );
        check("regex", &["", "^rm ", "[a-z]+"], &["(", "[z-a]", "(?<x"]);
        check(
            "level",
            &["info", "WARN", "info,manyhands_path=debug", "off"],
            &["", "loud", "info,", "=debug", "manyhands_path=loud"],
        );
    }

    #[test]
    fn a_broken_expression_says_why_on_one_line() {
        let flaw = flaw("regex", "a(b").unwrap();
        assert_eq!(flaw, "is not a regular expression: unclosed group");
    }
}
