//! The network: every kind of socket, from every program that opens one.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::{Yard, bash_argv, text};

/// Somebody who listens in every way a program could reach.
struct Ear {
    tcp: TcpListener,
    udp: UdpSocket,
    file: UnixListener,
    hidden: UnixListener,
}

impl Ear {
    fn open(yard: &Yard) -> Self {
        let hidden = SocketAddr::from_abstract_name(&yard.canary).expect("a name");
        let ear = Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            // In the workspace, where even the files may be opened.
            file: UnixListener::bind(yard.work().join("socket")).expect("a socket"),
            hidden: UnixListener::bind_addr(&hidden).expect("a socket"),
        };
        ear.tcp.set_nonblocking(true).expect("a listener");
        ear.udp.set_nonblocking(true).expect("a listener");
        ear.file.set_nonblocking(true).expect("a listener");
        ear.hidden.set_nonblocking(true).expect("a listener");
        ear
    }

    /// Whether anybody came. The kernel answers a connection on this machine before the
    /// caller goes on, so that nothing can be on its way once a program has ended.
    fn heard(&self) -> bool {
        let mut byte = [0];
        let tcp = self.tcp.accept().is_ok();
        let udp = self.udp.recv_from(&mut byte).is_ok();
        let file = self.file.accept().is_ok();
        let hidden = self.hidden.accept().is_ok();
        tcp || udp || file || hidden
    }

    /// `script` with the ports and names in it.
    fn fill(&self, script: &str, yard: &Yard) -> String {
        let tcp = self.tcp.local_addr().expect("a port").port();
        let udp = self.udp.local_addr().expect("a port").port();
        format!(
            "TCP={tcp} UDP={udp} FILE={}/socket NAME='{}'\nexport TCP UDP FILE NAME\n{script}",
            text(&yard.work()),
            yard.canary
        )
    }
}

/// Over the internet's protocols.
const INTERNET: &[&str] = &[
    "exec 3<> /dev/tcp/127.0.0.1/$TCP",
    "echo x > /dev/udp/127.0.0.1/$UDP",
    "python3 -c 'import os, socket; socket.create_connection((\"127.0.0.1\", int(os.environ[\"TCP\"])))'",
    "python3 -c 'import os, socket; socket.socket(2, 2).sendto(b\"x\", (\"127.0.0.1\", int(os.environ[\"UDP\"])))'",
    "python3 -c 'import os, socket; socket.socket(10, 1).connect((\"::ffff:127.0.0.1\", int(os.environ[\"TCP\"])))'",
    // A question to a name server.
    "python3 -c 'import os, socket; socket.socket(2, 2).sendto(bytes.fromhex(\"0001010000010000000000000161016200\
     00010001\"), (\"127.0.0.1\", int(os.environ[\"UDP\"])))'",
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:$ENV{TCP}\") or exit 1'",
];

/// Between programs of this machine.
const LOCAL: &[&str] = &[
    "python3 -c 'import os, socket; socket.socket(1, 1).connect(os.environ[\"FILE\"])'",
    "python3 -c 'import os, socket; socket.socket(1, 1).connect(\"\\0\" + os.environ[\"NAME\"])'",
];

/// Kinds of socket that somebody may open on most machines, root or not.
const KINDS: &[(&str, &str)] = &[
    ("internet", "2, 1, 0"),
    ("datagram", "2, 2, 0"),
    ("internet 6", "10, 1, 0"),
    ("netlink", "16, 3, 0"),
    ("unix", "1, 1, 0"),
    ("unix datagram", "1, 2, 0"),
];

/// Kinds that only root may.
const ROOTS: &[(&str, &str)] = &[
    ("raw", "2, 3, 1"),
    ("raw 6", "10, 3, 58"),
    ("packet", "17, 3, 768"),
];

fn opens(kind: &str) -> String {
    format!("python3 -c 'import socket; socket.socket({kind})'")
}

