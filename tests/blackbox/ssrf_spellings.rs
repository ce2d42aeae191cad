//! Every way we know to write an address that a fetch must not reach.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Where a spelling leads, for a reader that does as browsers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    /// To the canary, as soon as loopback is allowed.
    Here,
    /// To the canary on `::1`.
    HereIpv6,
    /// To some other private place; whoever reads it loosely ends at the canary.
    Inside,
    /// Nowhere: a name that may not resolve. Where it does, it must not lead inside.
    Name,
    /// Nowhere: it is not the URL of a web page, whatever is allowed.
    Nowhere,
}

/// A URL and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    pub url: String,
    pub leads: Leads,
}

/// All of them, with the canary's own port wherever a port can be.
pub fn all(port: u16) -> Vec<Spelling> {
    let mut list = List {
        port,
        found: Vec::new(),
    };
    list.addresses();
    list.whole_ipv6();
    list.names();
    list.urls();
    list.schemes();
    let mut seen = BTreeSet::new();
    list.found
        .retain(|spelling| seen.insert(spelling.url.clone()));
    list.found
}

struct List {
    port: u16,
    found: Vec<Spelling>,
}

impl List {
    fn url(&mut self, leads: Leads, url: impl Into<String>) {
        let url = url.into();
        self.found.push(Spelling { url, leads });
    }

    fn host(&mut self, leads: Leads, host: &str) {
        let url = format!("http://{host}:{}/", self.port);
        self.url(leads, url);
    }

    /// IPv4 in all its bases, lengths, scripts and disguises.
    fn addresses(&mut self) {
        let table: [(Leads, [u8; 4]); 9] = [
            (Leads::Here, [127, 0, 0, 1]),
            (Leads::Here, [127, 255, 255, 254]),
            (Leads::Here, [127, 1, 1, 1]),
            (Leads::Inside, [169, 254, 169, 254]),
            (Leads::Inside, [0, 0, 0, 0]),
            (Leads::Inside, [10, 0, 0, 1]),
            (Leads::Inside, [172, 16, 0, 1]),
            (Leads::Inside, [192, 168, 1, 1]),
            (Leads::Inside, [100, 100, 100, 200]),
        ];
        for (leads, address) in table {
            for host in ipv4(address) {
                self.host(leads, &host);
            }
            let v4 = Ipv4Addr::from(address);
            // Linux carries a mapped address to the IPv4 one.
            for host in [format!("[::ffff:{v4}]"), mapped(v4)] {
                self.host(leads, &host);
            }
            for host in embedded(v4) {
                self.host(Leads::Inside, &host);
            }
        }
        for host in [
            "0.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "4294967295",
            "0xffffffff",
        ] {
            self.host(Leads::Inside, host);
        }
        // Not an address for anyone who counts.
        for host in [
            "127.0.0.1.1",
            "127.0.0.256",
            "4294967296",
            "6425673729",
            "0x17f000001",
            "0x7f.0.0.0x100",
            "127.0.0.0x1g",
            "0xzz.1",
            "127..0.1",
            "127.0.0.08",
            "-127.0.0.1",
            "127.0.0.1..",
            "0b01111111.0.0.1",
            "127.0.0.1%00",
            "127.0.0.1%20",
            "127.0.0.1%09",
            "127.0.0.1%2f",
            "127.0.0.1^",
            "127.0.0.1,example.com",
        ] {
            self.host(Leads::Name, host);
        }
    }

