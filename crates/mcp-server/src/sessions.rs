//! Sessions of clients that start with `initialize` (up to 2025-11-25).
//!
//! Many of these clients open the stream of `GET /mcp` only if they receive an `Mcp-Session-Id`.
//! The id is signed rather than stored: it stays valid across restarts and on another gateway with
//! the same vault. Only running requests are in a table, so that `notifications/cancelled` finds
//! its request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, StatusCode};
use manyhands_core::{Ids, TokenId};
use manyhands_store::Vault;
use serde_json::Value;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::message::{Fault, INTERNAL, INVALID_REQUEST};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Requests and streams that may be open at once.
const MAX_OPEN: usize = 8_192;
/// Sessions ended with DELETE that are remembered. A forgotten one would be accepted again, but
/// only from its own client.
const MAX_ENDED: usize = 1_024;
/// Bytes of randomness and of the signature in an id, which is both in hexadecimal.
const RANDOM: usize = 16;
const SIGNATURE: usize = 32;

/// Issues session ids, checks them and cancels what runs under them.
pub(super) struct SignedSessions {
    key: Zeroizing<[u8; 32]>,
    ids: Ids,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    open: HashMap<u64, OpenRequest>,
    next: u64,
    ended: VecDeque<String>,
}

/// A request that is running, or a stream that is open.
struct OpenRequest {
    token: TokenId,
    session: Option<String>,
    /// The client's id of the request; `None` for a stream.
    request: Option<Value>,
    cancel: CancellationToken,
}

/// An entry of the table, removed when this is dropped.
pub(super) struct OpenEntry {
    sessions: Arc<SignedSessions>,
    number: u64,
    /// Fires when the client cancels the request or ends the session.
    pub(super) cancel: CancellationToken,
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        self.sessions.table().open.remove(&self.number);
    }
}

impl SignedSessions {
    pub(super) fn new(vault: &Vault, ids: Ids) -> Arc<Self> {
        Arc::new(Self {
            key: vault.subkey("mcp-sessions"),
            ids,
            table: Mutex::default(),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sign(&self, token: TokenId, random: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.key).expect("any length of key fits");
        mac.update(random);
        // Binds the id to the token: it is useless to anybody else.
        mac.update(token.to_string().as_bytes());
        mac
    }

    /// A new session id for the holder of a token.
    pub(super) fn begin(&self, token: TokenId) -> String {
        let random: [u8; RANDOM] = self.ids.random();
        let signature = self.sign(token, &random).finalize().into_bytes();
        let bytes = random.iter().chain(&signature);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    fn is_valid(&self, token: TokenId, id: &str) -> bool {
        let Some(bytes) = unhex(id) else {
            return false;
        };
        let (random, signature) = bytes.split_at(RANDOM);
        // `verify_slice` compares in constant time.
        let genuine = self.sign(token, random).verify_slice(signature).is_ok();
        genuine && !self.table().ended.iter().any(|ended| ended == id)
    }

    /// The session a request names. A request without one is served without a session; an id that
    /// is unknown, ended or issued to another token is rejected, so that the client starts a new
    /// one.
    pub(super) fn session_of(
        &self,
        token: TokenId,
        headers: &HeaderMap,
    ) -> Result<Option<String>, Fault> {
        let Some(id) = headers.get(SESSION) else {
            return Ok(None);
        };
        let id = id.to_str().ok().filter(|id| self.is_valid(token, id));
        id.map(|id| Some(id.to_owned())).ok_or_else(|| {
            let message = "Session not found: start a new one with initialize";
            Fault::new(INVALID_REQUEST, message).status(StatusCode::NOT_FOUND)
        })
    }

    /// Registers a running request, or an open stream if `request` is `None`.
    pub(super) fn open(
        self: &Arc<Self>,
        token: TokenId,
        session: Option<String>,
        request: Option<Value>,
    ) -> Result<OpenEntry, Fault> {
        let mut table = self.table();
        if table.open.len() >= MAX_OPEN {
            let message =
                format!("the limit of {MAX_OPEN} open MCP requests is reached; retry later");
            let fault = Fault::new(INTERNAL, message);
            return Err(fault.status(StatusCode::SERVICE_UNAVAILABLE));
        }
        let cancel = CancellationToken::new();
        let number = table.next;
        table.next += 1;
        let open = OpenRequest {
            token,
            session,
            request,
            cancel: cancel.clone(),
        };
        table.open.insert(number, open);
        Ok(OpenEntry {
            sessions: self.clone(),
            number,
            cancel,
        })
    }

    /// Cancels a running request of a session.
    pub(super) fn cancel(&self, token: TokenId, session: Option<&str>, request: &Value) {
        let table = self.table();
        let meant = |open: &&OpenRequest| {
            open.token == token
                && open.session.as_deref() == session
                && open.request.as_ref() == Some(request)
        };
        let mut found = table.open.values().filter(meant);
        match (found.next(), found.next()) {
            // Clients without a session that share a token may use the same ids: cancelling
            // somebody else's call would be worse than letting this one finish.
            (Some(_), Some(_)) if session.is_none() => {}
            (first, second) => {
                let all = first.into_iter().chain(second).chain(found);
                all.for_each(|open| open.cancel.cancel());
            }
        }
    }

    /// Ends a session: cancels its requests, closes its streams and refuses its id from now on.
    pub(super) fn end(&self, token: TokenId, session: String) {
        let mut table = self.table();
        for open in table.open.values() {
            if open.token == token && open.session.as_ref() == Some(&session) {
                open.cancel.cancel();
            }
        }
        if table.ended.len() >= MAX_ENDED {
            table.ended.pop_front();
        }
        table.ended.push_back(session);
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !plain || text.len() != 2 * (RANDOM + SIGNATURE) {
        return None;
    }
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}
