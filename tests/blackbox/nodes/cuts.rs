//! The connection of a node is cut at every boundary between two frames of a transfer, and the
//! node killed at some. Afterwards the file is there whole, or not at all, and nobody hangs.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::harness::{Daemon, Gateway, tree};
use crate::http::Connection;
use crate::nodes::fixture::{
    Asked, Machine, Plan, noise, parts, request, sha256, transfer, wait_online,
};
use crate::nodes::proxy::{Deed, Proxy, Way};

/// Twelve whole pieces and a bit.
const SIZE: usize = 12 * 256 * 1024 + 77;
const PIECES: usize = 13;

/// After more frames than any transfer has.
const NEVER: usize = 99_999;

/// Which end is behind the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
}

/// What the other end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Far {
    Machine,
    Workspace,
}

/// One transfer of which one end is behind a proxy.
struct Case {
    side: Side,
    way: Way,
    after: usize,
    proxy: Proxy,
    machine: Machine,
    source: String,
    destination: String,
    arrives: PathBuf,
    asked: Option<Asked>,
}

impl Case {
    /// Lends a machine through a proxy of its own; the other end is `far`, or the workspace.
    fn prepare(
        gateway: &Gateway,
        far: Option<&Machine>,
        side: Side,
        way: Way,
        after: usize,
    ) -> Self {
        let proxy = Proxy::start(gateway.addr);
        let name = format!("{side:?}-{way:?}-{after}").to_lowercase();
        let machine = Plan::new(gateway, &name)
            .through(proxy.address)
            .lend(gateway);
        let (from, to) = match side {
            Side::Source => (Some(&machine), far),
            Side::Destination => (far, Some(&machine)),
        };
        let (given, taken) = (format!("{name}.given"), format!("in/{name}.taken"));
        let source = match from {
            Some(from) => from.put(&given, &bytes()),
            None => {
                fs::write(blob(gateway, "given.bin"), bytes()).expect("a file");
                "gsv:given.bin".to_owned()
            }
        };
        let (destination, arrives) = match to {
            Some(to) => (to.end(&taken), to.file(&taken)),
            None => (format!("gsv:{taken}"), blob(gateway, &taken)),
        };
        Self {
            side,
            way,
            after,
            proxy,
            machine,
            source,
            destination,
            arrives,
            asked: None,
        }
    }

    fn start(&mut self, gateway: &Gateway, deed: Option<Deed>) {
        self.proxy.cut_after(self.after, self.way, deed);
        self.asked = Some(transfer(gateway, &self.source, &self.destination));
    }

    /// Waits for the end: what was said, the file being whole or not there.
    fn end(&mut self) -> Value {
        let said = self.asked.take().expect("it was started").answer();
        let about = format!("{:?} {:?} {}: {said}", self.side, self.way, self.after);
        let there = fs::read(&self.arrives).ok();
        if let Some(there) = &there {
            assert!(
                *there == bytes(),
                "{about}: {} bytes of another file",
                there.len()
            );
        }
        if said["ok"] == true {
            assert!(there.is_some(), "{about}: it is not there");
            assert_eq!(said["result"]["sha256"], sha256(&bytes()), "{about}");
            let folder = self.arrives.parent().expect("a folder");
            let own = parts(folder);
            assert!(
                own.is_empty() || self.side == Side::Source,
                "{about}: {own:?} stayed"
            );
        }
        said
    }
}

/// Where a file of the workspace lies on disk.
fn blob(gateway: &Gateway, name: &str) -> PathBuf {
    gateway.home.blob("agents/main").join(name)
}

fn bytes() -> Vec<u8> {
    noise(SIZE, 21)
}

/// How many frames go this way in a transfer that nobody cuts.
fn frames(gateway: &Gateway, far: Option<&Machine>, side: Side, way: Way) -> usize {
    let mut case = Case::prepare(gateway, far, side, way, NEVER);
    case.start(gateway, None);
    let said = case.end();
    assert_eq!(said["ok"], true, "{said}");
    case.proxy.count(way)
}

/// Cuts at every boundary of one way of one end, all of them at the same time. At least `sure` of
/// them come before the end whatever the order; acknowledgements may come after it.
fn check_every_boundary(far: Far, side: Side, way: Way, sure: usize) {
    let gateway = Gateway::start();
    gateway.write("here.md", "so that the workspace is there");
    let far = (far == Far::Machine).then(|| Machine::lend(&gateway, "far"));
    let far = far.as_ref();
    let frames = frames(&gateway, far, side, way);
    assert!(frames >= sure, "{frames} frames");
    let mut cases: Vec<_> = (0..frames)
        .map(|after| Case::prepare(&gateway, far, side, way, after))
        .collect();
    for case in &mut cases {
        case.start(&gateway, None);
    }
    let (mut cut, mut resumed) = (0, 0);
    for case in &mut cases {
        let said = case.end();
        assert_eq!(
            said["ok"], true,
            "{:?} is back after frame {}: {said}",
            case.machine.name, case.after
        );
        cut += usize::from(case.proxy.has_cut());
        resumed += usize::from(said["result"]["resumed"].as_u64().unwrap_or(0) > 0);
    }
    let folder = cases[0].arrives.parent().expect("a folder");
    let names = tree(folder).into_iter().map(|(name, _)| name);
    let strange: Vec<_> = names.filter(|name| !name.ends_with(".taken")).collect();
    assert!(strange.is_empty(), "{strange:?} stayed");
    assert!(cut >= sure, "{cut} of {frames} were cut");
    assert!(resumed >= sure, "{resumed} of {frames} were taken up again");
    assert!(cases[0].machine.bash(&gateway, "echo served")["output"] == "served\n");
}