    fn whole_ipv6(&mut self) {
        for host in [
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[0000:0000:0000:0000:0000:0000:0000:0001]",
            "[::0001]",
            "[0::1]",
            "[::0.0.0.1]",
            "[0:0::0:1]",
        ] {
            self.host(Leads::HereIpv6, host);
        }
        for host in [
            "[::]",
            "[::2]",
            "[0:0:0:0:0:0:0:0]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
            "[fc00::1]",
            "[fd00::1]",
            "[fd00:ec2::254]",
            "[FD00:EC2::254]",
            "[fd20:ce::254]",
            "[ff01::1]",
            "[ff02::1]",
            "[ff05::1:3]",
            "[100::1]",
            "[2001:db8::1]",
            "[3fff::1]",
            "[5f00::1]",
            "[2001::1]",
            "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
            "[64:ff9b:1::1]",
        ] {
            self.host(Leads::Inside, host);
        }
        for host in [
            "[::1%25lo]",
            "[::1%lo]",
            "[::1%251]",
            "[fe80::1%25eth0]",
            "[fe80::1%eth0]",
            "[::1",
            "::1",
            "[::1]]",
            "[[::1]]",
            "[127.0.0.1]",
            "[0x7f000001]",
            "[::ffff:127.0.0.1.]",
            "[::ffff:0x7f.0.0.1]",
            "[::ffff:127.1]",
            "[v1.::1]",
            "%5B::1%5D",
        ] {
            self.host(Leads::Name, host);
        }
    }

    fn names(&mut self) {
        for host in [
            "localhost",
            "LOCALHOST",
            "LocalHost",
            "ｌｏｃａｌｈｏｓｔ",
            "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
            "𝓵𝓸𝓬𝓪𝓵𝓱𝓸𝓼𝓽",
            "%6c%6f%63%61%6c%68%6f%73%74",
            "loc\u{ad}alhost",
            "loc\u{200b}alhost",
        ] {
            self.host(Leads::Here, host);
        }
        for host in [
            "localhost.",
            "localhost..",
            "localhost.localdomain",
            "localhost4",
            "localhost6",
            "localhost6.localdomain6",
            "ip6-localhost",
            "ip6-loopback",
            "loopback",
            "broadcasthost",
            "app.localhost",
            "127.0.0.1.localhost",
            "foo.internal",
            "metadata",
            "metadata.google.internal",
            "instance-data",
            "kubernetes.default.svc",
            "host.docker.internal",
            "printer.local",
            "router.lan",
            "l\u{2024}ocalhost",
            "xn--localhost",
        ] {
            self.host(Leads::Name, host);
        }
    }

