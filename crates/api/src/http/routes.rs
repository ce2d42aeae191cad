//! All routes, with their descriptions.

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
use manyhands_http_common::{Authenticated, Refusal};
use serde_json::{Map, Value};
use tower::Layer as _;
use tower_http::catch_panic::CatchPanicLayer;

use super::admin::{
    approvals, artifacts, audit, config, nodes, policy, resources, secrets, tokens, transcribe,
    trust,
};
use super::openapi::{Access, Operation, document};
use super::{
    agent_routes, chat_routes, gateway_routes, host_check, oauth, oauth_routes, page, probes,
    server_routes, session_routes, tools, v1,
};

/// An operation and its handler.
pub(super) type Route = (Operation, MethodRouter<Arc<Gateway>>);

fn table() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        (
            op("get", "/healthz", Open, "Liveness probe").gives("text/plain"),
            get(probes::healthz),
        ),
        (
            op("get", "/readyz", Open, "Readiness probe").gives("text/plain"),
            get(probes::readyz),
        ),
        (
            op(
                "get",
                "/metrics",
                Token,
                "Prometheus metrics; without a token only if `metrics.open` is set",
            )
            .gives("text/plain"),
            get(probes::metrics),
        ),
        op("get", "/api/session", Token, "Get the current caller").by(page::session),
        (
            op(
                "post",
                "/api/session/login",
                Open,
                "Log a browser in with the code of a login link",
            )
            .request::<page::LoginCode>()
            .answers::<page::LoggedIn>(),
            post(page::login),
        ),
        op("post", "/api/session/logout", Token, "Log this browser out").by(page::logout),
        op(
            "post",
            "/api/session/link",
            Owner,
            "Create a one-time login link for a browser",
        )
        .by(page::link),
        (
            op(
                "get",
                "/api/openapi.json",
                Token,
                "Get this document, with the tools this token may call",
            )
            .gives("application/json"),
            get(openapi),
        ),
        op(
            "get",
            "/api/tools",
            Token,
            "List the tools this token may call",
        )
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
        op("get", "/api/tokens", Owner, "List tokens").by(tokens::list),
        op("post", "/api/tokens", Owner, "Create a token")
            .request::<tokens::CreateToken>()
            .by(tokens::create),
        op("delete", "/api/tokens/{id}", Owner, "Revoke a token").by(tokens::revoke),
        op("get", "/api/approvals", Owner, "List approval requests")
            .query::<approvals::ApprovalQuery>()
            .by(approvals::list),
        op(
            "post",
            "/api/approvals/{id}",
            Owner,
            "Approve or deny a call",
        )
        .request::<approvals::Decide>()
        .by(approvals::decide),
        op(
            "get",
            "/api/audit",
            Owner,
            "List audit entries, newest first",
        )
        .query::<audit::AuditQuery>()
        .by(audit::list),
        op("post", "/api/audit/verify", Owner, "Verify the audit log").by(audit::verify),
        op(
            "get",
            "/api/config",
            Owner,
            "Get the settings, with secrets masked",
        )
        .query::<config::ConfigQuery>()
        .by(config::get),
        op("put", "/api/config", Owner, "Set a value")
            .request::<config::Set>()
            .by(config::set),
        op("get", "/api/policy", Owner, "List the policy rules").by(policy::list),
        op(
            "post",
            "/api/policy/explain",
            Owner,
            "Evaluate the rules for a call",
        )
        .request::<policy::Explain>()
        .by(policy::explain),
        op(
            "get",
            "/api/trust",
            Owner,
            "List objects influenced by untrusted text",
        )
        .by(trust::list),
        op(
            "post",
            "/api/trust",
            Owner,
            "Trust an object in its current state",
        )
        .request::<trust::Trust>()
        .by(trust::trust),
        op("get", "/api/secrets", Owner, "List the names of secrets").by(secrets::list),
        op("put", "/api/secrets/{*name}", Owner, "Store a secret")
            .request::<secrets::Put>()
            .by(secrets::put),
        op("delete", "/api/secrets/{*name}", Owner, "Remove a secret").by(secrets::remove),
        op("get", "/api/nodes", Token, "List nodes").by(nodes::list),
        op(
            "post",
            "/api/nodes/codes",
            Owner,
            "Create a one-time enrolment code for a node",
        )
        .request::<nodes::Invite>()
        .by(nodes::invite),
        op(
            "post",
            "/api/enrol",
            Open,
            "Redeem an enrolment code for the node's own token",
        )
        .request::<nodes::Enrol>()
        .by(nodes::enrol),
        op("post", "/api/nodes/{id}/rename", Owner, "Rename a node")
            .request::<nodes::Rename>()
            .by(nodes::rename),
        op(
            "post",
            "/api/nodes/{id}/revoke",
            Owner,
            "Revoke a node's own token and disconnect it",
        )
        .by(nodes::revoke),
        op(
            "delete",
            "/api/nodes/{id}",
            Owner,
            "Remove a node and revoke its own token",
        )
        .query::<nodes::ForgetQuery>()
        .by(nodes::forget),
    ]
}

