//! `tool.request`: a call in the name of a session, whose end everybody there hears.

use manyhands_agent::{SessionKey, TurnEvent};
use manyhands_core::{CallId, CallRequest, ErrorCode, Invoke as _, Question, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_wire::{ErrorShape, ToolRequestParams};
use serde_json::Value;
use tokio::time::Instant;

use super::access::key;
use super::shape::shape;

/// How much of what a requested call gave is told.
const SHOWN: usize = 4_000;
/// The longest id of a call.
const MAX_ID: usize = 200;

/// A call that somebody asked for in the name of a session.
pub(super) struct Requested {
    key: SessionKey,
    params: ToolRequestParams,
}

/// Looks whether a call may be asked for in the name of a session.
pub(super) fn requested(
    gateway: &Gateway,
    asker: &Admitted,
    params: ToolRequestParams,
) -> Result<Requested, ErrorShape> {
    let key = key(asker, &params.session_key)?;
    if params.call_id.is_empty() || params.call_id.len() > MAX_ID {
        let message = format!("must be 1 to {MAX_ID} bytes");
        return Err(shape(ToolError::parameter("callId", message)));
    }
    let catalogue = gateway.path.catalogue();
    let Some(tool) = catalogue.resolve(&params.tool) else {
        let message = format!("there is no tool {:?}", params.tool);
        return Err(shape(ToolError::new(ErrorCode::UnknownTool, message)));
    };
    let question = Question::available(&asker.caller, key.agent(), tool.spec());
    let verdict = gateway.path.authorize(question);
    verdict.refused(tool.spec()).map_err(shape)?;
    Ok(Requested { key, params })
}

impl Requested {
    /// Makes the call, and tells everybody who may see the session what comes of it.
    pub(super) async fn carry_out(self, gateway: &Gateway, asker: &Admitted) {
        let ToolRequestParams {
            call_id,
            tool,
            args,
            ..
        } = self.params;
        let arguments = serde_json::json!(args.unwrap_or_default());
        let mut request = CallRequest::new(&tool, arguments.clone(), asker.caller.clone());
        let id = gateway.ids.next::<CallId>();
        request.id = Some(id);
        request.agent = self.key.agent().clone();
        let tell = |what| gateway.minds().tell(&self.key, &call_id, what);
        tell(TurnEvent::ToolStarted {
            call_id: call_id.clone(),
            tool: tool.clone(),
            arguments,
            call: Some(id),
        });
        let began = Instant::now();
        let result = gateway.invoke(asker, request).await;
        let shown = match &result {
            Ok(outcome) => match &outcome.value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            Err(error) => error.text(),
        };
        tell(TurnEvent::ToolDone {
            call_id: call_id.clone(),
            tool,
            ok: result.is_ok(),
            shown: shown.chars().take(SHOWN).collect(),
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            call: Some(id),
        });
    }
}
