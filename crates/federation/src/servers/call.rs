//! Hooks of a server call, and the translation of its errors.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Answers, CallContext, ErrorCode, ServerName, Step, ToolError};
use manyhands_upstream::{Hooks, RpcError, ServerRequestHandler, UpstreamError};
use serde_json::{Map, Value, json};

/// Progress, questions and cancellation of a call.
pub(super) fn hooks(context: &CallContext, timeout: Duration) -> Hooks {
    let progress = context.progress.clone();
    let whole = |value: &Value| value.as_f64().map(|number| number.max(0.0) as u64);
    let counted = Mutex::new(None);
    Hooks {
        progress: Some(Arc::new(move |told: Map<String, Value>| {
            let message = told.get("message").and_then(Value::as_str);
            if message.is_none() && !progress.has_step_listener() {
                // Callers that only see printed output get the numbers as text.
                return count(&told, &counted).map_or((), |line| progress.print(&line));
            }
            progress.report(Step {
                done: told.get("progress").and_then(whole).unwrap_or(0),
                total: told.get("total").and_then(whole),
                message: message.map(str::to_owned),
            });
        })),
        log: context.answers.clone().map(|answers| {
            let heard: Arc<dyn Fn(Map<String, Value>) + Send + Sync> =
                Arc::new(move |notice| answers.log_message(Value::Object(notice)));
            heard
        }),
        cancel: context.cancel.clone(),
        timeout: Some(timeout),
        ..Hooks::default()
    }
}

/// Progress as a line, `3 of 10` or `3`; `None` if nothing new. With many steps, one line per
/// percent.
fn count(told: &Map<String, Value>, last: &Mutex<Option<i64>>) -> Option<String> {
    let number = |name: &str| told.get(name).filter(|value| value.is_number());
    let (done, total) = (number("progress")?, number("total"));
    let share = total.and_then(Value::as_f64).filter(|total| *total > 100.0);
    let now = match (done.as_f64(), share) {
        (Some(done), Some(total)) => done / total * 100.0,
        // Fractions count, too.
        (done, _) => done.unwrap_or(0.0) * 100.0,
    };
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Some(now as i64);
    if std::mem::replace(&mut *last, now) == now {
        return None;
    }
    Some(match total {
        Some(total) => format!("{done} of {total}\n"),
        None => format!("{done}\n"),
    })
}

/// Forwards questions of a server to the caller.
pub(super) struct QuestionRelay(pub(super) Arc<dyn Answers>);

#[async_trait]
impl ServerRequestHandler for QuestionRelay {
    fn capabilities(&self) -> Map<String, Value> {
        self.0
            .capabilities()
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    async fn handle(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let answer = self.0.answer(method, params).await;
        answer.map_err(|error| RpcError::new(RpcError::INTERNAL, error.text()))
    }
}

/// Translates an error of a server for our callers.
pub(super) fn failure(server: &ServerName, error: UpstreamError) -> ToolError {
    let code = match &error {
        UpstreamError::Rpc(rpc) if rpc.code == RpcError::INVALID_PARAMS => {
            ErrorCode::InvalidArguments
        }
        UpstreamError::Rpc(_) => ErrorCode::Failed,
        UpstreamError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        UpstreamError::Cancelled => ErrorCode::Cancelled,
        UpstreamError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::Unavailable,
    };
    let message = format!("server {server}: {error}");
    let told = ToolError::new(code, message);
    match &error {
        UpstreamError::Rpc(rpc) => told.details(json!({ "rpc": rpc })),
        UpstreamError::Lost(_) => told.hint("the call may have taken effect; check before calling again"),
        UpstreamError::Unauthorized { .. } => told.hint(format!(
            "log in with `manyhands mcp login {server}`, or add a connection with `manyhands connection add {server}`"
        )),
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_a_line_where_they_are_new_and_of_many_each_hundredth() {
        let last = Mutex::default();
        let line = |told: Value| count(told.as_object().unwrap(), &last);
        assert_eq!(
            line(json!({ "progress": 3, "total": 10 })).unwrap(),
            "3 of 10\n"
        );
        assert_eq!(line(json!({ "progress": 3, "total": 10 })), None);
        assert_eq!(line(json!({ "progress": 4 })).unwrap(), "4\n");
        assert_eq!(
            line(json!({ "progress": 0.5, "total": 1 })).unwrap(),
            "0.5 of 1\n"
        );
        assert_eq!(line(json!({ "progress": "much", "total": 1 })), None);
        assert_eq!(line(json!({ "total": 1 })), None);
        let steps =
            (0..=50_000).filter_map(|done| line(json!({ "progress": done, "total": 50_000 })));
        assert_eq!(steps.count(), 101);
    }
}
