//! Trace context: the W3C `traceparent` and `tracestate` of the running task.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderMap, HeaderValue};
use pin_project_lite::pin_project;
use serde_json::{Map, Value};

use crate::pipeline::is_on;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
/// The longest `tracestate` that is forwarded; the W3C asks for at least 512 characters.
const MAX_STATE: usize = 512;

thread_local! {
    /// The context of the task that this thread is polling.
    static CURRENT: Cell<Option<TraceContext>> = const { Cell::new(None) };
}

/// A position in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) sampled: bool,
    /// Vendors' data, passed on unchanged.
    pub(crate) state: Option<Arc<str>>,
    /// Whether another process created the span.
    pub(crate) remote: bool,
}

impl TraceContext {
    /// Parses the two W3C headers. An invalid `traceparent` is ignored, as the specification requires.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let version = hex::<1>(parts.next()?)?[0];
        let (trace, span) = (hex(parts.next()?)?, hex(parts.next()?)?);
        let flags = hex::<1>(parts.next()?)?[0];
        // Later versions may append fields; version 0 has exactly four, and 255 is forbidden.
        let valid = version != 0xff && (version != 0 || parts.next().is_none());
        if !valid || trace == [0; 16] || span == [0; 8] {
            return None;
        }
        let state = tracestate.map(str::trim).filter(|state| {
            let printable = |byte: u8| (0x20..=0x7e).contains(&byte);
            !state.is_empty() && state.len() <= MAX_STATE && state.bytes().all(printable)
        });
        Some(Self {
            trace,
            span,
            sampled: flags & 1 == 1,
            state: state.map(Arc::from),
            remote: true,
        })
    }

    /// The context in the headers of a request; `None` while telemetry is off.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        if !is_on() {
            return None;
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self::parse(text(TRACEPARENT)?, text(TRACESTATE))
    }

    /// The context in the `_meta` of an MCP request; `None` while telemetry is off.
    pub fn of_meta(meta: &Map<String, Value>) -> Option<Self> {
        if !is_on() {
            return None;
        }
        let text = |name| meta.get(name).and_then(Value::as_str);
        Self::parse(text(TRACEPARENT)?, text(TRACESTATE))
    }

    /// The context that [`traceparent`](Self::traceparent) and [`tracestate`](Self::tracestate) of another process or of an
    /// earlier run describe; `None` while telemetry is off.
    pub fn of_fields(traceparent: Option<&str>, tracestate: Option<&str>) -> Option<Self> {
        if !is_on() {
            return None;
        }
        Self::parse(traceparent?, tracestate)
    }

    /// The W3C `traceparent`.
    pub fn traceparent(&self) -> String {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        push_hex(&mut text, &self.trace);
        text.push('-');
        push_hex(&mut text, &self.span);
        text.push_str(if self.sampled { "-01" } else { "-00" });
        text
    }

    /// The W3C `tracestate`.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let lower = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if digits.len() != 2 * N || !digits.iter().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The context of the running task.
pub fn current() -> Option<TraceContext> {
    if !is_on() {
        return None;
    }
    CURRENT.with(|cell| {
        let context = cell.take();
        cell.set(context.clone());
        context
    })
}

/// Adds the current context to the headers of a request.
pub fn inject_headers(headers: &mut HeaderMap) {
    let Some(context) = current() else { return };
    if let Ok(value) = HeaderValue::try_from(context.traceparent()) {
        headers.insert(TRACEPARENT, value);
    }
    // A state without its parent, from whoever made the headers before, would describe another trace.
    headers.remove(TRACESTATE);
    if let Some(value) = context
        .tracestate()
        .and_then(|state| HeaderValue::from_str(state).ok())
    {
        headers.insert(TRACESTATE, value);
    }
}

/// Adds the current context to the `_meta` of an MCP request.
pub fn inject_meta(meta: &mut Map<String, Value>) {
    let Some(context) = current() else { return };
    meta.insert(TRACEPARENT.to_owned(), context.traceparent().into());
    meta.remove(TRACESTATE);
    if let Some(state) = context.tracestate() {
        meta.insert(TRACESTATE.to_owned(), state.into());
    }
}

/// Polls `future` with the current context, wherever it is spawned.
pub fn carry<F: Future>(future: F) -> InContext<F> {
    within(current(), future)
}

/// Polls `future` with `context`; without one, with that of whoever polls it.
pub fn within<F: Future>(context: Option<TraceContext>, future: F) -> InContext<F> {
    InContext { context, future }
}

pin_project! {
    /// A future that is polled with a trace context.
    pub struct InContext<F> {
        context: Option<TraceContext>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for InContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(context) = this.context else {
            return this.future.poll(cx);
        };
        let before = CURRENT.with(|cell| cell.replace(Some(context.clone())));
        // Restored on unwinding too: the thread goes on to poll other tasks.
        let _restore = Restore(before);
        this.future.poll(cx)
    }
}

/// Puts the previous context back.
struct Restore(Option<TraceContext>);

impl Drop for Restore {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with(|cell| cell.set(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_survives_a_round_trip() {
        for text in [
            PARENT,
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        ] {
            let context = TraceContext::parse(text, Some("a=1,b=2")).unwrap();
            assert_eq!(context.traceparent(), text);
            assert_eq!(context.tracestate(), Some("a=1,b=2"));
        }
        // Unknown flags and the fields of later versions are ignored.
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more";
        assert_eq!(
            TraceContext::parse(later, None).unwrap().traceparent(),
            PARENT
        );
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c8031é-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceContext::parse(text, None), None, "{text}");
        }
    }

    #[test]
    fn an_unusable_tracestate_is_dropped_and_the_parent_stays() {
        let long = "a=".repeat(MAX_STATE);
        for state in ["", "  ", "a=1\nb=2", "a=é", &long] {
            let context = TraceContext::parse(PARENT, Some(state)).unwrap();
            assert_eq!(context.tracestate(), None, "{state:?}");
            assert_eq!(context.traceparent(), PARENT);
        }
    }

    #[test]
    fn nothing_is_read_or_sent_while_telemetry_is_off() {
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_static(PARENT));
        assert_eq!(TraceContext::of_headers(&headers), None);
        let mut sent = HeaderMap::new();
        inject_headers(&mut sent);
        let mut meta = Map::new();
        inject_meta(&mut meta);
        assert!(sent.is_empty() && meta.is_empty());
    }
}
