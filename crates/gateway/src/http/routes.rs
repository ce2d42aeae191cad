//! Every route there is, each beside its description.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, post, put};
use axum::{Extension, Json, Router, extract::State, middleware};
use http::header;
use manyhands_core::{ErrorCode, Invoke, ToolError};
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;

use super::admin::{
    agents, approvals, artifacts, audit, config, memory, models, nodes, people, policy, resources,
    secrets, sessions, skills, tokens,
};
use super::asker::Asker;
use super::openapi::{Access, Operation, document};
use super::refusal::Refusal;
use super::{chat, chat_routes, door, oauth, oauth_routes, page, probes, server_routes, tools, v1};
use crate::gateway::Gateway;
use crate::{mcp, ws};

/// What programs under `/v1` speak.
const OPENAI: &str = "OpenAI's format";

/// An operation and what answers it.
pub(super) type Route = (Operation, MethodRouter<Arc<Gateway>>);

fn table() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        (
            op("get", "/healthz", Open, "Whether the process is there"),
            get(probes::healthz),
        ),
        (
            op(
                "get",
                "/readyz",
                Open,
                "Whether the process can do its work",
            ),
            get(probes::readyz),
        ),
        (
            op(
                "get",
                "/metrics",
                Open,
                "Prometheus metrics; from another machine a token is needed",
            ),
            get(probes::metrics),
        ),
        (
            op(
                "get",
                "/api/session",
                Token,
                "Who this token, or this browser, is",
            ),
            get(page::session),
        ),
        (
            op("post", "/api/session/logout", Token, "Log this browser out"),
            post(page::logout),
        ),
        (
            op(
                "post",
                "/api/session/link",
                Owner,
                "A link that logs a browser in, once",
            ),
            post(page::link),
        ),
        (
            op("get", "/api/openapi.json", Token, "This document"),
            get(openapi),
        ),
        (
            op("get", "/api/tools", Token, "The tools this token may call"),
            get(tools::list),
        ),
        (
            op("post", "/api/tools/{*name}", Token, "Call a tool")
                .query::<tools::CallQuery>()
                .request::<Value>(),
            post(tools::call),
        ),
        (
            op(
                "post",
                "/api/trigger/{*id}",
                Token,
                "Call a tool by its trigger id",
            )
            .query::<tools::CallQuery>()
            .request::<Value>(),
            post(tools::call),
        ),
        (
            op("get", "/api/tokens", Owner, "All tokens"),
            get(tokens::list),
        ),
        (
            op("post", "/api/tokens", Owner, "Make a token").request::<tokens::Create>(),
            post(tokens::create),
        ),
        (
            op("delete", "/api/tokens/{id}", Owner, "Take a token back"),
            delete(tokens::revoke),
        ),
        (
            op("get", "/api/approvals", Owner, "What waits for the owner")
                .query::<approvals::Which>(),
            get(approvals::list),
        ),
        (
            op(
                "post",
                "/api/approvals/{id}",
                Owner,
                "Approve or deny one call",
            )
            .request::<approvals::Decide>(),
            post(approvals::decide),
        ),
        (
            op("get", "/api/audit", Owner, "The audit, newest first").query::<audit::Which>(),
            get(audit::list),
        ),
        (
            op(
                "post",
                "/api/audit/verify",
                Owner,
                "Check the whole chain of the audit",
            ),
            post(audit::verify),
        ),
        (
            op(
                "get",
                "/api/config",
                Owner,
                "The configuration, secrets masked",
            )
            .query::<config::Which>(),
            get(config::get),
        ),
        (
            op("put", "/api/config", Owner, "Set one value").request::<config::Set>(),
            put(config::set),
        ),
        (
            op("get", "/api/policy", Owner, "The rules in force"),
            get(policy::list),
        ),
        (
            op(
                "post",
                "/api/policy/explain",
                Owner,
                "What the rules would say to a call",
            )
            .request::<policy::Explain>(),
            post(policy::explain),
        ),
        (
            op("get", "/api/secrets", Owner, "The names of all secrets"),
            get(secrets::list),
        ),
        (
            op("put", "/api/secrets/{*name}", Owner, "Store a secret").request::<secrets::Put>(),
            put(secrets::put),
        ),
        (
            op("delete", "/api/secrets/{*name}", Owner, "Forget a secret"),
            delete(secrets::remove),
        ),
        (
            op("get", "/api/nodes", Token, "Every node on record"),
            get(nodes::list),
        ),
        (
            op(
                "post",
                "/api/nodes/codes",
                Owner,
                "Make a code by which a machine becomes a node, once",
            )
            .request::<nodes::Invite>(),
            post(nodes::invite),
        ),
        (
            op(
                "post",
                "/api/enrol",
                Open,
                "Use a code up: the bearer gets the node's own token",
            )
            .request::<nodes::Enrol>(),
            post(nodes::enrol),
        ),
        (
            op(
                "post",
                "/api/nodes/{id}/rename",
                Owner,
                "Give a node another name",
            )
            .request::<nodes::Rename>(),
            post(nodes::rename),
        ),
        (
            op(
                "post",
                "/api/nodes/{id}/revoke",
                Owner,
                "Take a node's own token back and disconnect it",
            ),
            post(nodes::revoke),
        ),
        (
            op(
                "delete",
                "/api/nodes/{id}",
                Owner,
                "Forget a node and take its own token back",
            )
            .query::<nodes::How>(),
            delete(nodes::forget),
        ),
    ]
}