    /// What stands around the host.
    fn urls(&mut self) {
        let p = self.port;
        for url in [
            format!("HTTP://127.0.0.1:{p}/"),
            format!("hTtP://127.0.0.1:{p}/"),
            format!("http:/127.0.0.1:{p}/"),
            format!("http:127.0.0.1:{p}/"),
            format!("http:////127.0.0.1:{p}/"),
            format!("http:\\\\127.0.0.1:{p}\\"),
            format!("http:/\\127.0.0.1:{p}/"),
            format!("http://127.0.0.1:{p}\\@example.com/"),
            format!("http://127.0.0.1:{p}#@example.com/"),
            format!("http://127.0.0.1:{p}?@example.com/"),
            format!("http://127.0.0.1:{p}/@example.com"),
            format!("http://127.0.0.1:{p}/%2e%2e//example.com/"),
            format!("http://127.0.0.1:0{p}/"),
            format!("http://127.0.0.1:00000000{p}/"),
            format!("  http://127.0.0.1:{p}/  "),
            format!("\t\nhttp://127.0.0.1:{p}/\r\n"),
            format!("\u{1}http://127.0.0.1:{p}/\u{1f}"),
            format!("ht\ntp://127.0.0.1:{p}/"),
            format!("http://127.0\t.0.1:{p}/"),
            format!("http://127.0.\r\n0.1:{p}/"),
            format!("http:\t//127.0.0.1:{p}/"),
            format!("http://\n127.0.0.1:{p}/"),
            format!("http://127.0.0.1:\t{p}/"),
            format!("http://127.0.0.1:{p}"),
            format!("http://127.0.0.1:{p}?x"),
            format!("http://127.0.0.1:{p}#x"),
            format!("http://@127.0.0.1:{p}/"),
            format!("http://:@127.0.0.1:{p}/"),
        ] {
            self.url(Leads::Here, url);
        }
        let far = u32::from(p) + 65_536;
        for url in [
            format!("http://example.com@127.0.0.1:{p}/"),
            format!("http://example.com:80@127.0.0.1:{p}/"),
            format!("http://example.com%40@127.0.0.1:{p}/"),
            format!("http://example.com@@127.0.0.1:{p}/"),
            format!("http://a:b@c@127.0.0.1:{p}/"),
            format!("http://example.com%2f@127.0.0.1:{p}/"),
            format!("http://example.com\t@127.0.0.1:{p}/"),
            format!("http://8.8.8.8@localhost:{p}/"),
            format!("http://user:pw@[::1]:{p}/"),
            format!("//127.0.0.1:{p}/"),
            format!("///127.0.0.1:{p}/"),
            format!("\\\\127.0.0.1:{p}\\"),
            format!("127.0.0.1:{p}"),
            format!("localhost:{p}"),
            format!("/127.0.0.1:{p}"),
            format!("://127.0.0.1:{p}"),
            format!("http//127.0.0.1:{p}/"),
            format!("http;//127.0.0.1:{p}/"),
            format!("http://127.0.0.1:{far}/"),
            format!("http://127.0.0.1:-{p}/"),
            format!("http://127.0.0.1:+{p}/"),
            format!("http://127.0.0.1:{p}a/"),
            format!("http://127.0.0.1:{p}:80/"),
            format!("http://127.0.0.1:0x{p:x}/"),
            format!("http://127.0.0.1 :{p}/"),
            format!("http://127.0.0.1:{p} example.com/"),
            format!("http://example.com 127.0.0.1:{p}/"),
            format!("http://example.com:80:127.0.0.1:{p}/"),
            format!("http://<127.0.0.1>:{p}/"),
            format!("http://127.0.0.1|x:{p}/"),
            format!("http://\u{0}127.0.0.1:{p}/"),
            "http://".to_owned(),
            "http://:80/".to_owned(),
            "http:///".to_owned(),
            "http://?".to_owned(),
            " ".to_owned(),
        ] {
            self.url(Leads::Nowhere, url);
        }
        // Without TLS on the canary it is hit all the same, before the handshake fails.
        for host in ["127.0.0.1", "2130706433", "[::ffff:7f00:1]"] {
            self.url(Leads::Inside, format!("https://{host}:{p}/"));
        }
    }

    fn schemes(&mut self) {
        let p = self.port;
        for scheme in [
            "file",
            "ftp",
            "ftps",
            "sftp",
            "tftp",
            "ssh",
            "gopher",
            "dict",
            "ldap",
            "ldaps",
            "imap",
            "pop3",
            "smtp",
            "telnet",
            "rtsp",
            "smb",
            "nfs",
            "redis",
            "ws",
            "wss",
            "unix",
            "http+unix",
            "socks5",
            "netdoc",
            "view-source",
            "blob",
            "chrome",
            "httpx",
            "http2",
            "https+http",
        ] {
            self.url(Leads::Nowhere, format!("{scheme}://127.0.0.1:{p}/x"));
        }
        for url in [
            "file:///etc/passwd".to_owned(),
            "FILE:///etc/passwd".to_owned(),
            "file:/etc/passwd".to_owned(),
            "file:etc/passwd".to_owned(),
            "data:text/plain,hello".to_owned(),
            "data:text/html;base64,aGVsbG8=".to_owned(),
            "javascript:fetch('http://127.0.0.1/')".to_owned(),
            "about:blank".to_owned(),
            "mailto:root@localhost".to_owned(),
            format!("jar:http://127.0.0.1:{p}!/a"),
            format!("view-source:http://127.0.0.1:{p}/"),
            format!("url:http://127.0.0.1:{p}/"),
            format!("gopher://127.0.0.1:{p}/_GET%20/%20HTTP/1.0%0d%0a%0d%0a"),
            "unix:/var/run/docker.sock".to_owned(),
            "http+unix://%2Fvar%2Frun%2Fdocker.sock/info".to_owned(),
            "php://filter/resource=/etc/passwd".to_owned(),
            "expect://id".to_owned(),
        ] {
            self.url(Leads::Nowhere, url);
        }
    }
}

