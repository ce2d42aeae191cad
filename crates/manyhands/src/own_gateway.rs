//! Recognises the URLs of the gateway that runs on a home: the owner's token is sent only to these.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Normalises a gateway URL to its HTTP origin.
pub fn origin(url: &str) -> Option<Url> {
    let url = url.trim();
    let url = match url.split_once("://") {
        Some(("ws", rest)) => Url::parse(&format!("http://{rest}")),
        Some(("wss", rest)) => Url::parse(&format!("https://{rest}")),
        _ => Url::parse(url),
    };
    // Paths and queries do not matter for who receives the token; scheme, host and port do.
    let origin = url.ok()?.origin();
    match origin.is_tuple() {
        true => Url::parse(&origin.ascii_serialization()).ok(),
        false => None,
    }
    .filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// URL at which a gateway listening on `listens` is reached from its own machine.
pub fn reached(listens: &str) -> String {
    let Some(mut url) = origin(listens) else {
        return listens.to_owned();
    };
    // 0.0.0.0 and :: are addresses to listen on, not to connect to.
    let here = match url.host() {
        Some(Host::Ipv4(address)) if address.is_unspecified() => Some(Ipv4Addr::LOCALHOST.into()),
        Some(Host::Ipv6(address)) if address.is_unspecified() => Some(Ipv6Addr::LOCALHOST.into()),
        _ => None,
    };
    if let Some(here) = here {
        let _ = url.set_ip_host(here); // an address with a host takes another
    }
    text(&url)
}

/// Returns the URL for `named`, if it refers to the gateway listening on `listens`.
///
/// Over plain HTTP this is the listen address itself: `localhost` may resolve to `[::1]`, where another
/// program can listen on the same port, and nothing but the address distinguishes them. Over TLS the
/// certificate does, and it has to match the given name.
pub fn listening_address(named: &str, listens: &str) -> Option<String> {
    let (named, listens) = (origin(named)?, origin(listens)?);
    let same_port = named.scheme() == listens.scheme()
        && named.port_or_known_default() == listens.port_or_known_default();
    if !same_port || !(named.host() == listens.host() || (is_here(&named) && is_here(&listens))) {
        return None;
    }
    Some(match named.scheme() {
        // The certificate has to match the name the user typed.
        "https" => text(&named),
        _ => reached(listens.as_str()),
    })
}

/// Returns whether two URLs have the same origin.
pub fn is_same(one: &str, other: &str) -> bool {
    origin(one).is_some_and(|one| Some(one) == origin(other))
}

/// Returns whether the host is this machine.
fn is_here(url: &Url) -> bool {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(name)) => return name == "localhost",
        None => return false,
    };
    address.is_unspecified() || address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST
}

fn text(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listens: &str, named: &str, reached: Option<&str>) {
        assert_eq!(
            listening_address(named, listens).as_deref(),
            reached,
            "{listens} {named}"
        );
    }

    #[test]
    fn a_gateway_is_known_by_every_usual_name_of_this_machine() {
        let listens = "http://127.0.0.1:7717";
        for named in [
            "http://127.0.0.1:7717",
            "http://127.0.0.1:7717/",
            "http://localhost:7717",
            "HTTP://LOCALHOST:7717/x?y#z",
            "http://[::1]:7717",
            "http://0.0.0.0:7717",
            "ws://localhost:7717/ws",
            " http://127.0.0.1:7717 ",
        ] {
            check(listens, named, Some(listens));
        }
        for named in ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
            check("http://0.0.0.0:1", named, Some("http://127.0.0.1:1"));
            check("http://[::]:1", named, Some("http://[::1]:1"));
            check("http://[::1]:1", named, Some("http://[::1]:1"));
        }
        check(
            "http://10.0.0.5:1",
            "http://10.0.0.5:1",
            Some("http://10.0.0.5:1"),
        );
        check(
            "http://127.0.0.7:1",
            "http://127.0.0.7:1",
            Some("http://127.0.0.7:1"),
        );
    }

    #[test]
    fn every_other_address_is_another_gateway() {
        for named in [
            "http://127.0.0.1:7718",
            "http://127.0.0.1",
            "https://127.0.0.1:7717",
            "http://127.0.0.2:7717",
            "http://10.0.0.5:7717",
            "http://hands.example:7717",
            "http://localhost.evil.example:7717",
            "http://127.0.0.1.evil.example:7717",
            "http://127.0.0.1:7717@evil.example",
            "http://127.0.0.1:7717@evil.example:7717",
            "http://evil.example:7717/127.0.0.1",
            "http://evil.example:7717#@127.0.0.1:7717",
            "ftp://127.0.0.1:7717",
            "file:///127.0.0.1:7717",
            "127.0.0.1:7717",
            "localhost:7717",
            "nonsense",
            "",
        ] {
            check("http://127.0.0.1:7717", named, None);
        }
        check("http://10.0.0.5:1", "http://127.0.0.1:1", None);
        check("http://127.0.0.7:1", "http://127.0.0.1:1", None);
    }

    #[test]
    fn over_tls_the_given_name_is_verified() {
        let listens = "https://0.0.0.0:7717";
        check(
            listens,
            "https://localhost:7717",
            Some("https://localhost:7717"),
        );
        check(listens, "http://localhost:7717", None);
        assert!(is_same(
            "https://hands.example",
            "wss://hands.example:443/ws"
        ));
        assert!(!is_same("https://hands.example", "http://hands.example"));
        assert!(!is_same("nonsense", "nonsense"));
    }
}
