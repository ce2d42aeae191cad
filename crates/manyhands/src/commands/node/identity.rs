//! Which node this is, of which gateway, and the token that proves it.

use manyhands_core::{NodeId, Secret};
use serde_json::json;

use crate::enrolment::{Enrolment, Enrolments};
use crate::ground::Ground;
use crate::output::Failure;
use crate::own_gateway;
use crate::remote::{Remote, text};

/// Which node this is.
#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub id: NodeId,
    /// Its gateway.
    pub url: String,
    /// The token to show.
    pub token: Secret,
    /// Where that came from.
    pub proof: Proof,
}

/// Where a token came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It was given on the command line or in the environment.
    Given,
    /// It is kept since the enrolment.
    Kept,
    /// It is the owner's of this home.
    Owner,
}

/// Finds out; a code is turned into a token, which is kept.
pub async fn of(
    id: Option<&NodeId>,
    code: Option<&str>,
    ground: &Ground,
) -> Result<Identity, Failure> {
    match code {
        Some(code) => enrol(id, code, ground).await,
        None => known(&name(id, ground), ground),
    }
}

/// The name that was given, that of the only node enrolled here, or that of the machine.
pub fn name(id: Option<&NodeId>, ground: &Ground) -> NodeId {
    if let Some(id) = id {
        return id.clone();
    }
    match Enrolments::of(&ground.home).names().as_slice() {
        [only] => only.clone(),
        _ => NodeId::nearest(&ground.machine()),
    }
}

/// What is known without a code. A token that is kept goes to the gateway that gave it and nowhere
/// else, and the owner's to the gateway of this home; only one that was given goes where the user says.
fn known(id: &NodeId, ground: &Ground) -> Result<Identity, Failure> {
    let kept = Enrolments::of(&ground.home).read(id)?;
    let named = ground.named_url().map(web);
    let (url, token, proof) = match (ground.given_token(), kept, named) {
        (Some(token), kept, named) => {
            let url = named.or_else(|| kept.map(|kept| kept.url));
            let url = url.or_else(|| ground.running());
            let url = url.ok_or_else(|| unknown(id, ground))?;
            (url, token.clone(), Proof::Given)
        }
        (None, Some(kept), None) => (kept.url, kept.token, Proof::Kept),
        (None, Some(kept), Some(named)) => match own_gateway::meant(&named, &kept.url) {
            Some(url) => (url, kept.token, Proof::Kept),
            None => return Err(elsewhere(id, &kept.url, &named)),
        },
        (None, None, Some(named)) => match ground.own_address(&named) {
            Some(url) => (url, ground.owner_token()?, Proof::Owner),
            None => return Err(unknown(id, ground)),
        },
        (None, None, None) => match ground.running() {
            Some(url) => (url, ground.owner_token()?, Proof::Owner),
            None => return Err(unknown(id, ground)),
        },
    };
    Ok(Identity {
        id: id.clone(),
        url,
        token,
        proof,
    })
}

fn elsewhere(id: &NodeId, enrolled: &str, named: &str) -> Failure {
    Failure(format!(
        "{id} is enrolled at {enrolled}, so its token was not sent to {named}\nhint: leave out --url and MANYHANDS_URL; or enrol it there: run `manyhands nodes code {id}` on that gateway's machine, and here the command it prints; or give --token"
    ))
}

fn unknown(id: &NodeId, ground: &Ground) -> Failure {
    let others = Enrolments::of(&ground.home).names();
    let others: Vec<&str> = others.iter().map(NodeId::as_str).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        names => format!("; enrolled here: {}", names.join(", ")),
    };
    Failure(format!(
        "{id} is not enrolled on this machine{others}\nhint: on the gateway's machine run `manyhands nodes code {id}`, and here the command it prints; or give --url and --token"
    ))
}

/// Turns a code into a token, and keeps it.
async fn enrol(id: Option<&NodeId>, code: &str, ground: &Ground) -> Result<Identity, Failure> {
    let kept = Enrolments::of(&ground.home);
    let url = match (ground.named_url(), id) {
        (Some(url), _) => Some(web(url)),
        (None, Some(id)) => kept.read(id)?.map(|kept| kept.url),
        (None, None) => None,
    };
    let Some(url) = url.or_else(|| ground.running()) else {
        return Err(Failure(
            "which gateway is the code for?\nhint: give its address with --url".to_owned(),
        ));
    };
    let answer = Remote::stranger(&url)?
        .expect_post("/api/enrol", &json!({ "code": code }))
        .await?;
    let enrolled: NodeId = text(&answer["nodeId"])
        .parse()
        .map_err(|_| Failure(format!("{url} does not answer like a gateway")))?;
    let enrolment = Enrolment {
        token: Secret::new(text(&answer["token"])),
        url,
    };
    kept.write(&enrolled, &enrolment)?;
    if let Some(id) = id.filter(|id| **id != enrolled) {
        return Err(Failure(format!(
            "the code is for {enrolled}, not for {id}\nhint: {enrolled} is enrolled here now; run it with `--id {enrolled}`"
        )));
    }
    Ok(Identity {
        id: enrolled,
        url: enrolment.url,
        token: enrolment.token,
        proof: Proof::Kept,
    })
}

