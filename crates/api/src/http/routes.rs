//! Every route there is, each beside its description.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get, post};
use axum::{Extension, Json, Router, extract::State, middleware};
use http::header;
use manyhands_core::{ErrorCode, Invoke, ToolError};
use manyhands_gateway::Gateway;
use manyhands_gateway::listing::Surface;
use manyhands_http_common::{Asker, Refusal};
use serde_json::{Map, Value};
use tower::Layer as _;
use tower_http::catch_panic::CatchPanicLayer;

use super::admin::{
    approvals, artifacts, audit, config, nodes, policy, resources, secrets, tokens, trust,
};
use super::openapi::{Access, Operation, document};
use super::{
    chat_routes, door, house_routes, mind_routes, oauth, oauth_routes, page, probes, server_routes,
    session_routes, tools, v1,
};

/// An operation and what answers it.
pub(super) type Route = (Operation, MethodRouter<Arc<Gateway>>);

fn table() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        (
            op("get", "/healthz", Open, "Whether the process is there").gives("text/plain"),
            get(probes::healthz),
        ),
        (
            op(
                "get",
                "/readyz",
                Open,
                "Whether the process can do its work",
            )
            .gives("text/plain"),
            get(probes::readyz),
        ),
        (
            op(
                "get",
                "/metrics",
                Token,
                "Prometheus metrics; without a token only where `metrics.open` is set",
            )
            .gives("text/plain"),
            get(probes::metrics),
        ),
        op(
            "get",
            "/api/session",
            Token,
            "Who this token, or this browser, is",
        )
        .by(page::session),
        (
            op(
                "post",
                "/api/session/login",
                Open,
                "Log a browser in with the code of a login link",
            )
            .request::<page::Code>()
            .answers::<page::LoggedIn>(),
            post(page::login),
        ),
        op("post", "/api/session/logout", Token, "Log this browser out").by(page::logout),
        op(
            "post",
            "/api/session/link",
            Owner,
            "A link that logs a browser in, once",
        )
        .by(page::link),
        (
            op(
                "get",
                "/api/openapi.json",
                Token,
                "This document, with the tools this token may call",
            )
            .gives("application/json"),
            get(openapi),
        ),
        op("get", "/api/tools", Token, "The tools this token may call")
            .query::<tools::ListQuery>()
            .by(tools::list),
        (
            op("post", "/api/tools/{*name}", Token, "Call a tool")
                .query::<tools::CallQuery>()
                .request::<Map<String, Value>>(),
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
            .request::<Map<String, Value>>(),
            post(tools::call),
        ),
        op("get", "/api/tokens", Owner, "All tokens").by(tokens::list),
        op("post", "/api/tokens", Owner, "Make a token")
            .request::<tokens::Create>()
            .by(tokens::create),
        op("delete", "/api/tokens/{id}", Owner, "Take a token back").by(tokens::revoke),
        op("get", "/api/approvals", Owner, "What waits for the owner")
            .query::<approvals::Which>()
            .by(approvals::list),
        op(
            "post",
            "/api/approvals/{id}",
            Owner,
            "Approve or deny one call",
        )
        .request::<approvals::Decide>()
        .by(approvals::decide),
        op("get", "/api/audit", Owner, "The audit, newest first")
            .query::<audit::Which>()
            .by(audit::list),
        op(
            "post",
            "/api/audit/verify",
            Owner,
            "Check the whole chain of the audit",
        )
        .by(audit::verify),
        op(
            "get",
            "/api/config",
            Owner,
            "The configuration, secrets masked",
        )
        .query::<config::Which>()
        .by(config::get),
        op("put", "/api/config", Owner, "Set one value")
            .request::<config::Set>()
            .by(config::set),
        op("get", "/api/policy", Owner, "The rules in force").by(policy::list),
        op(
            "post",
            "/api/policy/explain",
            Owner,
            "What the rules would say to a call",
        )
        .request::<policy::Explain>()
        .by(policy::explain),
        op(
            "get",
            "/api/trust",
            Owner,
            "What was written or changed after untrusted text was read",
        )
        .by(trust::list),
        op("post", "/api/trust", Owner, "Trust one of them as it is")
            .request::<trust::Trust>()
            .by(trust::trust),
        op("get", "/api/secrets", Owner, "The names of all secrets").by(secrets::list),
        op("put", "/api/secrets/{*name}", Owner, "Store a secret")
            .request::<secrets::Put>()
            .by(secrets::put),
        op("delete", "/api/secrets/{*name}", Owner, "Forget a secret").by(secrets::remove),
        op("get", "/api/nodes", Token, "Every node on record").by(nodes::list),
        op(
            "post",
            "/api/nodes/codes",
            Owner,
            "Make a code by which a machine becomes a node, once",
        )
        .request::<nodes::Invite>()
        .by(nodes::invite),
        op(
            "post",
            "/api/enrol",
            Open,
            "Use a code up: the bearer gets the node's own token",
        )
        .request::<nodes::Enrol>()
        .by(nodes::enrol),
        op(
            "post",
            "/api/nodes/{id}/rename",
            Owner,
            "Give a node another name",
        )
        .request::<nodes::Rename>()
        .by(nodes::rename),
        op(
            "post",
            "/api/nodes/{id}/revoke",
            Owner,
            "Take a node's own token back and disconnect it",
        )
        .by(nodes::revoke),
        op(
            "delete",
            "/api/nodes/{id}",
            Owner,
            "Forget a node and take its own token back",
        )
        .query::<nodes::How>()
        .by(nodes::forget),
    ]
}

