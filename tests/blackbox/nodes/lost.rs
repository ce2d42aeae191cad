//! Gateways that cannot be reached, connections that say nothing any more, and coming back.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Daemon, Gateway};
use crate::http::PATIENCE;
use crate::nodes::fixture::{Machine, Plan, ask, is_lost, is_online, wait_online};
use crate::nodes::proxy::Proxy;

/// Longer than a silent connection may last.
const DEAD: Duration = Duration::from_secs(30);

#[test]
fn a_silent_connection_is_closed_on_both_sides() {
    let gateway = Gateway::start();
    let proxy = Proxy::start(gateway.addr);
    let mut laptop = Plan::new(&gateway, "laptop")
        .through(proxy.address)
        .lend(&gateway);
    let asked = ask(
        &gateway,
        "laptop__Bash",
        json!({ "command": "echo ran >> runs; sleep 1000" }),
    );
    crate::harness::eventually("the command runs", || laptop.file("runs").exists());
    proxy.go_silent();
    let since = Instant::now();
    is_lost(&asked.answer());
    assert!(since.elapsed() < DEAD + PATIENCE, "{:?}", since.elapsed());
    laptop
        .daemon
        .wait_for_line("lost its connection")
        .expect("a line");
    wait_online(&gateway, "laptop");
    assert_eq!(
        laptop.bash(&gateway, "cat runs")["output"],
        "ran\n",
        "and nothing ran twice"
    );
}

#[test]
fn a_node_retries_until_its_gateway_is_up() {
    let gateway = Gateway::settled();
    let at = gateway.addr;
    let (command, laptop) = Plan::new(&gateway, "laptop").command(&gateway);
    let home = gateway.kill9();
    let mut daemon = Daemon::spawn(command);
    daemon.wait_for_line("laptop cannot reach").expect("a line");
    let gateway = Gateway::at(home, at);
    daemon
        .wait_for_line("laptop connected to ")
        .expect("a line");
    wait_online(&gateway, &laptop.name);
}

#[test]
fn an_unresolvable_name_is_retried() {
    let gateway = Gateway::start();
    let (mut command, _) = Plan::new(&gateway, "laptop").command(&gateway);
    command.env("MANYHANDS_URL", "http://no-such-host.invalid:7717");
    let mut daemon = Daemon::spawn(command);
    let line = daemon.wait_for_line("laptop cannot reach").expect("a line");
    assert!(
        line.contains("no-such-host.invalid") && line.ends_with("retrying"),
        "{line}"
    );
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.wait().success(), "and it can be stopped meanwhile");
    assert!(!is_online(&gateway, "laptop"));
}

#[test]
fn a_gateway_that_stops_lets_its_machines_come_back() {
    let gateway = Gateway::settled();
    let at = gateway.addr;
    let laptop = Machine::lend(&gateway, "laptop");
    let server = Machine::lend(&gateway, "server");
    let gateway = Gateway::at(gateway.stop(), at);
    for machine in [&laptop, &server] {
        wait_online(&gateway, &machine.name);
        assert_eq!(machine.bash(&gateway, "echo back")["output"], "back\n");
    }
}