/// One IPv4 address in every base and length that `inet_aton` and the URL standard read.
fn ipv4(address: [u8; 4]) -> Vec<String> {
    let [a, b, c, d] = address;
    let bits = u32::from_be_bytes(address);
    let low = bits & 0x00ff_ffff;
    let half = u16::from_be_bytes([c, d]);
    let dotted = format!("{a}.{b}.{c}.{d}");
    let wide = |text: &str| -> String {
        let widen = |c: char| char::from_u32(u32::from(c) + 0xfee0).expect("a full-width form");
        text.chars().map(widen).collect()
    };
    let escaped: String = dotted.bytes().map(|byte| format!("%{byte:02x}")).collect();
    vec![
        dotted.clone(),
        format!("{dotted}."),
        format!("{bits}"),
        format!("{bits}."),
        format!("{bits:#x}"),
        format!("{bits:#X}").replace('X', "x"),
        format!("0X{bits:X}"),
        format!("0x00000000{bits:08x}"),
        format!("0{bits:o}"),
        format!("0000000{bits:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("{a:#04X}.{b:#04X}.{c:#04X}.{d:#04X}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("000{a:o}.0000{b:o}.00000{c:o}.0{d:o}"),
        format!("{a:#x}.{b}.0{c:o}.{d}"),
        format!("0{a:o}.{b:#x}.{c}.{d:#x}"),
        format!("{a}.{low}"),
        format!("{a:#x}.{low:#x}"),
        format!("0{a:o}.0{low:o}"),
        format!("{a}.{b}.{half}"),
        format!("{a:#x}.0{b:o}.{half}"),
        wide(&dotted),
        format!("{}.{b}.{c}.{d}", wide(&a.to_string())),
        wide(&bits.to_string()),
        dotted.replace('.', "。"),
        dotted.replace('.', "．"),
        dotted.replace('.', "｡"),
        dotted.replacen('.', "。", 1),
        dotted.replace('.', "%2e"),
        dotted.replace('.', "%E3%80%82"),
        escaped.clone(),
        escaped.to_uppercase(),
        format!("{a}\u{ad}.{b}.{c}.{d}"),
        format!("{a}.{b}.\u{200b}{c}.{d}"),
    ]
}

fn mapped(v4: Ipv4Addr) -> String {
    let [.., high, low] = v4.to_ipv6_mapped().segments();
    format!("[0:0:0:0:0:FFFF:{high:x}:{low:04X}]")
}

/// IPv6 addresses that stand for an IPv4 one, or lead to it through some gateway.
fn embedded(v4: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = v4.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let written = |segments: [u16; 8]| format!("[{}]", Ipv6Addr::from(segments));
    let compatible = [0, 0, 0, 0, 0, 0, high, low];
    let mut all = vec![
        written([0, 0, 0, 0, 0xffff, 0, high, low]),
        written([0x64, 0xff9b, 0, 0, 0, 0, high, low]),
        format!("[64:ff9b::{v4}]"),
        format!("[0064:FF9B:0::{v4}]"),
        written([0x64, 0xff9b, 1, 0, 0, 0, high, low]),
        written([0x2002, high, low, 0, 0, 0, 0, 0]),
        written([0x2002, high, low, 0, 0, 0, 0, 1]),
        format!("[2002:{high:04X}:{low:04X}:0:0:0:{v4}]"),
        written([0x2001, 0, high, low, 0, 0, 0, 0]),
        written([0x2001, 0, 0x4136, 0xe378, 0x8000, 0xf0fa, !high, !low]),
        written([0xfe80, 0, 0, 0, 0, 0x5efe, high, low]),
        written([0x2a00, 0, 0, 0, 0x200, 0x5efe, high, low]),
    ];
    // `::1` in other words is a spelling of its own.
    if high != 0 {
        all.push(format!("[::{v4}]"));
        all.push(written(compatible));
    }
    all
}
