//! Reads one server entry in any supported format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manyhands_config::{McpServer, OauthSettings, ServerKind, is_secret_key};
use manyhands_core::{Pattern, ServerName};
use serde_json::{Map, Value};

use super::values::Values;
use super::{ImportedServer, Section};
use crate::UserEnv;

/// The program's format, where the same key means different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `mcpServers` as in most programs, and VS Code's `servers`.
    Plain,
    /// Gemini CLI.
    Gemini,
    /// Zed.
    Zed,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Goose.
    Goose,
}

/// Keys without a meaning for the gateway.
const IGNORED_KEYS: [&str; 6] = [
    "name",
    "description",
    "display_name",
    "source",
    "bundled",
    "icon",
];

/// The keys of an entry that have not been read yet.
struct Keys(Map<String, Value>);

impl Keys {
    /// Takes the first of these keys that is present.
    fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let found = keys.iter().find_map(|key| self.0.remove(*key));
        found.filter(|value| !value.is_null())
    }

    fn text(&mut self, keys: &[&str]) -> Result<Option<String>, String> {
        match self.take(keys) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{} is not a string", keys[0])),
        }
    }

    fn list(&mut self, keys: &[&str]) -> Result<Vec<String>, String> {
        match self.take(keys) {
            None => Ok(Vec::new()),
            Some(list) => {
                words(&list).ok_or_else(|| format!("{} is not a list of strings", keys[0]))
            }
        }
    }

    fn map(&mut self, keys: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let map = match self.take(keys) {
            None => return Ok(BTreeMap::new()),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(format!("{} is not an object", keys[0])),
        };
        let texts = map
            .into_iter()
            .filter_map(|(key, value)| Some((key, scalar(&value)?)));
        Ok(texts.collect())
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        self.take(&[key]).and_then(|value| value.as_bool())
    }
}

fn words(list: &Value) -> Option<Vec<String>> {
    list.as_array()?.iter().map(scalar).collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads one server; an error says why it cannot be imported.
pub fn read(
    given: &str,
    entry: &Value,
    section: &Section<'_>,
    user_env: &UserEnv,
) -> Result<ImportedServer, String> {
    let dialect = section.dialect;
    let mut keys = Keys(entry.as_object().ok_or("not an object")?.clone());
    // Older versions of Goose stored everything but `enabled` one level deeper.
    if let Some(Value::Object(inner)) = keys.take(&["config"]) {
        keys.0.extend(inner);
    }
    let name = legal_name(given);
    let project = section.project.as_deref();
    let mut values = Values::new(&name, dialect, user_env, project, &section.inputs);
    let word = keys.text(&["type", "transport"])?;
    let kind = word.as_deref().map(kind).transpose()?.flatten();

    let (mut command, mut args, mut env) = command(&mut keys)?;
    args.extend(keys.list(&["args"])?);
    env.extend(keys.map(&["env", "environment", "envs"])?);
    let (mut url, url_kind) = address(&mut keys, dialect)?;
    let headers = headers(&mut keys)?;
    if command.is_none() && url.is_none() {
        return Err(match (dialect, keys.0.contains_key("settings")) {
            (Dialect::Zed, true) => "it belongs to a Zed extension".to_owned(),
            _ => "it has neither a command nor a URL".to_owned(),
        });
    }
    // The other program uses this gateway as its server; importing that would create a loop.
    if is_ourselves(command.as_deref(), &args) {
        return Err("it is this gateway itself".to_owned());
    }
    if command.is_some() && url.is_some() {
        url = None;
        values
            .notes
            .push("ignored its URL, because it has a command".to_owned());
    }

    let mut enabled = keys.flag("enabled").unwrap_or(true);
    // Programs write one of the two keys; a disabled server stays disabled.
    enabled &= !keys.flag("disabled").unwrap_or(false) && !section.off.contains(&given);
    // These only name variables; their values come from the environment of the program.
    for variable in keys.list(&["env_keys", "env_vars"])? {
        env.entry(variable.clone())
            .or_insert(format!("${{{variable}}}"));
    }
    let cwd = keys.text(&["cwd", "workingDirectory"])?;

    // Arguments and URLs are stored in plain text, so references to secrets cannot be resolved in them.
    let mut fill = |text: &mut String| {
        if let Err(reference) = values.open(text, &env).map(|filled| *text = filled) {
            enabled = false;
            values.notes.push(format!(
                "cannot resolve {reference} in {text:?}, so the server is disabled; move it into env or headers"
            ));
        }
    };
    command.iter_mut().for_each(&mut fill);
    args.iter_mut().for_each(&mut fill);
    url.iter_mut().for_each(&mut fill);
    let mut cwd = cwd;
    cwd.iter_mut().for_each(&mut fill);

    for pair in args.windows(2) {
        let flag = pair[0].trim_start_matches('-');
        // Arguments cannot refer to the vault, so the user has to know.
        if flag.len() < pair[0].len() && is_secret_key(flag) && !pair[1].contains('$') {
            let note = format!(
                "the argument after {} is stored in plain text in config.toml",
                pair[0]
            );
            values.notes.push(note);
        }
    }
    let hide = |values: &mut Values<'_>, map: BTreeMap<String, String>| {
        let hidden = map.into_iter();
        hidden
            .filter_map(|(key, value)| Some((key.clone(), values.hidden(&key, &value)?)))
            .collect::<BTreeMap<_, _>>()
    };
    let (env, headers) = (hide(&mut values, env), hide(&mut values, headers));
    let oauth = oauth(&mut keys, &mut values);
    let cwd = folder(cwd, command.is_some(), project, user_env);
    let command = command.map(|command| program(command, cwd.as_deref(), project, user_env));
    let plain = McpServer::default();
    let server = McpServer {
        kind: kind.or(url_kind),
        command,
        args,
        env,
        cwd,
        url,
        headers,
        enabled,
        tools: patterns(keys.list(&["enabled_tools", "includeTools", "available_tools"])?)
            .unwrap_or(plain.tools),
        hide: patterns(keys.list(&["disabled_tools", "excludeTools", "disabledTools"])?)
            .unwrap_or_default(),
        timeout: timeout(&mut keys, dialect).unwrap_or(plain.timeout),
        oauth,
        ..McpServer::default()
    };
    keys.0
        .retain(|key, value| !IGNORED_KEYS.contains(&key.as_str()) && !value.is_null());
    if !keys.0.is_empty() {
        // Whatever was not read above has no meaning here, and is not dropped silently.
        let left: Vec<&str> = keys.0.keys().map(String::as_str).collect();
        values.notes.push(format!("ignored: {}", left.join(", ")));
    }
    let (secrets, notes) = (values.secrets, values.notes);
    Ok(ImportedServer {
        given: given.to_owned(),
        name,
        server,
        secrets,
        notes,
    })
}

