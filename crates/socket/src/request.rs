//! `tool.request`: a call on behalf of a session, whose outcome every client of that session sees.

use manyhands_agent::{CallStats, SessionKey, TurnEvent};
use manyhands_core::{CallId, CallRequest, ErrorCode, Invoke as _, Question, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_wire::{ErrorShape, ToolRequestParams};
use serde_json::Value;
use tokio::time::Instant;

use super::access::key;
use super::shape::shape;

/// Characters of a result that are broadcast.
const SHOWN: usize = 4_000;
/// Longest call id, in bytes.
const MAX_ID: usize = 200;

/// An authorized call on behalf of a session.
pub(super) struct SessionCall {
    key: SessionKey,
    params: ToolRequestParams,
}

/// Checks that the caller may make this call on behalf of the session.
pub(super) fn authorize(
    gateway: &Gateway,
    admitted: &Admitted,
    params: ToolRequestParams,
) -> Result<SessionCall, ErrorShape> {
    let key = key(admitted, &params.session_key)?;
    if params.call_id.is_empty() || params.call_id.len() > MAX_ID {
        let message = format!("must be 1 to {MAX_ID} bytes");
        return Err(shape(ToolError::parameter("callId", message)));
    }
    let catalogue = gateway.path.catalogue();
    let Some(tool) = catalogue.resolve(&params.tool) else {
        let message = format!("unknown tool {:?}", params.tool);
        return Err(shape(ToolError::new(ErrorCode::UnknownTool, message)));
    };
    let question = Question::available(&admitted.caller, key.agent(), tool.spec());
    let verdict = gateway.path.authorize(question);
    verdict.refused(tool.spec()).map_err(shape)?;
    Ok(SessionCall { key, params })
}

impl SessionCall {
    /// Makes the call and broadcasts its start and end to everybody who sees the session.
    pub(super) async fn run(self, gateway: &Gateway, admitted: &Admitted) {
        let ToolRequestParams {
            call_id,
            tool,
            args,
            ..
        } = self.params;
        let arguments = serde_json::json!(args.unwrap_or_default());
        let mut request = CallRequest::new(&tool, arguments.clone(), admitted.caller.clone());
        let id = gateway.ids.next::<CallId>();
        // Known before the call starts, so that both events carry the audit id.
        request.id = Some(id);
        request.agent = self.key.agent().clone();
        let publish = |what| gateway.minds().publish_event(&self.key, &call_id, what);
        publish(TurnEvent::ToolStarted {
            call_id: call_id.clone(),
            tool: tool.clone(),
            arguments,
            call: Some(id),
        });
        // Only a whole: the path does not tell how long a direct call waited.
        let began = Instant::now();
        let result = gateway.invoke(admitted, request).await;
        let stats = CallStats::of(&result);
        let shown = match &result {
            Ok(outcome) => match &outcome.value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            Err(error) => error.text(),
        };
        publish(TurnEvent::ToolDone {
            call_id: call_id.clone(),
            tool,
            ok: result.is_ok(),
            shown: shown.chars().take(SHOWN).collect(),
            stats: Box::new(CallStats {
                ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                call: Some(id),
                ..stats
            }),
            pictures: Vec::new(),
        });
    }
}
