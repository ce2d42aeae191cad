//! `cp`: a file from one place to another.

use std::process::ExitCode;

use manyhands_core::{Envelope, ErrorCode, ToolError};
use manyhands_wire::{Payload, ToolInvokeParams, ToolProgressEvent};
use serde_json::{Value, json};

use crate::args::Cp;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::progress::{Progress, bytes};
use crate::remote::Remote;
use crate::socket::Socket;

/// The tool that does it.
const TOOL: &str = "gsv__Transfer";

/// Copies, and shows how far it is.
pub async fn run(cp: Cp, ground: &Ground) -> Done {
    let envelope = match ground.remote() {
        Ok(remote) => tokio::select! {
            copied = copy(&cp, &remote) => copied.unwrap_or_else(|failed| failed),
            // The call ends with the socket that it was made over.
            _ = tokio::signal::ctrl_c() => cancelled(),
        },
        Err(failure) => Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, failure.0))),
    };
    if cp.json {
        output::json(&envelope);
        let code = if envelope.ok {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
        return Ok(code);
    }
    match envelope.error {
        Some(error) => Err(Failure(error)),
        None => {
            output::say(summary(&cp, &envelope.result.unwrap_or_default()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn copy(cp: &Cp, remote: &Remote) -> Result<Envelope, Envelope> {
    let mut socket = Socket::open(remote.url(), remote.token()).await?;
    let mut progress = if cp.quiet {
        Progress::quiet()
    } else {
        Progress::new()
    };
    let id = socket.next_id();
    let arguments = json!({ "source": cp.source, "destination": cp.destination });
    let invoke = ToolInvokeParams {
        tool: TOOL.to_owned(),
        args: arguments.as_object().cloned(),
        agent_id: Some(cp.agent.clone()),
        progress: Some(true),
    };
    let hear = |event| {
        let told = ToolProgressEvent::read(event).filter(|told| told.request_id == id);
        if let Some(told) = told {
            progress.told(told.done, told.total);
        }
    };
    let answer = socket.ask(&invoke, hear).await?;
    serde_json::from_value(answer).map_err(|error| {
        let message = format!("{} does not answer like a gateway: {error}", remote.url());
        Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, message)))
    })
}

fn cancelled() -> Envelope {
    let message = "the copy was cancelled";
    Envelope::from(Err(ToolError::new(ErrorCode::Cancelled, message)))
}

/// What was copied, on one line.
fn summary(cp: &Cp, result: &Value) -> String {
    let mut line = format!("{} -> {}", cp.source, cp.destination);
    if let Some(count) = result["bytesTransferred"].as_u64() {
        line.push_str(&format!("  {}", bytes(count)));
    }
    if let Some(hash) = result["sha256"].as_str() {
        line.push_str(&format!("  sha256 {hash}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_from_where_to_where_how_much_and_its_hash() {
        let cp = Cp {
            source: "laptop:/a".to_owned(),
            destination: "server:/b".to_owned(),
            agent: "main".to_owned(),
            quiet: false,
            json: false,
        };
        let result = json!({ "bytesTransferred": 1_073_741_824, "sha256": "00ff" });
        assert_eq!(
            summary(&cp, &result),
            "laptop:/a -> server:/b  1.0 GiB  sha256 00ff"
        );
        assert_eq!(summary(&cp, &json!({})), "laptop:/a -> server:/b");
    }
}
