//! Determines a node's name, gateway and token.

use manyhands_core::{NodeId, Secret};
use serde_json::json;

use crate::context::CliContext;
use crate::enrolment::{Enrolment, Enrolments};
use crate::own_gateway;
use crate::remote::{Remote, text};
use manyhands_terminal::output::Failure;

/// A node's identity.
#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the node.
    pub id: NodeId,
    /// URL of its gateway.
    pub url: String,
    /// Its token.
    pub token: Secret,
    /// Origin of the token.
    pub source: TokenSource,
}

/// Origin of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSource {
    /// Given on the command line or in the environment.
    Given,
    /// Stored by the enrolment.
    Enrolled,
    /// The owner's token of this home.
    Owner,
}

/// Resolves the identity; a code is exchanged for a token, which is stored.
pub async fn of(
    id: Option<&NodeId>,
    code: Option<&str>,
    ctx: &CliContext,
) -> Result<Identity, Failure> {
    match code {
        Some(code) => enrol(id, code, ctx).await,
        None => known(&name(id, ctx), ctx),
    }
}

/// The given name, the only enrolled node, or the hostname.
pub fn name(id: Option<&NodeId>, ctx: &CliContext) -> NodeId {
    if let Some(id) = id {
        return id.clone();
    }
    match Enrolments::of(&ctx.home).names().as_slice() {
        [only] => only.clone(),
        _ => NodeId::nearest(&ctx.machine()),
    }
}

/// Resolves an identity without a code. An enrolment's token is sent only to the gateway that issued it, and the
/// owner's only to this home's gateway; only a token given by the user is sent wherever the user says.
fn known(id: &NodeId, ctx: &CliContext) -> Result<Identity, Failure> {
    let stored = Enrolments::of(&ctx.home).read(id)?;
    let named = ctx.named_url().map(web);
    let (url, token, source) = match (ctx.given_token(), stored, named) {
        (Some(token), stored, named) => {
            let url = named.or_else(|| stored.map(|stored| stored.url));
            let url = url.or_else(|| ctx.running());
            let url = url.ok_or_else(|| unknown(id, ctx))?;
            (url, token.clone(), TokenSource::Given)
        }
        (None, Some(stored), None) => (stored.url, stored.token, TokenSource::Enrolled),
        // The same gateway may be written in several ways, such as with `ws://`.
        (None, Some(stored), Some(named)) => {
            match own_gateway::listening_address(&named, &stored.url) {
                Some(url) => (url, stored.token, TokenSource::Enrolled),
                None => return Err(elsewhere(id, &stored.url, &named)),
            }
        }
        (None, None, Some(named)) => match ctx.own_address(&named) {
            Some(url) => (url, ctx.owner_token()?, TokenSource::Owner),
            None => return Err(unknown(id, ctx)),
        },
        (None, None, None) => match ctx.running() {
            Some(url) => (url, ctx.owner_token()?, TokenSource::Owner),
            None => return Err(unknown(id, ctx)),
        },
    };
    Ok(Identity {
        id: id.clone(),
        url,
        token,
        source,
    })
}

fn elsewhere(id: &NodeId, enrolled: &str, named: &str) -> Failure {
    Failure(format!(
        "{id} is enrolled at {enrolled}, so its token was not sent to {named}\nhint: omit --url and MANYHANDS_URL; or enrol it there: run `manyhands nodes code {id}` on that gateway's machine, then the printed command here; or pass --token"
    ))
}

fn unknown(id: &NodeId, ctx: &CliContext) -> Failure {
    let others = Enrolments::of(&ctx.home).names();
    let others: Vec<&str> = others.iter().map(NodeId::as_str).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        names => format!("; enrolled here: {}", names.join(", ")),
    };
    Failure(format!(
        "{id} is not enrolled on this machine{others}\nhint: run `manyhands nodes code {id}` on the gateway's machine, then the printed command here; or pass --url and --token"
    ))
}

