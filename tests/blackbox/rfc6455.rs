//! `/ws` as RFC 6455 wants it, frame by frame over a raw connection: the cases of the Autobahn test suite, with an
//! answered request in the place of the echo. Numbers in tables are Autobahn's.

use std::collections::{BTreeSet, VecDeque};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::PATIENCE;
use crate::nodes::player::greeting;
use crate::socket::hello;

const CONTINUE: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FIN: u8 = 0x80;

const BRIDGE: &str = "[channels.bridges.signal.accounts.default]\nenabled = true\n";

/// A masked frame. The first byte has the flags and the opcode.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head(first, payload.len(), true);
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
    bytes
}

fn head(first: u8, length: usize, masked: bool) -> Vec<u8> {
    let bit = if masked { 0x80 } else { 0 };
    match length {
        0..=125 => vec![first, bit | length as u8],
        126..=0xffff => [&[first, bit | 126][..], &(length as u16).to_be_bytes()].concat(),
        _ => [&[first, bit | 127][..], &(length as u64).to_be_bytes()].concat(),
    }
}

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes()[..], reason].concat())
}

/// A request that every role's socket answers, with a text of this length in it.
fn request(id: &str, padding: usize) -> String {
    json!({ "type": "req", "id": id, "method": "nope", "params": { "text": "x".repeat(padding) } })
        .to_string()
}

/// What comes from the gateway.
#[derive(Debug, PartialEq, Eq)]
enum Got {
    Frame(u8, Vec<u8>),
    /// The connection ended cleanly.
    End,
    /// It was reset.
    Reset,
}

/// A connection on which every byte is the test's.
struct Raw {
    stream: TcpStream,
    buffer: VecDeque<u8>,
}

