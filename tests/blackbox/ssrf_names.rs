//! Names are judged by the addresses they have when they are connected to.
//!
//! The gateway runs with a hosts file of its own where one can be mounted. Answers that change
//! between check and connect cannot be timed from outside with certainty; the injected resolver of
//! `guard::egress::tests` does that (`a_name_that_changes_its_answer_gains_nothing`,
//! `one_private_address_among_public_ones_is_enough_to_refuse`), and here a file changes all the time.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::harness::{BINARY, Gateway, Home, UP};
use crate::origin::{Origin, Reply};
use crate::ssrf::{LOOPBACK, SURFACES};

const ONE_ALLOWED: &str = "[egress]\nallow_private = [\"127.0.0.2/32\"]\n";

/// How to give a process a hosts file of its own: as root, or as root of a user namespace.
fn way(hosts: &Path) -> Option<Vec<&'static str>> {
    let ways = [
        vec!["unshare", "--mount"],
        vec!["unshare", "--user", "--map-root-user", "--mount"],
    ];
    ways.into_iter().find(|way| {
        let mut command = Command::new(way[0]);
        command
            .args(&way[1..])
            .args(["sh", "-c", "mount --bind \"$0\" /etc/hosts"])
            .arg(hosts);
        let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    })
}

/// A gateway that sees these names; an ordinary one, with `false`, where nothing can be mounted.
fn gateway(settings: &str, hosts: &str) -> (Gateway, bool) {
    let home = Home::new().with_config(settings);
    let file = home.outside("hosts");
    std::fs::write(&file, hosts).expect("the names");
    let Some(way) = way(&file) else {
        return (Gateway::on(home), false);
    };
    let mut command = home.wrap(Command::new(way[0]));
    command
        .args(&way[1..])
        .args(["sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""])
        .arg(&file)
        .arg(BINARY)
        .args(UP);
    (Gateway::from(home, command), true)
}

const HOSTS: &str = "\
127.0.0.1 localhost
127.0.0.1 inside.test
::1 inside6.test
127.0.0.1 localhost.localdomain
127.0.0.1 localhost4
::1 localhost6 ip6-localhost ip6-loopback
127.0.0.1 app.localhost
127.0.0.1 127.0.0.1.nip.test
127.0.0.1 xn--bcher-kva.test
127.255.255.254 edge.test
0.0.0.0 zero.test
10.0.0.1 db.corp.test
169.254.169.254 metadata.google.internal
fd00:ec2::254 metadata6.test
::ffff:127.0.0.1 mapped.test
64:ff9b::7f00:1 nat64.test
2002:7f00:1:: sixtofour.test
fe80::1 link.test
93.184.215.14 mixed.test
127.0.0.1 mixed.test
127.0.0.1 mixed-first.test
93.184.215.14 mixed-first.test
2606:2800:21f:cb07:6820:80da:af6b:8b2c mixed6.test
::1 mixed6.test
127.0.0.2 half.test
127.0.0.1 half.test
127.0.0.2 allowed.test
";

/// Names of the file that lead to the canary once loopback is allowed.
const LOOPBACK_NAMES: [&str; 12] = [
    "localhost",
    "LOCALHOST",
    "inside.test",
    "INSIDE.test",
    "localhost.localdomain",
    "localhost4",
    "app.localhost",
    "127.0.0.1.nip.test",
    "bücher.test",
    "b%C3%BCcher.test",
    "edge.test",
    "mapped.test",
];

const OTHER_NAMES: [&str; 15] = [
    "inside6.test",
    "localhost6",
    "ip6-localhost",
    "ip6-loopback",
    "zero.test",
    "db.corp.test",
    "metadata.google.internal",
    "metadata6.test",
    "nat64.test",
    "sixtofour.test",
    "link.test",
    "mixed.test",
    "mixed-first.test",
    "mixed6.test",
    "half.test",
];

#[test]
fn a_name_is_what_it_resolves_to() {
    let canary = Origin::canary();
    let port = canary.port();
    let server = Origin::on([127, 0, 0, 2], move |heard| {
        Reply::redirect(302, &format!("http://{}:{port}/", &heard.target[1..]))
    });
    let (guarded, named) = gateway(ONE_ALLOWED, HOSTS);
    let names = LOOPBACK_NAMES.iter().chain(&OTHER_NAMES);
    // Every machine knows the first.
    let names: Vec<&&str> = names.take(if named { 100 } else { 2 }).collect();
    for (index, name) in names.iter().enumerate() {
        for (tool, arguments) in SURFACES {
            let said = guarded.call(tool, arguments(&format!("http://{name}:{port}/")));
            assert_private(name, &said);
        }
        let (tool, arguments) = SURFACES[index % 2];
        let said = guarded.call(tool, arguments(&server.url(&format!("/{name}"))));
        assert_private(name, &said);
    }
    assert_eq!(canary.hits(), 0);
    assert_eq!(server.hits(), names.len(), "the redirects were met");
    if named {
        let url = format!("http://allowed.test:{}/inside.test", server.port());
        assert_private(
            "inside.test",
            &guarded.call("url_fetch", json!({ "url": url })),
        );
        assert_eq!(server.hits(), names.len() + 1, "a name that is allowed");
    }
    let (open, _) = gateway(LOOPBACK, HOSTS);
    for (count, name) in LOOPBACK_NAMES.iter().take(names.len()).enumerate() {
        let url = format!("http://{name}:{port}/");
        let said = open.call("tool::web_fetch", json!({ "url": url }));
        assert_eq!(said["result"]["content"], "canary", "{name}: {said}");
        assert_eq!(canary.hits(), count + 1);
    }
}

#[track_caller]
fn assert_private(name: &str, said: &Value) {
    assert_eq!(said["code"], "forbidden", "{name}: {said}");
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains("`egress.allow_private`"), "{name}: {error}");
}

#[test]
fn a_name_that_changes_all_the_time_never_leads_inside() {
    const LINE: &str = "127.0.0.2 flip.test\n";
    let (allowed, private) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST);
    let server = Origin::on_each(&[[127, 0, 0, 2], [127, 0, 0, 1]], |_| Reply::text("here"));
    let (guarded, named) = gateway(ONE_ALLOWED, LINE);
    // Where nothing can be mounted, the address in the URL changes instead of the name's.
    let hosts = File::options()
        .write(true)
        .open(guarded.home.outside("hosts"))
        .expect("the names");
    let last_digit = LINE.find(" flip").expect("a name") as u64 - 1;
    let write = |digit: &[u8; 1]| hosts.write_all_at(digit, last_digit).expect("a digit");
    let url = |host: &str| json!({ "url": format!("http://{host}:{}/", server.port()) });
    let done = AtomicBool::new(false);
    let (mut reached, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                write(b"1");
                write(b"2");
            }
        });
        for index in 0..400 {
            let host = match (named, index % 2) {
                (true, _) => "flip.test",
                (false, 0) => "127.0.0.2",
                (false, _) => "127.0.0.1",
            };
            let said = guarded.call(SURFACES[index % 2].0, url(host));
            match said["code"].as_str() {
                None => reached += 1,
                Some(code) => {
                    assert_eq!(code, "forbidden", "{said}");
                    refused += 1;
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.hits_at(IpAddr::V4(private)), 0);
    assert_eq!(server.hits_at(IpAddr::V4(allowed)), reached);
    assert!(reached > 0 && refused > 0, "{reached} and {refused}");
    // And slowly: what was reached a moment ago is refused after the name has moved.
    if named {
        for (digit, ok) in [(b"2", true), (b"1", false), (b"2", true), (b"1", false)] {
            write(digit);
            let said = guarded.call("tool::web_fetch", url("flip.test"));
            assert_eq!(said["ok"], ok, "{said}");
        }
        assert_eq!(server.hits_at(IpAddr::V4(private)), 0);
    }
    println!("{reached} reached the allowed address, {refused} were refused");
}