/// What is kept: artifacts and resources.
fn kept() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        (
            op("get", "/api/artifacts", Token, "Artifacts, newest first")
                .query::<artifacts::Which>(),
            get(artifacts::list),
        ),
        (
            op(
                "post",
                "/api/artifacts",
                Token,
                "Keep the body as an artifact",
            )
            .query::<artifacts::New>(),
            post(artifacts::put),
        ),
        (
            op(
                "get",
                "/api/artifacts/{id}",
                Token,
                "The bytes of an artifact",
            ),
            get(artifacts::get),
        ),
        (
            op("delete", "/api/artifacts/{id}", Token, "Remove an artifact"),
            delete(artifacts::remove),
        ),
        (
            op(
                "get",
                "/api/artifacts/{id}/record",
                Token,
                "What is known of an artifact",
            ),
            get(artifacts::show),
        ),
        (
            op(
                "post",
                "/api/artifacts/{id}/url",
                Token,
                "Make a link by which an artifact is downloaded without a token, for a while",
            ),
            post(artifacts::link),
        ),
        (
            op(
                "get",
                "/artifacts/{id}",
                Open,
                "The bytes of an artifact, by a link that is good",
            )
            .query::<artifacts::Signed>(),
            get(artifacts::by_link),
        ),
        (
            op("get", "/api/resources", Owner, "Every resource"),
            get(resources::list),
        ),
        (
            op("post", "/api/resources", Owner, "Make a resource").request::<resources::Create>(),
            post(resources::create),
        ),
        (
            op(
                "get",
                "/api/resources/{id}",
                Owner,
                "One resource, with who may use it",
            ),
            get(resources::get),
        ),
        (
            op(
                "delete",
                "/api/resources/{id}",
                Owner,
                "Remove a resource with all it holds",
            ),
            delete(resources::remove),
        ),
        (
            op(
                "put",
                "/api/resources/{id}/grants/{agent}",
                Owner,
                "Let an agent use a resource",
            )
            .request::<resources::Allow>(),
            put(resources::grant),
        ),
        (
            op(
                "delete",
                "/api/resources/{id}/grants/{agent}",
                Owner,
                "Let an agent no longer use a resource",
            ),
            delete(resources::revoke),
        ),
        (
            op(
                "put",
                "/api/resources/{id}/secrets/{name}",
                Owner,
                "Put a secret into a vault",
            )
            .request::<resources::PutSecret>(),
            put(resources::put_secret),
        ),
        (
            op(
                "delete",
                "/api/resources/{id}/secrets/{name}",
                Owner,
                "Forget a secret of a vault",
            ),
            delete(resources::remove_secret),
        ),
    ]
}