#[test]
fn nothing_is_reached_without_a_network() {
    let yard = Yard::new();
    let ear = Ear::open(&yard);
    for script in INTERNET.iter().chain(LOCAL) {
        let script = ear.fill(script, &yard);
        let said = yard.bash(&script);
        assert!(!ear.heard(), "{script}: {said:?}");
        assert_ne!(said.code, 0, "{script}: {said:?}");
        let free = yard.freely(&bash_argv(&script));
        assert!(ear.heard(), "control of {script}: {free:?}");
    }
    let url = format!(
        "http://127.0.0.1:{}/",
        ear.tcp.local_addr().expect("a port").port()
    );
    let fetch = format!(
        "require('net').connect({}, '127.0.0.1').on('connect', () => process.exit(0))",
        ear.tcp.local_addr().expect("a port").port()
    );
    for argv in [
        vec!["curl", "-s", "-m", "1", &url],
        vec!["wget", "-q", "-T", "1", "-t", "1", "-O", "/dev/null", &url],
        vec![
            "git",
            "-c",
            "http.lowSpeedLimit=1",
            "-c",
            "http.lowSpeedTime=1",
            "ls-remote",
            &url,
        ],
        vec!["node", "-e", &fetch],
    ] {
        let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        let said = yard.shell(&argv);
        assert!(!ear.heard() && said.code != 0, "{argv:?}: {said:?}");
        yard.freely(&argv);
        assert!(ear.heard(), "control of {argv:?}");
    }
    for (name, kind) in KINDS.iter().chain(ROOTS) {
        assert_ne!(yard.bash(&opens(kind)).code, 0, "{name}");
    }
    let root = rustix::process::getuid().is_root();
    let roots = ROOTS.iter().filter(|_| root);
    for (name, kind) in KINDS.iter().chain(roots) {
        let free = yard.freely(&bash_argv(&opens(kind)));
        assert_eq!(free.code, 0, "control of {name}: {free:?}");
    }
    // A listener is a socket too.
    let listens = "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'";
    assert_ne!(yard.bash(listens).code, 0);
    assert_eq!(yard.freely(&bash_argv(listens)).code, 0);
    // Names that this machine knows by itself are no network; all others are not found.
    assert_ne!(yard.bash("getent ahosts manyhands.invalid").code, 0);
    yard.assert_well();
}

#[test]
fn a_rule_that_grants_the_network_grants_the_internet_and_no_more() {
    let yard =
        Yard::with("[[policy.rules]]\ntools = [\"bash\"]\ndecision = \"allow\"\nnetwork = true\n");
    let ear = Ear::open(&yard);
    for script in INTERNET {
        let script = ear.fill(script, &yard);
        let said = yard.bash(&script);
        assert!(ear.heard() && said.code == 0, "{script}: {said:?}");
    }
    for script in LOCAL {
        let script = ear.fill(script, &yard);
        let said = yard.bash(&script);
        assert!(!ear.heard() && said.code != 0, "{script}: {said:?}");
        yard.freely(&bash_argv(&script));
        assert!(ear.heard(), "control of {script}");
    }
    for (name, kind) in [
        ("unix", "1, 1, 0"),
        ("packet", "17, 3, 768"),
        ("vsock", "40, 1, 0"),
    ] {
        assert_ne!(yard.bash(&opens(kind)).code, 0, "{name}");
    }
    // Spoofing others takes raw sockets, and reconfiguring the machine more of netlink than questions.
    for (name, kind) in [
        ("raw", "2, 3, 1"),
        ("raw 6", "10, 3, 58"),
        ("firewall", "16, 3, 12"),
        ("audit", "16, 3, 9"),
    ] {
        assert_ne!(yard.bash(&opens(kind)).code, 0, "{name}");
    }
    // The rule names bash; other tools have no part in it.
    let port = ear.tcp.local_addr().expect("a port").port();
    let argv = [
        "curl",
        "-s",
        "-m",
        "1",
        &format!("http://127.0.0.1:{port}/"),
    ]
    .map(str::to_owned);
    let said = yard.shell(&argv);
    assert!(!ear.heard() && said.code != 0, "{said:?}");
    yard.assert_well();
}
