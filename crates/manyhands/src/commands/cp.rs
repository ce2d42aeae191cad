//! `cp`: copies a file between nodes and workspaces.

use std::process::ExitCode;

use manyhands_core::{Envelope, ErrorCode, ToolError};
use manyhands_wire::{Payload, ToolInvokeParams, ToolProgressEvent};
use serde_json::{Value, json};

use crate::args::Cp;
use crate::context::CliContext;
use crate::remote::Remote;
use crate::socket::Socket;
use manyhands_terminal::output::{self, Done, Failure};
use manyhands_terminal::progress::{Progress, bytes};

/// The tool that copies.
const TOOL: &str = "gsv__Transfer";

/// Copies a file and shows progress.
pub async fn run(cp: Cp, ctx: &CliContext) -> Done {
    let envelope = match ctx.remote() {
        Ok(remote) => tokio::select! {
            copied = copy(&cp, &remote) => copied.unwrap_or_else(|failed| failed),
            // Closing the socket cancels the call on the gateway.
            _ = tokio::signal::ctrl_c() => cancelled(),
        },
        Err(failure) => Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, failure.0))),
    };
    if cp.json {
        output::json(&envelope);
        // The envelope holds the error already, so nothing is printed besides it.
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
            output::print_line(summary(&cp, &envelope.result.unwrap_or_default()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn copy(cp: &Cp, remote: &Remote) -> Result<Envelope, Envelope> {
    let mut socket = Socket::open(remote.url(), remote.token()).await?;
    let mut progress = if cp.quiet {
        Progress::quiet()
    } else {
        Progress::on_terminal()
    };
    // Known before the request is sent: progress events refer to it.
    let id = socket.next_id();
    let arguments = json!({ "source": cp.source, "destination": cp.destination });
    let invoke = ToolInvokeParams {
        tool: TOOL.to_owned(),
        args: arguments.as_object().cloned(),
        agent_id: Some(cp.agent.clone()),
        progress: Some(true),
    };
    let on_event = |event| {
        let step = ToolProgressEvent::read(event).filter(|step| step.request_id == id);
        if let Some(step) = step {
            progress.update(step.done, step.total);
        }
    };
    let answer = socket.request(&invoke, on_event).await?;
    serde_json::from_value(answer).map_err(|error| {
        let message = format!("{} does not respond like a gateway: {error}", remote.url());
        Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, message)))
    })
}

fn cancelled() -> Envelope {
    let message = "copy cancelled";
    Envelope::from(Err(ToolError::new(ErrorCode::Cancelled, message)))
}

/// One-line summary of a copy.
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
    fn the_last_line_has_source_destination_size_and_hash() {
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
