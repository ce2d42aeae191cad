//! The client address of a request that came through proxies.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use reqwest::header::HeaderMap;

/// Proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses addresses and networks such as `10.0.0.2` and `fd00::/8`; other texts are ignored.
    pub fn new(texts: &[String]) -> Self {
        let read = |text: &String| {
            let one = || text.parse::<IpAddr>().ok().map(IpNet::from);
            text.parse::<IpNet>().ok().or_else(one)
        };
        Self(texts.iter().filter_map(read).collect())
    }

    /// Whether `address` is a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client address of a request: the peer's, unless the peer is a trusted proxy. Then it is
    /// the nearest hop that is not a trusted proxy.
    ///
    /// Each proxy appends the address it sees, so only the rightmost entries were written by trusted
    /// proxies; everything left of the first untrusted address is that client's claim. A proxy writes
    /// either `X-Forwarded-For` or `Forwarded` and passes the other on as the client sent it, so if
    /// both are present and disagree, neither is trusted.
    pub fn client(&self, connection: IpAddr, headers: &HeaderMap) -> IpAddr {
        let connection = connection.to_canonical();
        if !self.trusts(connection) {
            return connection;
        }
        let listed = |name: &str| headers.contains_key(name);
        match (listed("x-forwarded-for"), listed("forwarded")) {
            (false, false) => connection,
            (true, false) => self.nearest(connection, &hops(headers, "x-forwarded-for", plain)),
            (false, true) => self.nearest(connection, &hops(headers, "forwarded", element)),
            (true, true) => {
                let one = self.nearest(connection, &hops(headers, "x-forwarded-for", plain));
                let other = self.nearest(connection, &hops(headers, "forwarded", element));
                if one == other { one } else { connection }
            }
        }
    }

    /// The first untrusted hop from the right. An unreadable hop ends the search at the proxy that
    /// wrote it: everything left of it may be forged.
    fn nearest(&self, connection: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut nearest = connection;
        for hop in hops.iter().rev() {
            let Some(address) = hop else {
                return nearest;
            };
            nearest = *address;
            if !self.trusts(nearest) {
                return nearest;
            }
        }
        nearest
    }
}

/// The hops in header order, across all header lines.
fn hops(headers: &HeaderMap, name: &str, read: fn(&str) -> Option<IpAddr>) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(name).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or("?"));
    lines.flat_map(|line| line.split(',').map(read)).collect()
}

/// An entry of `X-Forwarded-For`: an address, which some proxies write with a port.
fn plain(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let alone = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = alone.or_else(|| text.parse::<SocketAddr>().ok().map(|it| it.ip()));
    address.map(|address| address.to_canonical())
}

/// An element of `Forwarded` (RFC 7239): the address in its `for=`.
fn element(text: &str) -> Option<IpAddr> {
    let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    plain(node.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[track_caller]
    fn check(connection: &str, lines: &[(&str, &str)], client: &str) {
        let proxies = TrustedProxies::new(&["10.0.0.1".to_owned(), "10.1.0.0/16".to_owned()]);
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let found = proxies.client(connection.parse().unwrap(), &headers);
        let wanted: IpAddr = client.parse().unwrap();
        assert_eq!(found, wanted, "{connection} {lines:?}");
    }

    const XFF: &str = "x-forwarded-for";

    #[test]
    fn headers_of_untrusted_peers_are_ignored() {
        check("192.0.2.9", &[(XFF, "203.0.113.5")], "192.0.2.9");
        check("127.0.0.1", &[(XFF, "203.0.113.5")], "127.0.0.1");
        check("10.0.0.2", &[("forwarded", "for=203.0.113.5")], "10.0.0.2");
    }

    #[test]
    fn the_nearest_hop_that_is_no_proxy_is_the_client() {
        check("10.0.0.1", &[(XFF, "203.0.113.5")], "203.0.113.5");
        check("::ffff:10.0.0.1", &[(XFF, "203.0.113.5")], "203.0.113.5");
        check(
            "10.0.0.1",
            &[(XFF, "1.1.1.1, 203.0.113.5, 10.1.2.3")],
            "203.0.113.5",
        );
        check(
            "10.0.0.1",
            &[(XFF, "1.1.1.1"), (XFF, "203.0.113.5")],
            "203.0.113.5",
        );
        check("10.0.0.1", &[(XFF, "10.1.0.9")], "10.1.0.9");
        check("10.0.0.1", &[], "10.0.0.1");
    }

    #[test]
    fn addresses_come_in_many_spellings() {
        for (written, client) in [
            ("203.0.113.5:1234", "203.0.113.5"),
            ("2001:db8::5", "2001:db8::5"),
            ("[2001:db8::5]", "2001:db8::5"),
            ("[2001:db8::5]:443", "2001:db8::5"),
            ("::ffff:203.0.113.5", "203.0.113.5"),
        ] {
            check("10.0.0.1", &[(XFF, written)], client);
            let element = format!("proto=https;For=\"{written}\";by=10.0.0.1");
            check("10.0.0.1", &[("forwarded", &element)], client);
        }
    }

    #[test]
    fn an_unreadable_hop_ends_at_the_proxy_that_added_it() {
        for written in ["unknown", "_hidden", "", "203.0.113.5, ", "203.0.113.5, x"] {
            check("10.0.0.1", &[(XFF, written)], "10.0.0.1");
        }
        check("10.0.0.1", &[(XFF, "203.0.113.5, x, 10.1.0.1")], "10.1.0.1");
        check("10.0.0.1", &[("forwarded", "proto=https")], "10.0.0.1");
    }

    #[test]
    fn conflicting_headers_name_no_client() {
        let both = |a: &str, b: &str, client: &str| {
            let element = format!("for={b}");
            check("10.0.0.1", &[(XFF, a), ("forwarded", &element)], client);
        };
        both("203.0.113.5", "203.0.113.5", "203.0.113.5");
        both("203.0.113.5", "198.51.100.7", "10.0.0.1");
    }
}