/// Exchanges a code for a token and stores it.
async fn enrol(id: Option<&NodeId>, code: &str, ctx: &CliContext) -> Result<Identity, Failure> {
    let stored = Enrolments::of(&ctx.home);
    let url = match (ctx.named_url(), id) {
        (Some(url), _) => Some(web(url)),
        (None, Some(id)) => stored.read(id)?.map(|stored| stored.url),
        (None, None) => None,
    };
    let Some(url) = url.or_else(|| ctx.running()) else {
        return Err(Failure(
            "no gateway given for this code\nhint: pass its URL with --url".to_owned(),
        ));
    };
    // Without a token: the code alone is the credential, and a stored token may belong to another gateway.
    let answer = Remote::anonymous(&url)?
        .expect_post("/api/enrol", &json!({ "code": code }))
        .await?;
    let enrolled: NodeId = text(&answer["nodeId"])
        .parse()
        .map_err(|_| Failure(format!("{url} does not respond like a gateway")))?;
    let enrolment = Enrolment {
        token: Secret::new(text(&answer["token"])),
        url,
    };
    // Stored before the name is compared: the code is used up, and the token cannot be had again.
    stored.write(&enrolled, &enrolment)?;
    if let Some(id) = id.filter(|id| **id != enrolled) {
        return Err(Failure(format!(
            "the code is for {enrolled}, not for {id}\nhint: {enrolled} is now enrolled; run it with `--id {enrolled}`"
        )));
    }
    Ok(Identity {
        id: enrolled,
        url: enrolment.url,
        token: enrolment.token,
        source: TokenSource::Enrolled,
    })
}

/// Normalises a gateway URL to HTTP.
fn web(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let (url, socket) = match url.split_once("://") {
        // Documentation of other clients shows the socket's URL; accept it as well.
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

    fn ctx(home: &std::path::Path, more: &[&str]) -> CliContext {
        let home = home.to_str().unwrap();
        let words = ["manyhands", "--home", home, "node"]
            .into_iter()
            .chain(more.iter().copied());
        CliContext::new(&Args::try_parse_from(words).unwrap()).unwrap()
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
    fn the_only_enrolled_node_is_the_default() {
        let home = tempfile::tempdir().unwrap();
        let machine = ctx(home.path(), &[]).machine();
        assert_eq!(
            name(None, &ctx(home.path(), &[])),
            NodeId::nearest(&machine)
        );
        keep(home.path(), "laptop");
        assert_eq!(name(None, &ctx(home.path(), &[])), id("laptop"));
        assert_eq!(name(Some(&id("desk")), &ctx(home.path(), &[])), id("desk"));
        keep(home.path(), "server");
        assert_eq!(
            name(None, &ctx(home.path(), &[])),
            NodeId::nearest(&machine)
        );
    }

    #[test]
    fn arguments_override_stored_values() {
        let home = tempfile::tempdir().unwrap();
        keep(home.path(), "laptop");
        let found = known(&id("laptop"), &ctx(home.path(), &[])).unwrap();
        assert_eq!(
            (found.url.as_str(), found.source),
            ("http://laptop:1", TokenSource::Enrolled)
        );
        assert_eq!(found.token.expose(), "token-of-laptop");
        let flags = ["--url", "wss://new.example/ws", "--token", "given"];
        let found = known(&id("laptop"), &ctx(home.path(), &flags)).unwrap();
        assert_eq!(
            (found.url.as_str(), found.source),
            ("https://new.example", TokenSource::Given)
        );
        assert_eq!(found.token.expose(), "given");
    }

    #[test]
    fn a_stored_token_is_sent_only_to_its_gateway() {
        let home = tempfile::tempdir().unwrap();
        keep(home.path(), "laptop");
        for same in ["http://laptop:1/", "ws://laptop:1/ws"] {
            let found = known(&id("laptop"), &ctx(home.path(), &["--url", same])).unwrap();
            assert_eq!(
                (found.url.as_str(), found.source),
                ("http://laptop:1", TokenSource::Enrolled)
            );
        }
        for other in ["http://evil:1", "http://laptop:2", "https://laptop:1"] {
            let refused = known(&id("laptop"), &ctx(home.path(), &["--url", other]));
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
            let why = known(&id("desk"), &ctx(home.path(), flags)).unwrap_err().0;
            assert!(
                why.starts_with("desk is not enrolled on this machine; enrolled here: laptop\n"),
                "{why}"
            );
            assert!(why.contains("`manyhands nodes code desk`"), "{why}");
        }
    }
}
