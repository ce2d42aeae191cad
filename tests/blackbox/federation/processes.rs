//! No program of a server outlives its use.

use serde_json::json;

use super::{Scripted, gateway, runs};
use crate::harness::{Home, eventually};

#[test]
fn a_gateway_that_dies_without_warning_leaves_no_program_behind() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let started = scripted.starts();
    assert!(started.iter().any(|pid| runs(*pid)), "{started:?}");
    let _home = gateway.kill9();
    eventually("its programs are gone", || {
        started.iter().all(|pid| !runs(*pid))
    });
}

#[test]
fn a_gateway_that_stops_ends_its_programs() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let _home = gateway.stop();
    assert!(scripted.starts().iter().all(|pid| !runs(*pid)));
}

#[test]
fn a_server_that_dies_again_and_again_leaves_nothing() {
    const DEATHS: usize = 40;
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["die", "echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let mut deaths = 0;
    for _ in 0..DEATHS {
        let said = gateway.call("s__die", json!({}));
        assert_eq!(said["ok"], false, "{said}");
        deaths += 1;
        if said["error"]
            .as_str()
            .is_some_and(|error| error.contains("next"))
        {
            break; // it is left alone for a while now
        }
    }
    let started = scripted.starts();
    assert!(deaths > 1 && started.len() > 1, "{deaths} {started:?}");
    eventually("at most one is left", || {
        scripted.starts().iter().filter(|pid| runs(**pid)).count() <= 1
    });
    gateway.stop();
    assert!(scripted.starts().iter().all(|pid| !runs(*pid)));
}