/// A gateway's address as it is asked over HTTP.
fn web(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let (url, socket) = match url.split_once("://") {
        Some(("ws", rest)) => (format!("http://{rest}"), true),
        Some(("wss", rest)) => (format!("https://{rest}"), true),
        _ => (url.to_owned(), false),
    };
    match url.strip_suffix("/ws") {
        Some(base) if socket => base.to_owned(),
        _ => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::Parser;

    fn ground(home: &std::path::Path, more: &[&str]) -> Ground {
        let home = home.to_str().unwrap();
        let words = ["manyhands", "--home", home, "node"]
            .into_iter()
            .chain(more.iter().copied());
        Ground::new(&Args::try_parse_from(words).unwrap()).unwrap()
    }

    fn id(name: &str) -> NodeId {
        name.parse().unwrap()
    }

    fn keep(home: &std::path::Path, name: &str) {
        let enrolment = Enrolment {
            url: format!("http://{name}:1"),
            token: Secret::new(format!("token-of-{name}")),
        };
        Enrolments::of(home).write(&id(name), &enrolment).unwrap();
    }

    #[test]
    fn the_only_enrolled_node_is_meant_when_none_is_named() {
        let home = tempfile::tempdir().unwrap();
        let machine = ground(home.path(), &[]).machine();
        assert_eq!(
            name(None, &ground(home.path(), &[])),
            NodeId::nearest(&machine)
        );
        keep(home.path(), "laptop");
        assert_eq!(name(None, &ground(home.path(), &[])), id("laptop"));
        assert_eq!(
            name(Some(&id("desk")), &ground(home.path(), &[])),
            id("desk")
        );
        keep(home.path(), "server");
        assert_eq!(
            name(None, &ground(home.path(), &[])),
            NodeId::nearest(&machine)
        );
    }

    #[test]
    fn what_is_given_comes_before_what_is_kept() {
        let home = tempfile::tempdir().unwrap();
        keep(home.path(), "laptop");
        let found = known(&id("laptop"), &ground(home.path(), &[])).unwrap();
        assert_eq!(
            (found.url.as_str(), found.proof),
            ("http://laptop:1", Proof::Kept)
        );
        assert_eq!(found.token.expose(), "token-of-laptop");
        let flags = ["--url", "wss://new.example/ws", "--token", "given"];
        let found = known(&id("laptop"), &ground(home.path(), &flags)).unwrap();
        assert_eq!(
            (found.url.as_str(), found.proof),
            ("https://new.example", Proof::Given)
        );
        assert_eq!(found.token.expose(), "given");
    }

    #[test]
    fn a_kept_token_goes_only_to_the_gateway_that_gave_it() {
        let home = tempfile::tempdir().unwrap();
        keep(home.path(), "laptop");
        for same in ["http://laptop:1/", "ws://laptop:1/ws"] {
            let found = known(&id("laptop"), &ground(home.path(), &["--url", same])).unwrap();
            assert_eq!(
                (found.url.as_str(), found.proof),
                ("http://laptop:1", Proof::Kept)
            );
        }
        for other in ["http://evil:1", "http://laptop:2", "https://laptop:1"] {
            let refused = known(&id("laptop"), &ground(home.path(), &["--url", other]));
            let why = refused.unwrap_err().0;
            assert!(why.contains("its token was not sent"), "{why}");
            assert!(why.contains("--token"), "{why}");
        }
    }

    #[test]
    fn a_node_without_a_token_is_told_how_to_get_one() {
        let home = tempfile::tempdir().unwrap();
        keep(home.path(), "laptop");
        for flags in [&[][..], &["--url", "http://elsewhere:1"]] {
            let why = known(&id("desk"), &ground(home.path(), flags))
                .unwrap_err()
                .0;
            assert!(
                why.starts_with("desk is not enrolled on this machine; enrolled here: laptop\n"),
                "{why}"
            );
            assert!(why.contains("`manyhands nodes code desk`"), "{why}");
        }
    }
}