/// Converts a name to a legal server name.
pub fn legal_name(given: &str) -> ServerName {
    let mut name = String::new();
    for c in given.chars() {
        let c = match c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            true => c,
            false => '-',
        };
        // `__` separates server and tool in the catalogue.
        let again = matches!(c, '_' | '-') && name.ends_with(c);
        if !again && name.len() < 32 {
            name.push(c);
        }
    }
    let name = name.trim_matches(['_', '-']);
    let name = if name.is_empty() { "server" } else { name };
    // The only remaining problem is a name reserved for the gateway's own tools.
    let found = name.parse().or_else(|_| format!("{name:.28}-mcp").parse());
    found.unwrap_or_else(|_| "server".parse().expect("a legal name"))
}

fn kind(word: &str) -> Result<Option<ServerKind>, String> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "stdio" | "local" => Ok(Some(ServerKind::Stdio)),
        "http" | "streamablehttp" => Ok(Some(ServerKind::Http)),
        "sse" => Ok(Some(ServerKind::Sse)),
        "remote" | "" => Ok(None),
        "builtin" | "platform" | "frontend" | "inlinepython" | "sdk" => {
            Err(format!("it is built into the program ({word})"))
        }
        _ => Err(format!("unknown type {word:?}")),
    }
}

type Command = (Option<String>, Vec<String>, BTreeMap<String, String>);

/// Reads the command: a string, a list, or a table.
fn command(keys: &mut Keys) -> Result<Command, String> {
    match keys.take(&["command", "cmd"]) {
        None => Ok((None, Vec::new(), BTreeMap::new())),
        Some(Value::String(text)) if !text.is_empty() => {
            Ok((Some(text), Vec::new(), BTreeMap::new()))
        }
        Some(Value::Object(table)) => {
            let mut inner = Keys(table);
            let (path, args) = (inner.text(&["path"])?, inner.list(&["args"])?);
            Ok((path, args, inner.map(&["env"])?))
        }
        Some(list) => {
            let all = words(&list).filter(|all| !all.is_empty());
            let mut all = all.ok_or("command is neither a string nor a list of strings")?;
            let first = all.remove(0);
            Ok((Some(first), all, BTreeMap::new()))
        }
    }
}

/// Reads the URL, and the transport its key implies.
fn address(
    keys: &mut Keys,
    dialect: Dialect,
) -> Result<(Option<String>, Option<ServerKind>), String> {
    if let Some(url) = keys.text(&["httpUrl"])? {
        return Ok((Some(url), Some(ServerKind::Http)));
    }
    let url = keys.text(&["url", "serverUrl", "uri"])?;
    let sse = url.is_some() && dialect == Dialect::Gemini;
    Ok((url, sse.then_some(ServerKind::Sse)))
}

