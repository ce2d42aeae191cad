//! Which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not the public internet: (network, prefix length).
const SPECIAL_V4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Parts of 2000::/3 that are not the public internet: protocol assignments (Teredo
/// among them) and documentation.
const SPECIAL_V6: [([u16; 2], u32); 3] =
    [([0x2001, 0], 23), ([0x2001, 0xdb8], 32), ([0x3fff, 0], 20)];

/// Whether `address` is on the public internet, so that reaching it reaches nobody's
/// private network. An IPv6 address that stands for an IPv4 one is judged by that.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !SPECIAL_V4.iter().any(|(network, length)| {
        let mask = u32::MAX << (32 - length);
        bits & mask == u32::from_be_bytes(*network)
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last = || v4(g, h);
    match [a, b, c, d, e, f] {
        // Mapped, and translated at the edge of an IPv6-only network.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => return is_public_v4(last()),
        [0x2002, ..] => return is_public_v4(v4(b, c)),
        // ISATAP, a tunnel inside a site.
        [.., 0 | 0x200, 0x5efe] if !is_public_v4(last()) => return false,
        _ => {}
    }
    let head = u32::from(a) << 16 | u32::from(b);
    let special = SPECIAL_V6.iter().any(|([first, second], length)| {
        let network = u32::from(*first) << 16 | u32::from(*second);
        head & (u32::MAX << (32 - length)) == network
    });
    // All that is handed out is in 2000::/3; the rest is local, multicast or reserved.
    a >> 13 == 0b001 && !special
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(addresses: &[&str], public: bool) {
        for address in addresses {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn special_ipv4_is_not_public() {
        check(
            &[
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "10.255.255.255",
                "100.64.0.1",
                "100.127.255.255",
                "127.0.0.1",
                "127.255.255.254",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.8",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.0.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.7",
                "203.0.113.7",
                "224.0.0.1",
                "239.255.255.255",
                "240.0.0.1",
                "255.255.255.255",
            ],
            false,
        );
    }

    #[test]
    fn the_neighbours_of_special_ipv4_are_public() {
        check(
            &[
                "1.1.1.1",
                "8.8.8.8",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.0.3.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
            ],
            true,
        );
    }

    #[test]
    fn special_ipv6_is_not_public() {
        check(
            &[
                "::",
                "::1",
                "::2",
                "::127.0.0.1",
                "::8.8.8.8",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:169.254.169.254",
                "::ffff:0:8.8.8.8",
                "64:ff9b::10.0.0.1",
                "64:ff9b::7f00:1",
                "64:ff9b:1::8.8.8.8",
                "64:ff9b:1::1",
                "2002:7f00:1::",
                "2002:a00:1::1",
                "2002:c0a8:101::1",
                "2001::1",
                "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                "2001:2::1",
                "2001:10::1",
                "2001:db8::1",
                "3fff::1",
                "100::1",
                "5f00::1",
                "fc00::1",
                "fd12:3456::1",
                "fe80::1",
                "febf::1",
                "fec0::1",
                "ff02::1",
                "ff0e::1",
                "4000::1",
                "2a00::5efe:10.0.0.1",
                "2a00::200:5efe:192.168.0.1",
            ],
            false,
        );
    }

    #[test]
    fn the_public_ipv6_internet_is_public() {
        check(
            &[
                "2606:4700:4700::1111",
                "2001:4860:4860::8888",
                "2a00:1450::1",
                "2001:200::1",
                "::ffff:8.8.8.8",
                "64:ff9b::8.8.8.8",
                "2002:808:808::1",
                "2a00::5efe:8.8.8.8",
                "3ffe::1",
            ],
            true,
        );
    }
}
