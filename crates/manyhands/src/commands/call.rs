//! `call` and `trigger`.

use std::io::Read;
use std::process::ExitCode;

use manyhands_core::{Envelope, ErrorCode, ToolError};
use serde_json::Value;

use crate::args::{Call, Trigger};
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done};

/// Calls a tool and prints its envelope.
pub async fn run(call: Call, ctx: &CliContext) -> Done {
    let mut query = format!("agent={}&wait={}", encode(&call.agent), call.wait);
    if let Some(timeout) = call.timeout {
        query.push_str(&format!("&timeout={timeout}"));
    }
    if let Some(connection) = &call.connection {
        query.push_str(&format!("&connection={}", encode(connection)));
    }
    let path = format!("/api/tools/{}?{query}", name(&call.tool));
    send(&path, call.arguments.as_deref(), ctx).await
}

/// Calls a tool by its trigger id.
pub async fn trigger(trigger: Trigger, ctx: &CliContext) -> Done {
    let path = format!("/api/trigger/{}", name(&trigger.id));
    send(&path, trigger.arguments.as_deref(), ctx).await
}

/// Prints an envelope even if the gateway cannot be reached: scripts parse it.
async fn send(path: &str, arguments: Option<&str>, ctx: &CliContext) -> Done {
    let envelope = match parse(arguments) {
        Ok(arguments) => match ctx.remote() {
            Ok(remote) => remote.post(path, &arguments).await,
            Err(failure) => Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, failure.0))),
        },
        Err(error) => Envelope::from(Err(error)),
    };
    let code = if envelope.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    output::json(&envelope);
    Ok(code)
}

fn parse(arguments: Option<&str>) -> Result<Value, ToolError> {
    let wrong = |why: String| {
        ToolError::new(ErrorCode::InvalidArguments, why)
            .hint("pass one JSON object, quoted for the shell: '{\"path\":\"SOUL.md\"}'")
    };
    let text = match arguments {
        None => return Ok(Value::Object(Default::default())),
        // Large arguments do not fit on a command line, and secrets should not be visible there.
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|e| wrong(format!("cannot read standard input: {e}")))?;
            text
        }
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    serde_json::from_str(&text).map_err(|e| wrong(format!("invalid JSON arguments: {e}")))
}

/// Encodes a tool name for a path: slashes stay, `..` does not.
pub fn name(tool: &str) -> String {
    // Some proxies normalise `..` in a path even if it is part of a name.
    encode(tool).replace("..", "%2E%2E")
}

/// Encodes an id as one path segment.
pub fn segment(id: &str) -> String {
    encode(id).replace('/', "%2F").replace("..", "%2E%2E")
}

/// Percent-encodes a path; slashes stay, for names that contain them.
pub fn encode(text: &str) -> String {
    let keep = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b':' | b'/' | b'*')
    };
    text.bytes()
        .map(|b| {
            if keep(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}