fn headers(keys: &mut Keys) -> Result<BTreeMap<String, String>, String> {
    let mut headers = keys.map(&["headers", "http_headers"])?;
    for (header, variable) in keys.map(&["env_http_headers"])? {
        headers.insert(header, format!("${{{variable}}}"));
    }
    if let Some(variable) = keys.text(&["bearer_token_env_var"])? {
        headers.insert(
            "Authorization".to_owned(),
            format!("Bearer ${{{variable}}}"),
        );
    }
    if let Some(token) = keys.text(&["bearer_token"])? {
        headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
    Ok(headers)
}

/// Returns whether the entry starts this gateway's own MCP server, which would be a loop.
fn is_ourselves(command: Option<&str>, args: &[String]) -> bool {
    let name = command.and_then(|command| Path::new(command).file_name()?.to_str());
    name == Some("manyhands") && args.iter().any(|word| word == "mcp")
}

fn oauth(keys: &mut Keys, values: &mut Values<'_>) -> Option<OauthSettings> {
    let Some(Value::Object(table)) = keys.take(&["oauth", "auth"]) else {
        return None;
    };
    let mut table = Keys(table);
    let client_id = table
        .text(&["clientId", "client_id", "CLIENT_ID"])
        .ok()
        .flatten();
    let client_id = client_id.and_then(|id| match values.open(&id, &BTreeMap::new()) {
        Ok(id) => Some(id),
        Err(reference) => {
            values
                .notes
                .push(format!("ignored oauth.clientId: {reference} is not set"));
            None
        }
    });
    let secret = table.text(&["clientSecret", "client_secret", "CLIENT_SECRET"]);
    let scopes = match table.take(&["scopes", "scope"]) {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        other => other.as_ref().and_then(words).unwrap_or_default(),
    };
    let client_secret = secret
        .ok()
        .flatten()
        .filter(|secret| !secret.is_empty())
        .map(|secret| {
            // A reference or placeholder is not a secret; the user has to set the value later.
            let known = (!secret.contains('$') && secret.chars().count() >= 8).then_some(secret);
            format!("vault:{}", values.keep("client_secret", known, None))
        });
    let said = client_id.is_some() || client_secret.is_some() || !scopes.is_empty();
    said.then_some(OauthSettings {
        client_id,
        client_secret,
        scopes,
    })
}

/// Call timeout in seconds, where the unit is known.
fn timeout(keys: &mut Keys, dialect: Dialect) -> Option<u64> {
    let (key, per_second) = match dialect {
        Dialect::Codex => ("tool_timeout_sec", 1.0),
        Dialect::Goose => ("timeout", 1.0),
        Dialect::Gemini | Dialect::Opencode => ("timeout", 1000.0),
        // Their unit is not known; a wrong guess would be off by a factor of 1000.
        Dialect::Plain | Dialect::Zed => return None,
    };
    let number = keys.take(&[key])?.as_f64()?;
    let seconds = (number / per_second).ceil().clamp(1.0, 3600.0);
    Some(seconds as u64)
}

fn patterns(names: Vec<String>) -> Option<Vec<Pattern>> {
    let all: Vec<Pattern> = names.iter().map(Pattern::new).collect();
    (!all.is_empty()).then_some(all)
}

/// Working directory; for a project's server its directory, which relative paths refer to.
fn folder(
    cwd: Option<String>,
    is_program: bool,
    project: Option<&Path>,
    user_env: &UserEnv,
) -> Option<PathBuf> {
    if !is_program {
        return None;
    }
    let cwd = cwd.map(|text| at_home(&text, user_env));
    match (cwd, project) {
        (Some(cwd), _) if cwd.is_absolute() => Some(cwd),
        (Some(cwd), Some(project)) => Some(project.join(cwd).components().collect()),
        (Some(cwd), None) => Some(user_env.user.join(cwd)),
        (None, project) => project.map(Path::to_owned),
    }
}

fn program(
    command: String,
    cwd: Option<&Path>,
    project: Option<&Path>,
    user_env: &UserEnv,
) -> String {
    if !command.contains('/') {
        return command;
    }
    let path = at_home(&command, user_env);
    let base = cwd.or(project).unwrap_or(&user_env.user);
    let whole: PathBuf = base.join(path).components().collect();
    whole.into_os_string().into_string().unwrap_or(command)
}

fn at_home(text: &str, user_env: &UserEnv) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => user_env.user.join(rest),
        None => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_a_legal_one() {
        for (given, name) in [
            ("github", "github"),
            ("GitHub MCP", "GitHub-MCP"),
            ("@scope/server.one", "scope-server-one"),
            ("a__b", "a_b"),
            ("_x_", "x"),
            ("gsv", "gsv-mcp"),
            ("ü", "server"),
            ("", "server"),
            (&"long-".repeat(20), "long-long-long-long-long-long-lo"),
        ] {
            assert_eq!(legal_name(given).as_str(), name, "{given}");
        }
    }
}