#[test]
fn a_source_disconnected_after_any_sent_frame_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Machine, Side::Source, Way::Up, PIECES + 2);
}

#[test]
fn a_source_disconnected_before_any_received_frame_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Machine, Side::Source, Way::Down, 2);
}

#[test]
fn a_destination_disconnected_before_any_received_frame_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Machine, Side::Destination, Way::Down, PIECES + 2);
}

#[test]
fn a_destination_disconnected_after_any_sent_frame_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Machine, Side::Destination, Way::Up, 2);
}

#[test]
fn a_source_disconnected_while_sending_to_the_workspace_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Workspace, Side::Source, Way::Up, PIECES + 2);
}

#[test]
fn a_destination_disconnected_while_receiving_from_the_workspace_resumes_and_the_file_is_whole() {
    check_every_boundary(Far::Workspace, Side::Destination, Way::Down, PIECES + 2);
}

/// What kills a process.
fn kill(pid: u32) -> Deed {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a pid");
    Box::new(move || {
        let _ = rustix::process::kill_process(pid, Signal::KILL); // dead is dead
    })
}

/// Kills the machine behind the proxy at some boundaries and lends it again.
fn check_kills(side: Side, way: Way) {
    let gateway = Gateway::start();
    let far = Machine::lend(&gateway, "far");
    let mut cases: Vec<_> = [0, 1, 2, 5, 9, 13]
        .map(|after| Case::prepare(&gateway, Some(&far), side, way, after))
        .into();
    for case in &mut cases {
        let pid = case.machine.daemon.pid();
        case.start(&gateway, Some(kill(pid)));
    }
    let mut lent: Vec<Daemon> = Vec::new();
    for case in &mut cases {
        case.machine.daemon.wait();
        let name = &case.machine.name;
        let plan = Plan::new(&gateway, name).through(case.proxy.address);
        lent.push(Daemon::spawn(plan.command(&gateway).0));
    }
    for case in &mut cases {
        let said = case.end();
        assert!(case.proxy.has_cut());
        assert_eq!(said["ok"], true, "it was lent again: {said}");
    }
    assert!(parts(&far.file("in")).is_empty());
}

#[test]
fn a_killed_source_resumes_when_its_node_restarts() {
    check_kills(Side::Source, Way::Up);
}

#[test]
fn a_killed_destination_resumes_when_its_node_restarts() {
    check_kills(Side::Destination, Way::Down);
}

/// Kills the gateway when so many frames have gone this way, and starts it again.
fn check_gateway_killed(side: Side, way: Way, after: usize) {
    let gateway = Gateway::settled();
    let (at, pid) = (gateway.addr, gateway.daemon.pid());
    let far = Machine::lend(&gateway, "far");
    let mut case = Case::prepare(&gateway, Some(&far), side, way, after);
    let ends = json!({ "source": case.source, "destination": case.destination });
    case.proxy.cut_after(after, way, Some(kill(pid)));
    let mut caller = Connection::open(at).expect("a connection");
    let call = request(&gateway, "gsv__Transfer", ends.clone());
    assert!(
        caller.send(&call).is_err(),
        "nobody hangs and nothing is made up"
    );
    let gateway = Gateway::at(gateway.kill9(), at);
    if let Ok(there) = fs::read(&case.arrives) {
        assert!(there == bytes(), "{side:?} {way:?} {after}: half a file");
    }
    wait_online(&gateway, "far");
    wait_online(&gateway, &case.machine.name);
    case.asked = Some(transfer(&gateway, &case.source, &case.destination));
    let said = case.end();
    assert_eq!(said["ok"], true, "{side:?} {way:?} {after}: {said}");
    let left = parts(case.arrives.parent().expect("a folder"));
    assert!(left.is_empty(), "{side:?} {way:?} {after}: {left:?}");
}

#[test]
fn a_gateway_killed_at_a_frame_leaves_the_file_whole_or_absent_and_it_can_be_sent_again() {
    std::thread::scope(|scope| {
        for (side, way, after) in [
            (Side::Source, Way::Up, 0),
            (Side::Source, Way::Up, 1),
            (Side::Source, Way::Up, 8),
            (Side::Source, Way::Up, PIECES + 1),
            (Side::Destination, Way::Down, 0),
            (Side::Destination, Way::Down, 5),
            (Side::Destination, Way::Down, PIECES + 1),
        ] {
            scope.spawn(move || check_gateway_killed(side, way, after));
        }
    });
}