impl Raw {
    fn open(gateway: &Gateway) -> Self {
        let stream = TcpStream::connect(gateway.addr).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        let mut raw = Self {
            stream,
            buffer: VecDeque::new(),
        };
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let ask = format!(
            "GET /ws HTTP/1.1\r\nHost: {}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n",
            gateway.addr
        );
        raw.send(ask.as_bytes());
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(raw.byte().expect("a whole answer"));
        }
        let answer = String::from_utf8(answer).expect("text").to_lowercase();
        assert!(answer.starts_with("http/1.1 101 "), "{answer}");
        // The example of the RFC.
        let accept = "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=";
        assert!(answer.contains(accept), "{answer}");
        raw
    }

    /// Opens it and logs in with this `connect`.
    #[track_caller]
    fn login(gateway: &Gateway, connect: Option<Value>) -> Self {
        let mut raw = Self::open(gateway);
        if let Some(params) = connect {
            raw.send_text(
                &json!({ "type": "req", "id": "c", "method": "connect", "params": params })
                    .to_string(),
            );
            let hello = raw.answer("c");
            assert_eq!(hello["ok"], true, "{hello}");
        }
        raw
    }

    fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes); // the gateway may have closed
    }

    fn send_text(&mut self, text: &str) {
        self.send(&frame(FIN | TEXT, text.as_bytes()));
    }

    fn byte(&mut self) -> Result<u8, Got> {
        if self.buffer.is_empty() {
            let mut bytes = [0; 16 * 1024];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(Got::End),
                Ok(read) => self.buffer.extend(&bytes[..read]),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Err(Got::Reset),
                Err(e) => panic!("{e}"),
            }
        }
        Ok(self.buffer.pop_front().expect("bytes"))
    }

    /// The next frame. The gateway's are whole and not masked.
    fn frame(&mut self) -> Got {
        let mut number = |bytes: usize| -> Result<u64, Got> {
            (0..bytes).try_fold(0, |sum, _| Ok(sum << 8 | u64::from(self.byte()?)))
        };
        let read = (|| {
            let first = number(1)? as u8;
            let length = match number(1)? {
                126 => number(2)?,
                127 => number(8)?,
                masked if masked > 127 => panic!("a masked frame of a server"),
                length => length,
            };
            Ok((first, length))
        })();
        let (first, length) = match read {
            Ok(read) => read,
            Err(end) => return end,
        };
        assert_eq!(first & 0xf0, FIN, "whole frames without extensions");
        let payload = (0..length).map(|_| self.byte().expect("a whole frame"));
        Got::Frame(first & 0x0f, payload.collect())
    }

    /// The next frame that is no ping and no event.
    fn next(&mut self) -> Got {
        loop {
            match self.frame() {
                Got::Frame(PING, _) => {}
                Got::Frame(TEXT, text) if text.starts_with(br#"{"type":"evt""#) => {}
                got => return got,
            }
        }
    }

    /// The next answer; it is the one to this request.
    #[track_caller]
    fn answer(&mut self, id: &str) -> Value {
        let Got::Frame(TEXT, text) = self.next() else {
            panic!("no answer to {id}");
        };
        let answer: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The code of the Close frame that comes next, behind which the connection ends without a reset.
    #[track_caller]
    fn closed(&mut self, what: &str) -> Option<u16> {
        let Got::Frame(CLOSE, payload) = self.next() else {
            panic!("{what}: no Close");
        };
        self.send(&frame(FIN | CLOSE, &payload));
        assert_eq!(self.next(), Got::End, "{what}");
        let code = payload.get(..2)?.try_into().expect("two bytes");
        assert!(str::from_utf8(&payload[2..]).is_ok(), "{what}");
        Some(u16::from_be_bytes(code))
    }
}

/// A `connect` for each role of a socket, and none for one that has not logged in.
fn roles(gateway: &Gateway) -> [(&'static str, Option<Value>); 4] {
    let mut bridge = hello(Some(&gateway.owner));
    bridge["client"]["mode"] = json!("channel");
    bridge["client"]["channel"] = json!("signal");
    [
        ("before connect", None),
        ("client", Some(hello(Some(&gateway.owner)))),
        ("node", Some(greeting("there", &gateway.owner))),
        ("bridge", Some(bridge)),
    ]
}

#[test]
fn a_violation_is_answered_with_its_code_on_every_socket_before_and_after_connect() {
    let gateway = Gateway::with_config(BRIDGE);
    let invalid = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited";
    let mut cases = vec![
        (
            "2.5 a ping of 126 bytes",
            frame(FIN | PING, &[0xfe; 126]),
            1002,
        ),
        ("3.1 RSV1", frame(FIN | 0x40 | TEXT, b"{}"), 1002),
        ("3.3 RSV2 and RSV3", frame(FIN | 0x30 | TEXT, b"{}"), 1002),
        (
            "3.5 RSV in binary",
            frame(FIN | 0x10 | BINARY, b"1234"),
            1002,
        ),
        ("3.6 RSV in a ping", frame(FIN | 0x20 | PING, b""), 1002),
        (
            "3.7 RSV in a Close",
            frame(FIN | 0x70 | CLOSE, &[3, 232]),
            1002,
        ),
        ("5.1 a fragmented ping", frame(PING, b"half"), 1002),
        ("5.2 a fragmented pong", frame(PONG, b"half"), 1002),
        (
            "5.9 a continuation of nothing",
            frame(FIN | CONTINUE, b"x"),
            1002,
        ),
        (
            "5.12 an open continuation of nothing",
            frame(CONTINUE, b"x"),
            1002,
        ),
        (
            "5.18 text within text",
            [frame(TEXT, b"a"), frame(FIN | TEXT, b"b")].concat(),
            1002,
        ),
        (
            "6.3.1 text that is not UTF-8",
            frame(FIN | TEXT, invalid),
            1007,
        ),
        (
            "6.3.2 in fragments of a byte",
            invalid
                .iter()
                .enumerate()
                .flat_map(|(at, byte)| frame(if at == 0 { TEXT } else { CONTINUE }, &[*byte]))
                .collect(),
            1007,
        ),
        (
            "6.4.1 found before the last fragment",
            [
                frame(TEXT, b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"),
                frame(CONTINUE, b"\xf4\x90\x80\x80"),
            ]
            .concat(),
            1007,
        ),
        (
            "6.8 an overlong encoding",
            frame(FIN | TEXT, b"\xc0\xaf"),
            1007,
        ),
        ("6.6 half a character", frame(FIN | TEXT, b"\xce"), 1007),
        ("7.3.2 a Close of one byte", frame(FIN | CLOSE, &[3]), 1002),
        (
            "7.3.6 a Close of 126 bytes",
            close(1000, &[b'*'; 124]),
            1002,
        ),
        (
            "7.5.1 a reason that is not UTF-8",
            close(1000, invalid),
            1007,
        ),
        (
            "a frame without a mask",
            [head(FIN | TEXT, 2, false), b"{}".to_vec()].concat(),
            1002,
        ),
        (
            "a message over limits.request_bytes",
            head(FIN | TEXT, usize::MAX >> 1, true),
            1009,
        ),
    ];
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        cases.push(("4 a reserved opcode", frame(FIN | opcode, b""), 1002));
    }
    for code in [
        0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535,
    ] {
        cases.push(("7.9 a code that may not be sent", close(code, b""), 1002));
    }
    for (role, connect) in roles(&gateway) {
        for (case, bytes, code) in &cases {
            let mut raw = Raw::login(&gateway, connect.clone());
            raw.send(bytes);
            // What comes behind a violation is not read, and does not turn the end into a reset.
            raw.send(&frame(FIN | PING, b"behind"));
            assert_eq!(
                raw.closed(&format!("{role}: {case}")),
                Some(*code),
                "{role}: {case}"
            );
        }
    }
    gateway.ws().call("gsv__ListFiles", &json!({})); // it serves on
}

#[test]
fn a_close_is_answered_with_its_code_on_every_socket_before_and_after_connect() {
    let gateway = Gateway::with_config(BRIDGE);
    for (role, connect) in roles(&gateway) {
        let codes = [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
        ];
        for code in codes {
            let mut raw = Raw::login(&gateway, connect.clone());
            raw.send(&close(code, "7.7: grüße".as_bytes()));
            // 7.1.2: what comes behind a Close is not looked at.
            raw.send(&frame(FIN | PING, b"behind"));
            assert_eq!(raw.closed(role), Some(code), "{role}");
        }
        let mut raw = Raw::login(&gateway, connect.clone());
        raw.send(&frame(FIN | CLOSE, b""));
        assert_eq!(raw.closed(role), None, "{role}: 7.3.1");
        let mut raw = Raw::login(&gateway, connect);
        raw.send(&close(1000, &[b'*'; 123]));
        assert_eq!(raw.closed(role), Some(1000), "{role}: 7.3.5");
    }
}

#[test]
fn pings_are_answered_in_order_on_every_socket_before_and_after_connect() {
    let gateway = Gateway::with_config(BRIDGE);
    for (role, connect) in roles(&gateway) {
        let mut raw = Raw::login(&gateway, connect.clone());
        raw.send(&frame(FIN | PONG, b"2.7: not asked for"));
        let payloads: [&[u8]; 4] = [
            b"",
            b"2.2 Hello, world!",
            &[0, 255, 254, 253, 0],
            &[0xfe; 125],
        ];
        for payload in payloads {
            raw.send(&frame(FIN | PING, payload));
            assert_eq!(raw.next(), Got::Frame(PONG, payload.to_vec()), "{role}");
        }
        // 2.6: byte by byte.
        for byte in frame(FIN | PING, b"slowly") {
            raw.send(&[byte]);
        }
        assert_eq!(raw.next(), Got::Frame(PONG, b"slowly".to_vec()), "{role}");
        // 2.10: many at once.
        let many: Vec<Vec<u8>> = (0..10).map(|n| format!("ping {n}").into_bytes()).collect();
        let all: Vec<u8> = many
            .iter()
            .flat_map(|ping| frame(FIN | PING, ping))
            .collect();
        raw.send(&all);
        for ping in many {
            assert_eq!(raw.next(), Got::Frame(PONG, ping), "{role}");
        }
        if connect.is_none() {
            // None of it was taken for a first message.
            let connect = json!({ "type": "req", "id": "c", "method": "connect", "params": hello(Some(&gateway.owner)) });
            raw.send_text(&connect.to_string());
            assert_eq!(raw.answer("c")["ok"], true);
        }
        raw.send_text(&request("last", 0));
        raw.answer("last");
        raw.send(&close(1000, b""));
        assert_eq!(raw.closed(role), Some(1000));
    }
}

#[test]
fn a_message_is_understood_however_it_is_cut_into_frames() {
    let gateway = Gateway::with_config(BRIDGE);
    for (role, connect) in roles(&gateway).into_iter().skip(1) {
        let mut raw = Raw::login(&gateway, connect);
        // 1.1 and 9.1: every way to write a length, up to a message of 4 MiB.
        for padding in [0, 40, 65, 66, 67, 65_000, 65_535, 65_536, 1 << 18, 1 << 22] {
            raw.send_text(&request("whole", padding));
            raw.answer("whole");
        }
        // 6.2: the id comes back as it was, and is cut within characters.
        let id = "κόσμε 𠜎 \u{10ffff} \u{fffe}";
        let text = request(id, 100);
        for size in [1, 2, 3, 7, 64] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            for (at, piece) in pieces.iter().enumerate() {
                let fin = if at + 1 == pieces.len() { FIN } else { 0 };
                let opcode = if at == 0 { TEXT } else { CONTINUE };
                raw.send(&frame(fin | opcode, piece));
                // 5.6: control frames may come between the pieces.
                if at == 1 {
                    raw.send(&frame(FIN | PING, b"between"));
                    assert_eq!(raw.next(), Got::Frame(PONG, b"between".to_vec()), "{role}");
                }
            }
            raw.answer(id);
        }
        // 5.3 with empty pieces, and 1.1.8: the bytes of a frame one by one.
        raw.send(
            &[
                frame(TEXT, b""),
                frame(CONTINUE, b""),
                frame(FIN | CONTINUE, text.as_bytes()),
            ]
            .concat(),
        );
        raw.answer(id);
        for byte in frame(FIN | TEXT, request("slow", 0).as_bytes()) {
            raw.send(&[byte]);
        }
        raw.answer("slow");
        // 1.1.1: text that is no request is answered too.
        raw.send_text("");
        assert_eq!(raw.answer("")["error"]["code"], 400, "{role}");
        raw.send(&close(1000, b""));
        assert_eq!(raw.closed(role), Some(1000), "{role}");
    }
}

#[test]
fn binary_messages_are_refused_where_no_transfer_was_given() {
    let gateway = Gateway::with_config(BRIDGE);
    for (role, connect) in roles(&gateway) {
        let mut raw = Raw::login(&gateway, connect.clone());
        raw.send(&frame(FIN | BINARY, &[1, 2, 3, 4, 5]));
        if role == "node" {
            // A late piece of a transfer that is off: a node cannot know.
            raw.send_text(&request("on", 0));
            raw.answer("on");
            continue;
        }
        if connect.is_none() {
            assert_eq!(raw.answer("")["error"]["code"], 101);
        }
        assert_eq!(raw.closed(role), Some(1003), "{role}");
    }
}

#[test]
fn the_gateways_own_close_waits_for_the_peers() {
    let gateway = Gateway::start();
    let (token, id) = gateway.token(json!({ "name": "guest", "role": "client" }));
    let mut raw = Raw::login(&gateway, Some(hello(Some(&token))));
    gateway.cli(&["token", "revoke", &id]).ok();
    let Got::Frame(CLOSE, payload) = raw.next() else {
        panic!("no Close");
    };
    assert_eq!(payload[..2], 4001_u16.to_be_bytes());
    // What was on its way meanwhile does no harm.
    raw.send_text(&request("late", 0));
    raw.send(&frame(FIN | CLOSE, &payload));
    assert_eq!(raw.frame(), Got::End);
    // Both at once: each side takes the other's Close for the answer.
    let mut raw = Raw::open(&gateway);
    raw.send_text(&request("first", 0));
    raw.send(&close(1000, b""));
    raw.answer("first");
    let code = raw.closed("both");
    assert!(matches!(code, Some(1000 | 1008)), "{code:?}");
}

#[test]
fn what_is_no_websocket_handshake_is_refused() {
    let gateway = Gateway::start();
    let ask = |method: &str, fields: &[&str]| {
        let mut stream = TcpStream::connect(gateway.addr).expect("a connection");
        let (to, fields) = (gateway.addr, fields.join("\r\n"));
        let ask =
            format!("{method} /ws HTTP/1.1\r\nHost: {to}\r\n{fields}\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).expect("sent");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut answer = [0; 2048];
        let read = stream.read(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer[..read]).to_lowercase()
    };
    let (upgrade, key) = (
        "Connection: Upgrade\r\nUpgrade: websocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    );
    let version = "Sec-WebSocket-Version: 13";
    assert!(ask("GET", &[upgrade, key, version]).starts_with("http/1.1 101"));
    for (method, fields) in [
        ("GET", vec![key, version]),
        ("GET", vec![upgrade, version]),
        ("POST", vec![upgrade, key, version]),
    ] {
        let answer = ask(method, &fields);
        assert!(answer.starts_with("http/1.1 400"), "{fields:?}: {answer}");
    }
    let old = ask("GET", &[upgrade, key, "Sec-WebSocket-Version: 8"]);
    assert!(old.starts_with("http/1.1 426"), "{old}");
    assert!(old.contains("sec-websocket-version: 13"), "{old}");
}

/// Sends requests without reading, then reads: the ids of all answers.
fn pipelined(raw: &mut Raw, requests: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut count = 0;
    for request in requests {
        raw.send_text(&request);
        count += 1;
    }
    while ids.len() < count {
        let Got::Frame(TEXT, text) = raw.next() else {
            panic!("{} of {count} were answered", ids.len());
        };
        let answer: Value = serde_json::from_slice(&text).expect("JSON");
        assert!(
            answer["ok"] == true || answer["error"]["code"] == 404,
            "{answer}"
        );
        let id = answer["id"].as_str().expect("an id").to_owned();
        assert!(ids.insert(id), "answered twice: {answer}");
    }
    ids
}

#[test]
fn every_one_of_two_thousand_pipelined_requests_is_answered() {
    let gateway = Gateway::start();
    gateway.write("note.md", &"large ".repeat(2_000));
    let mut raw = Raw::login(&gateway, Some(hello(Some(&gateway.owner))));
    // Small answers, a tool of the path, and answers of 12 KB: more than any buffer on the way holds.
    let request = |at: usize| {
        let (method, params) = match at % 4 {
            0 => ("nope", json!({})),
            1 => (
                "tool.invoke",
                json!({ "tool": "gsv__ReadFile", "args": { "path": "none.md" } }),
            ),
            _ => ("workspace.read", json!({ "path": "note.md" })),
        };
        json!({ "type": "req", "id": format!("{at}"), "method": method, "params": params })
            .to_string()
    };
    let ids = pipelined(&mut raw, (0..2_000).map(request));
    assert_eq!(ids, (0..2_000).map(|at| at.to_string()).collect());
    // It is a socket like any other afterwards.
    raw.send(&frame(FIN | PING, b"still"));
    assert_eq!(raw.next(), Got::Frame(PONG, b"still".to_vec()));
    raw.send(&close(1000, b""));
    assert_eq!(raw.closed("after"), Some(1000));
}

#[test]
fn close_and_the_end_of_the_connection_are_noticed_behind_waiting_requests() {
    let gateway = Gateway::with_config("[node]\nsandbox = \"off\"\n");
    let sleepers = |raw: &mut Raw, count: usize| {
        for at in 0..count {
            let args = json!({ "cmd": "sleep 600" });
            let params = json!({ "tool": "bash", "args": args });
            raw.send_text(&json!({ "type": "req", "id": format!("{at}"), "method": "tool.invoke", "params": params }).to_string());
        }
    };
    let mut raw = Raw::login(&gateway, Some(hello(Some(&gateway.owner))));
    sleepers(&mut raw, 100);
    raw.send(&frame(FIN | PING, b"ahead"));
    assert_eq!(raw.next(), Got::Frame(PONG, b"ahead".to_vec()));
    raw.send(&close(1000, b""));
    assert_eq!(raw.closed("behind 100 requests"), Some(1000));
    let mut raw = Raw::login(&gateway, Some(hello(Some(&gateway.owner))));
    sleepers(&mut raw, 100);
    raw.stream
        .shutdown(Shutdown::Write)
        .expect("a half closed connection");
    assert_eq!(raw.next(), Got::End);
}

#[test]
fn a_peer_that_sends_pings_and_reads_nothing_is_not_read_without_end() {
    let gateway = Gateway::start();
    for connect in [None, Some(hello(Some(&gateway.owner)))] {
        let mut raw = Raw::login(&gateway, connect);
        let timeout = std::time::Duration::from_secs(1);
        raw.stream
            .set_write_timeout(Some(timeout))
            .expect("a timeout");
        let pings = frame(FIN | PING, &[0; 125]).repeat(1_000);
        // What the system itself holds on the way is less than this.
        let most = 64 * 1024 * 1024 / pings.len();
        let taken = (0..=most).take_while(|_| raw.stream.write_all(&pings).is_ok());
        assert!(taken.count() <= most, "pongs pile up in the gateway");
    }
    gateway.ws().call("gsv__ListFiles", &json!({})); // it serves on
}
