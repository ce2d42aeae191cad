//! Addresses of tools as *server path* plus *tool name*, for callers of the generic call tool.
//! Built-in families, nodes and MCP servers are all servers there.

use manyhands_core::{Catalogue, CatalogueEntry, ErrorCode, RunsOn, ToolError, ToolSpec};

/// The path of the server that a tool belongs to.
pub fn server_of(spec: &ToolSpec) -> String {
    match &spec.runs_on {
        RunsOn::Node { id } => format!("node/{id}"),
        RunsOn::Server { name } => name.clone(),
        RunsOn::Gateway | RunsOn::Host => match spec.family.as_str() {
            "unified" => "local".to_owned(),
            family => family.to_owned(),
        },
    }
}

/// The name of a tool on its server.
pub fn name_there(spec: &ToolSpec) -> String {
    let name = spec.name.as_str();
    let short = match &spec.runs_on {
        RunsOn::Node { id } => name.strip_prefix(&format!("{id}__")),
        RunsOn::Server { name: server } => {
            let server = server.rsplit('/').next().unwrap_or_default();
            name.strip_prefix(&format!("{server}__"))
        }
        RunsOn::Gateway | RunsOn::Host => None,
    };
    short.unwrap_or(name).to_owned()
}

/// Finds a tool by server path and tool name; the name may be the one on the server or the one in
/// the catalogue.
pub fn find<'a>(
    catalogue: &'a Catalogue,
    server: &str,
    tool: &str,
) -> Result<&'a CatalogueEntry, ToolError> {
    let shelf = server
        .strip_prefix("node/")
        .or_else(|| server.strip_prefix("remote/"))
        .or_else(|| server.strip_prefix("dynamic/"))
        .unwrap_or(server);
    let spellings = match server {
        "gsv" => [format!("gsv__{tool}"), tool.to_owned()],
        "tool" => [format!("tool::{tool}"), tool.to_owned()],
        "local" | "gateway" => [tool.to_owned(), tool.to_owned()],
        _ => [format!("{shelf}__{tool}"), tool.to_owned()],
    };
    let belongs = |found: &&CatalogueEntry| {
        let of = server_of(found.spec());
        of == server || (server == format!("remote/{of}") && !of.contains('/'))
    };
    let mut found = spellings.iter().filter_map(|name| catalogue.resolve(name));
    found.find(belongs).ok_or_else(|| {
        let known = is_known(catalogue, server);
        let (parameter, message) = match known {
            true => (
                "tool",
                format!("server {server:?} has no tool {:?}", short(tool)),
            ),
            false => ("server", format!("there is no server {:?}", short(server))),
        };
        let mut error = ToolError::parameter(parameter, message);
        error.code = ErrorCode::UnknownTool;
        match full_path(catalogue, server).filter(|_| !known) {
            Some(path) => error.hint(format!("did you mean server {path:?}?")),
            None => error.hint("find servers and tools with capabilities_discover"),
        }
    })
}

/// The full path of a server named without its `dynamic/` or `node/` prefix, or in another case.
/// Similar names are not suggested: the search covers servers that the caller may not be allowed to
/// see.
fn full_path(catalogue: &Catalogue, server: &str) -> Option<String> {
    let last = |path: &str| {
        path.rsplit('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let named = last(server);
    catalogue
        .specs()
        .map(server_of)
        .find(|path| last(path) == named)
}

fn is_known(catalogue: &Catalogue, server: &str) -> bool {
    let named = server.strip_prefix("remote/").unwrap_or(server);
    catalogue.specs().any(|spec| server_of(spec) == named)
}

fn short(text: &str) -> String {
    text.chars().take(100).collect()
}
