//! Sessions of clients that start with a handshake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_core::{ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::ServerClient;
use super::sink::{ActiveRequests, Question};

/// Sessions in total, and per token.
const MAX_SESSIONS: usize = 1_024;
const MAX_OF_ONE: usize = 128;
/// Time after which an unused session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Resources one session may subscribe to.
const MAX_FOLLOWED: usize = 256;
/// Concurrent requests per session.
const MAX_RUNNING: usize = 256;

/// A session.
pub(super) struct LegacySession {
    pub(super) id: String,
    pub(super) client: ServerClient,
    /// Negotiated protocol version.
    pub(super) version: &'static str,
    pub(super) capabilities: Value,
    pub(super) active: Arc<ActiveRequests>,
    /// Questions waiting for the client's answer.
    asked: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next: AtomicU64,
    /// Running requests by the client's id.
    running: Mutex<BTreeMap<String, CancellationToken>>,
    followed: Mutex<BTreeSet<String>>,
    used: Mutex<Instant>,
    /// Fires when the session ends.
    pub(super) over: CancellationToken,
}

impl LegacySession {
    /// Whether the client can answer questions and therefore needs a private server session.
    pub(super) fn talks(&self) -> bool {
        let able = self.capabilities.as_object();
        able.is_some_and(|able| !able.is_empty())
    }

    /// Name of its private server session, if it has one.
    pub(super) fn line(&self) -> Option<(String, Arc<ActiveRequests>)> {
        self.talks().then(|| (self.id.clone(), self.active.clone()))
    }

    /// Assigns an id to a question, under which the answer will come.
    pub(super) fn add_question(&self, question: Question) -> (u64, String, Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut asked = self.asked.lock().expect("no panic while held");
        // Questions whose server gave up would otherwise accumulate.
        asked.retain(|_, reply| !reply.is_closed());
        asked.insert(id, question.reply);
        (id, question.method, question.params)
    }

    /// Delivers an answer of the client.
    pub(super) fn answered(&self, id: &Value, result: Result<Value, Value>) {
        let mut asked = self.asked.lock().expect("no panic while held");
        let reply = id.as_u64().and_then(|id| asked.remove(&id));
        if let Some(reply) = reply {
            let _ = reply.send(result); // the server may no longer wait
        }
    }

    /// Registers a running request; the returned token fires when the client cancels it.
    pub(super) fn begins(&self, id: &Value) -> Result<CancellationToken, ToolError> {
        let mut running = self.running.lock().expect("no panic while held");
        running.retain(|_, cancel| !cancel.is_cancelled());
        if running.len() >= MAX_RUNNING {
            let message = format!(
                "the limit of {MAX_RUNNING} concurrent requests of this session is reached"
            );
            return Err(ToolError::new(ErrorCode::RateLimited, message));
        }
        // A child token: ending the session cancels all its requests.
        let cancel = self.over.child_token();
        running.insert(id.to_string(), cancel.clone());
        Ok(cancel)
    }

    /// Ends a request: it finished, or the client cancelled it.
    pub(super) fn ends(&self, id: &Value) {
        let mut running = self.running.lock().expect("no panic while held");
        if let Some(cancel) = running.remove(&id.to_string()) {
            cancel.cancel();
        }
    }

    /// Adds or removes a subscription; returns whether that changed anything.
    pub(super) fn follows(&self, uri: &str, on: bool) -> Result<bool, ToolError> {
        let mut followed = self.followed.lock().expect("no panic while held");
        if !on {
            return Ok(followed.remove(uri));
        }
        if followed.len() >= MAX_FOLLOWED {
            let message = format!(
                "the limit of {MAX_FOLLOWED} subscriptions is reached; unsubscribe from another resource"
            );
            return Err(ToolError::parameter("uri", message));
        }
        Ok(followed.insert(uri.to_owned()))
    }

    /// Whether a resource is subscribed to.
    pub(super) fn is_following(&self, uri: &str) -> bool {
        self.followed
            .lock()
            .expect("no panic while held")
            .contains(uri)
    }

    fn close(&self) {
        self.over.cancel();
        let server = self.client.server.clone();
        server.hang_up(&self.id);
        let followed = std::mem::take(&mut *self.followed.lock().expect("no panic while held"));
        if self.talks() || followed.is_empty() {
            return; // subscriptions of a private session end with it
        }
        tokio::spawn(async move {
            for uri in followed {
                server.unsubscribe(&uri, true).await;
            }
        });
    }
}

/// All sessions.
#[derive(Default)]
pub(super) struct LegacySessions(Mutex<BTreeMap<String, Arc<LegacySession>>>);

impl LegacySessions {
    /// Creates a session.
    pub(super) fn begin(
        &self,
        client: ServerClient,
        version: &'static str,
        capabilities: Value,
    ) -> Result<Arc<LegacySession>, ToolError> {
        self.sweep();
        let random: [u8; 24] = client.gateway.ids.random();
        let session = Arc::new(LegacySession {
            id: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            version,
            capabilities,
            active: Arc::default(),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            running: Mutex::default(),
            followed: Mutex::default(),
            used: Mutex::new(Instant::now()),
            over: client.gateway.stopping().child_token(),
            client,
        });
        let mut sessions = self.0.lock().expect("no panic while held");
        let token = session.client.admitted.token;
        let own = sessions
            .values()
            .filter(|one| one.client.admitted.token == token);
        let own = own.count();
        if sessions.len() >= MAX_SESSIONS || own >= MAX_OF_ONE {
            let oldest = sessions
                .values()
                .filter(|one| one.client.admitted.token == token && one.active.is_idle())
                .min_by_key(|one| *one.used.lock().expect("no panic while held"))
                .map(|one| one.id.clone());
            // A client that never reuses its sessions makes room for itself.
            match oldest.and_then(|oldest| sessions.remove(&oldest)) {
                Some(oldest) => oldest.close(),
                None => {
                    let message = "too many sessions";
                    return Err(ToolError::new(ErrorCode::Unavailable, message)
                        .hint("end one with DELETE, or wait until one expires"));
                }
            }
        }
        sessions.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// The session of that id, if it belongs to this token and server.
    pub(super) fn find(&self, id: &str, client: &ServerClient) -> Option<Arc<LegacySession>> {
        let sessions = self.0.lock().expect("no panic while held");
        let found = sessions.get(id)?;
        let same = found.client.admitted.token == client.admitted.token
            && Arc::ptr_eq(&found.client.server, &client.server)
            && !found.over.is_cancelled();
        if !same {
            return None;
        }
        *found.used.lock().expect("no panic while held") = Instant::now();
        Some(found.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &LegacySession) {
        self.0
            .lock()
            .expect("no panic while held")
            .remove(&session.id);
        session.close();
    }

    /// Ends sessions that are idle or whose server was removed.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut sessions = self.0.lock().expect("no panic while held");
        sessions.retain(|_, session| {
            let used = *session.used.lock().expect("no panic while held");
            let name = session.client.server.name().as_str();
            let there = session.client.gateway.servers.get(name);
            let there = there.is_ok_and(|there| Arc::ptr_eq(&there, &session.client.server));
            let stays = there && (now < used + IDLE || !session.active.is_idle());
            if !stays {
                session.close();
            }
            stays
        });
    }
}
