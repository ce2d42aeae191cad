//! Turns the settings of a server into a transport.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use manyhands_config::{Confinement, McpServer, ServerKind};
use manyhands_core::{ErrorCode, Secret, ServerName, ToolError};
use manyhands_guard::{HeaderName, Sandbox};
use manyhands_host::machine::Host;
use manyhands_store::Vault;
use manyhands_upstream::Transport;

/// Environment variables that a server's program inherits.
pub const SERVER_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Credentials of a connection, by name.
pub(super) type Keys = BTreeMap<String, Secret>;

/// The transport of a server with the credentials of one connection.
pub(super) async fn transport(
    name: &ServerName,
    config: &McpServer,
    keys: &Keys,
    host: &Host,
    vault: &Vault,
    home: &Path,
) -> Result<Transport, ToolError> {
    match (&config.command, &config.url) {
        (Some(command), None) => program(name, config, command, keys, host, vault, home).await,
        (None, Some(url)) => {
            let headers = headers(name, config, keys, vault).await?;
            let url = url.clone();
            Ok(match config.kind {
                Some(ServerKind::Sse) => Transport::Sse { url, headers },
                _ => Transport::Http { url, headers },
            })
        }
        (Some(_), Some(_)) => Err(wrong(
            name,
            "command",
            "both command and url are set; use only one",
        )),
        (None, None) => Err(wrong(name, "command", "set either command or url")),
    }
}

/// The headers sent with each request.
pub(super) async fn headers(
    name: &ServerName,
    config: &McpServer,
    keys: &Keys,
    vault: &Vault,
) -> Result<Vec<(HeaderName, Secret)>, ToolError> {
    let mut headers = Vec::new();
    for (header, value) in &config.headers {
        let parsed = HeaderName::try_from(header.as_str()).map_err(|_| {
            wrong(
                name,
                "headers",
                &format!("{header:?} is not a valid header name"),
            )
        })?;
        headers.push((parsed, filled(value, keys, vault).await?));
    }
    let named = headers.iter().any(|(header, _)| header == "authorization");
    if let Some(token) = keys.get("token").filter(|_| !named) {
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        headers.push((HeaderName::from_static("authorization"), bearer));
    }
    Ok(headers)
}

async fn program(
    name: &ServerName,
    config: &McpServer,
    command: &str,
    keys: &Keys,
    host: &Host,
    vault: &Vault,
    home: &Path,
) -> Result<Transport, ToolError> {
    let own = home.join("servers").join(name.as_str());
    std::fs::create_dir_all(&own).map_err(|e| {
        wrong(
            name,
            "cwd",
            &format!("cannot create {}: {e}", own.display()),
        )
    })?;
    let mut env: BTreeMap<OsString, OsString> = SERVER_VARIABLES
        .iter()
        .filter_map(|key| Some(((*key).into(), host.variable(key)?.into())))
        .collect();
    let path = env
        .get(&OsString::from("PATH"))
        .cloned()
        .unwrap_or_default();
    let program = find_program(command, &path)
        .ok_or_else(|| wrong(name, "command", &format!("program {command:?} not found")))?;
    let sandbox = match config.sandbox {
        Confinement::Off => None,
        Confinement::On => {
            env.insert("HOME".into(), own.clone().into());
            env.insert("TMPDIR".into(), own.clone().into());
            let mut sandbox = Sandbox::system_read_only().writing(&own);
            // A program installed outside the system folders needs read access to the libraries
            // next to it.
            if let Some(folder) = program.parent().and_then(Path::parent) {
                sandbox = sandbox.reading(folder);
            }
            for folder in &config.folders {
                sandbox = sandbox.writing(folder);
            }
            sandbox.network = config.network;
            Some(sandbox)
        }
    };
    for (key, secret) in keys {
        env.insert(key.into(), secret.expose().into());
    }
    for (key, value) in &config.env {
        let value = filled(value, keys, vault).await?;
        env.insert(key.into(), value.expose().into());
    }
    Ok(Transport::Stdio {
        program,
        args: config.args.iter().map(OsString::from).collect(),
        env,
        cwd: Some(config.cwd.clone().unwrap_or(own)),
        sandbox,
    })
}

/// Resolves a program the way a shell would.
pub fn find_program(command: &str, path: &OsString) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let direct = PathBuf::from(command);
    if direct.is_absolute() {
        return Some(direct).filter(is_program);
    }
    if command.contains('/') {
        return None; // there is no working directory to be relative to
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(is_program)
}

/// Replaces every `${NAME}`, or a whole `vault:NAME`, by the secret of that name.
pub(super) async fn filled(value: &str, keys: &Keys, vault: &Vault) -> Result<Secret, ToolError> {
    let secret = async |name: &str| -> Result<Secret, ToolError> {
        if let Some(key) = keys.get(name) {
            return Ok(key.clone());
        }
        let kept = vault.get(name).await?;
        kept.ok_or_else(|| {
            let message = format!("secret {name:?} not found");
            ToolError::new(ErrorCode::Unavailable, message).hint(format!(
                "set it with `manyhands secret set {name}`, or add a connection that has it"
            ))
        })
    };
    if let Some(name) = value.strip_prefix("vault:") {
        return secret(name).await;
    }
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        out.push_str(secret(name).await?.expose());
        rest = after;
    }
    out.push_str(rest);
    Ok(Secret::new(out))
}

fn wrong(name: &ServerName, key: &str, why: &str) -> ToolError {
    ToolError::new(
        ErrorCode::Unavailable,
        format!("mcpServers.{name}.{key}: {why}"),
    )
    .hint("change it in config.toml, then try again")
}