/// What agents, their sessions and their models are asked by.
fn minds() -> Vec<Route> {
    use Access::{Owner, Token};
    let op = Operation::new;
    vec![
        (
            op(
                "post",
                "/api/chat",
                Token,
                "Say something to an agent: a stream of events with `Accept: text/event-stream`, else one answer",
            )
            .query::<chat::Patience>()
            .request::<chat::Chat>(),
            post(chat::chat),
        ),
        (
            op(
                "post",
                "/api/chat/stop",
                Token,
                "Stop what runs in a session",
            )
            .request::<chat::Which>(),
            post(chat::stop),
        ),
        (
            op("get", "/v1/models", Token, "The agents, as OpenAI's models").answers_in(OPENAI),
            get(v1::list),
        ),
        (
            op(
                "get",
                "/v1/models/{*id}",
                Token,
                "One agent, as OpenAI's model",
            )
            .answers_in(OPENAI),
            get(v1::get),
        ),
        (
            op(
                "post",
                "/v1/chat/completions",
                Token,
                "Ask an agent in OpenAI's format, also for a stream",
            )
            .request::<v1::Ask>()
            .answers_in(OPENAI),
            post(v1::complete),
        ),
        (
            op("get", "/api/models", Owner, "Every provider with its models"),
            get(models::list),
        ),
        (
            op(
                "post",
                "/api/models/test",
                Owner,
                "Ask a model for a word",
            )
            .request::<models::Test>(),
            post(models::test),
        ),
        (
            op("get", "/api/usage", Owner, "What models used up").query::<models::Since>(),
            get(models::usage),
        ),
        (
            op("get", "/api/agents", Owner, "All agents"),
            get(agents::list),
        ),
        (
            op(
                "get",
                "/api/agents/{id}",
                Owner,
                "One agent, with its rules and the tools it has",
            ),
            get(agents::show),
        ),
        (
            op(
                "get",
                "/api/skills",
                Token,
                "Every skill of an agent, and whether it can be used now",
            )
            .query::<skills::Whose>(),
            get(skills::list),
        ),
        (
            op("get", "/api/skills/{name}", Token, "One skill with its text")
                .query::<skills::Whose>(),
            get(skills::get),
        ),
        (
            op(
                "post",
                "/api/skills/{name}",
                Owner,
                "Switch a skill on or off",
            )
            .request::<skills::Switch>(),
            post(skills::switch),
        ),
        (
            op(
                "get",
                "/api/todos",
                Owner,
                "What is to be done, what was done, what comes again",
            )
            .query::<people::Which>(),
            get(people::todos),
        ),
        (
            op("get", "/api/contacts", Owner, "Every contact"),
            get(people::contacts),
        ),
        (
            op("get", "/api/contacts/{id}", Owner, "One contact"),
            get(people::contact),
        ),
        (
            op(
                "get",
                "/api/memory",
                Token,
                "Look through conversations and memory files by words",
            )
            .query::<memory::Which>(),
            get(memory::search),
        ),
        (
            op(
                "get",
                "/api/sessions",
                Token,
                "Sessions, the latest active first",
            )
            .query::<sessions::Which>(),
            get(sessions::list),
        ),
        (
            op("get", "/api/sessions/{key}", Token, "One session"),
            get(sessions::get),
        ),
        (
            op(
                "get",
                "/api/sessions/{key}/messages",
                Token,
                "The last messages of a session, oldest first",
            )
            .query::<sessions::Page>(),
            get(sessions::messages),
        ),
        (
            op(
                "post",
                "/api/sessions/{key}/reset",
                Token,
                "Begin a session anew; what was said is archived",
            ),
            post(sessions::reset),
        ),
        (
            op(
                "post",
                "/api/sessions/{key}/compact",
                Token,
                "Leave out all but the last messages; the others are archived",
            )
            .request::<sessions::Compact>(),
            post(sessions::compact),
        ),
        (
            op(
                "post",
                "/api/sessions/{key}/patch",
                Token,
                "Set what is set for a session",
            )
            .request::<sessions::Patch>(),
            post(sessions::patch),
        ),
    ]
}

/// The operations of the table, for the document.
pub(super) fn operations() -> impl Iterator<Item = Operation> {
    let all = table()
        .into_iter()
        .chain(kept())
        .chain(minds())
        .chain(server_routes::table())
        .chain(oauth_routes::table())
        .chain(chat_routes::table());
    all.map(|(operation, _)| operation)
}

async fn openapi(State(gateway): State<Arc<Gateway>>, _: Asker) -> Json<Value> {
    Json(document(&gateway.path.catalogue()))
}

/// Refuses a body that says it is too large before waiting for any of it.
async fn bounded(State(limit): State<u64>, request: Request, next: Next) -> Response {
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // An upload is not held in memory, and bounded where it is kept.
    let upload = request.uri().path() == "/api/artifacts";
    if !upload && said.is_some_and(|length| length > limit) {
        let message = "the request is larger than limits.request_bytes";
        return Refusal(ToolError::new(ErrorCode::TooLarge, message)).into_response();
    }
    next.run(request).await
}

async fn nowhere() -> Refusal {
    Refusal(
        ToolError::not_found("there is nothing at this address")
            .hint("GET /api/openapi.json describes what there is"),
    )
}

/// The whole HTTP face over one gateway.
pub fn router(gateway: Arc<Gateway>) -> Router {
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let mut router = Router::new();
    for (operation, handler) in table()
        .into_iter()
        .chain(kept())
        .chain(minds())
        .chain(server_routes::table())
        .chain(oauth_routes::table())
        .chain(chat_routes::table())
    {
        router = router.route(operation.path, handler);
    }
    for name in page::beside() {
        router = router.route(&format!("/{name}"), get(page::other));
    }
    router
        .route("/", get(page::root))
        .route("/login", get(page::login))
        .route("/assets/{*name}", get(page::asset))
        .route("/ws", any(ws::upgrade))
        .route(
            "/mcp",
            mcp::route(&gateway, Refusal).layer(middleware::from_fn_with_state(
                gateway.clone(),
                oauth::admit,
            )),
        )
        .route(
            "/mcp/{server}",
            mcp::pass_route(&gateway, Refusal).layer(middleware::from_fn_with_state(
                gateway.clone(),
                oauth::admit,
            )),
        )
        .fallback(nowhere)
        .layer(DefaultBodyLimit::max(limit))
        .layer(middleware::from_fn_with_state(limit as u64, bounded))
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn_with_state(gateway.clone(), door::check))
        .layer(middleware::from_fn(v1::speak))
        .layer(Extension(v1::Since::now(&gateway)))
        .with_state(gateway)
}