/// Artifacts and resources.
fn stored() -> Vec<Route> {
    use Access::{Open, Owner, Token};
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/artifacts",
            Token,
            "List artifacts, newest first",
        )
        .query::<artifacts::ArtifactQuery>()
        .by(artifacts::list),
        op("post", "/api/artifacts", Token, "Upload an artifact")
            .query::<artifacts::Upload>()
            .takes_bytes("*/*")
            .by(artifacts::put),
        (
            op("get", "/api/artifacts/{id}", Token, "Download an artifact")
                .gives("application/octet-stream"),
            get(artifacts::get),
        ),
        op("delete", "/api/artifacts/{id}", Token, "Remove an artifact").by(artifacts::remove),
        op(
            "get",
            "/api/artifacts/{id}/record",
            Token,
            "Get the metadata of an artifact",
        )
        .by(artifacts::show),
        op(
            "post",
            "/api/artifacts/{id}/url",
            Token,
            "Create a temporary download link that needs no token",
        )
        .by(artifacts::link),
        (
            op(
                "get",
                "/artifacts/{id}",
                Open,
                "Download an artifact by a valid link",
            )
            .query::<artifacts::Signed>()
            .gives("application/octet-stream"),
            get(artifacts::by_link),
        ),
        op("get", "/api/resources", Owner, "List resources").by(resources::list),
        op("post", "/api/resources", Owner, "Create a resource")
            .request::<resources::CreateResource>()
            .by(resources::create),
        op(
            "get",
            "/api/resources/{id}",
            Owner,
            "Get a resource and its grants",
        )
        .by(resources::get),
        op(
            "delete",
            "/api/resources/{id}",
            Owner,
            "Remove a resource and its contents",
        )
        .by(resources::remove),
        op(
            "put",
            "/api/resources/{id}/grants/{agent}",
            Owner,
            "Grant an agent access to a resource",
        )
        .request::<resources::Allow>()
        .by(resources::grant),
        op(
            "delete",
            "/api/resources/{id}/grants/{agent}",
            Owner,
            "Revoke an agent's access to a resource",
        )
        .by(resources::revoke),
        op(
            "put",
            "/api/resources/{id}/secrets/{name}",
            Owner,
            "Store a secret in a vault",
        )
        .request::<resources::PutSecret>()
        .by(resources::put_secret),
        op(
            "delete",
            "/api/resources/{id}/secrets/{name}",
            Owner,
            "Remove a secret from a vault",
        )
        .by(resources::remove_secret),
    ]
}

/// All routes.
fn all() -> impl Iterator<Item = Route> {
    table()
        .into_iter()
        .chain(stored())
        .chain(agent_routes::table())
        .chain(server_routes::table())
        .chain(session_routes::table())
        .chain(oauth_routes::table())
        .chain(chat_routes::table())
        .chain(gateway_routes::table())
}

/// The operations, for the OpenAPI document.
pub(super) fn operations() -> impl Iterator<Item = Operation> {
    all().map(|(operation, _)| operation)
}

async fn openapi(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
) -> Json<Value> {
    let catalogue = gateway.path.catalogue();
    // Names and descriptions of tools may be confidential, so only those the caller may use are
    // listed.
    Json(document(Surface::All.view(
        &*gateway.path,
        &catalogue,
        &admitted.caller,
    )))
}

/// Rejects a body whose declared length is too large without reading it.
async fn bounded(State(limit): State<u64>, request: Request, next: Next) -> Response {
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // Uploads are streamed, and recordings are large; both have their own limit.
    let own_limit = ["/api/artifacts", transcribe::PATH].contains(&request.uri().path());
    if !own_limit && said.is_some_and(|length| length > limit) {
        let message = "the request is larger than limits.request_bytes";
        return Refusal(ToolError::new(ErrorCode::TooLarge, message)).into_response();
    }
    next.run(request).await
}

async fn no_route() -> Refusal {
    Refusal(
        ToolError::not_found("no such endpoint").hint("GET /api/openapi.json describes the API"),
    )
}

/// The router of the whole HTTP face.
pub fn router(gateway: Arc<Gateway>) -> Router {
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let mut router = Router::new();
    for (operation, handler) in all() {
        router = router.route(operation.path, handler);
    }
    // The names of these files come from the build of the page.
    for name in page::beside() {
        router = router.route(&format!("/{name}"), get(page::other));
    }
    let routes = router
        .route("/", get(page::root))
        .route("/login", get(page::root))
        .route("/assets/{*name}", get(page::asset))
        .route("/docs", get(page::guide_root))
        .route("/docs/", get(page::guide))
        .route("/docs/{*name}", get(page::guide))
        .route("/ws", any(manyhands_socket::upgrade))
        .route(
            "/mcp",
            // Only here tokens of other issuers are accepted, and a refusal names the authorization
            // server.
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
        .fallback(no_route)
        .with_state(gateway.clone());
    // Layered once around all routes: around each route the layers would be built a hundred times
    // and cloned with every request.
    let layers = (
        Extension(v1::ServingSince::now(&gateway)),
        middleware::from_fn(v1::convert_errors),
        middleware::from_fn_with_state(gateway, host_check::check),
        // A panic in a handler becomes a 500 and not a dropped connection.
        CatchPanicLayer::new(),
        middleware::from_fn_with_state(limit as u64, bounded),
        DefaultBodyLimit::max(limit),
    );
    Router::new().fallback_service(layers.layer(routes))
}