/// What is kept: artifacts and resources.
fn kept() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        op("get", "/api/artifacts", Token, "Artifacts, newest first")
            .query::<artifacts::Which>()
            .by(artifacts::list),
        op(
            "post",
            "/api/artifacts",
            Token,
            "Keep the body as an artifact",
        )
        .query::<artifacts::New>()
        .takes_bytes()
        .by(artifacts::put),
        (
            op(
                "get",
                "/api/artifacts/{id}",
                Token,
                "The bytes of an artifact",
            )
            .gives("application/octet-stream"),
            get(artifacts::get),
        ),
        op("delete", "/api/artifacts/{id}", Token, "Remove an artifact").by(artifacts::remove),
        op(
            "get",
            "/api/artifacts/{id}/record",
            Token,
            "What is known of an artifact",
        )
        .by(artifacts::show),
        op(
            "post",
            "/api/artifacts/{id}/url",
            Token,
            "Make a link by which an artifact is downloaded without a token, for a while",
        )
        .by(artifacts::link),
        (
            op(
                "get",
                "/artifacts/{id}",
                Open,
                "The bytes of an artifact, by a link that is good",
            )
            .query::<artifacts::Signed>()
            .gives("application/octet-stream"),
            get(artifacts::by_link),
        ),
        op("get", "/api/resources", Owner, "Every resource").by(resources::list),
        op("post", "/api/resources", Owner, "Make a resource")
            .request::<resources::Create>()
            .by(resources::create),
        op(
            "get",
            "/api/resources/{id}",
            Owner,
            "One resource, with who may use it",
        )
        .by(resources::get),
        op(
            "delete",
            "/api/resources/{id}",
            Owner,
            "Remove a resource with all it holds",
        )
        .by(resources::remove),
        op(
            "put",
            "/api/resources/{id}/grants/{agent}",
            Owner,
            "Let an agent use a resource",
        )
        .request::<resources::Allow>()
        .by(resources::grant),
        op(
            "delete",
            "/api/resources/{id}/grants/{agent}",
            Owner,
            "Let an agent no longer use a resource",
        )
        .by(resources::revoke),
        op(
            "put",
            "/api/resources/{id}/secrets/{name}",
            Owner,
            "Put a secret into a vault",
        )
        .request::<resources::PutSecret>()
        .by(resources::put_secret),
        op(
            "delete",
            "/api/resources/{id}/secrets/{name}",
            Owner,
            "Forget a secret of a vault",
        )
        .by(resources::remove_secret),
    ]
}

/// Every route.
fn all() -> impl Iterator<Item = Route> {
    table()
        .into_iter()
        .chain(kept())
        .chain(mind_routes::table())
        .chain(server_routes::table())
        .chain(session_routes::table())
        .chain(oauth_routes::table())
        .chain(chat_routes::table())
        .chain(house_routes::table())
}

/// The operations of the table, for the document.
pub(super) fn operations() -> impl Iterator<Item = Operation> {
    all().map(|(operation, _)| operation)
}

async fn openapi(State(gateway): State<Arc<Gateway>>, Asker(asker): Asker) -> Json<Value> {
    let catalogue = gateway.path.catalogue();
    // What a tool is called and does can be confidential: others are not even named.
    Json(document(Surface::All.view(
        &*gateway.path,
        &catalogue,
        &asker.caller,
    )))
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
    for (operation, handler) in all() {
        router = router.route(operation.path, handler);
    }
    for name in page::beside() {
        router = router.route(&format!("/{name}"), get(page::other));
    }
    let rooms = router
        .route("/", get(page::root))
        .route("/login", get(page::root))
        .route("/assets/{*name}", get(page::asset))
        .route("/ws", any(manyhands_socket::upgrade))
        .route(
            "/mcp",
            manyhands_mcp_server::route(&gateway, Refusal).layer(middleware::from_fn_with_state(
                gateway.clone(),
                oauth::admit,
            )),
        )
        .route(
            "/mcp/{server}",
            manyhands_mcp_server::pass_route(&gateway, Refusal).layer(
                middleware::from_fn_with_state(gateway.clone(), oauth::admit),
            ),
        )
        .fallback(nowhere)
        .with_state(gateway.clone());
    // Once around all of it: around each route they would be made a hundred times over, and
    // copied one inside the other with every request.
    let walls = (
        Extension(v1::Since::now(&gateway)),
        middleware::from_fn(v1::speak),
        middleware::from_fn_with_state(gateway, door::check),
        CatchPanicLayer::new(),
        middleware::from_fn_with_state(limit as u64, bounded),
        DefaultBodyLimit::max(limit),
    );
    Router::new().fallback_service(walls.layer(rooms))
}
