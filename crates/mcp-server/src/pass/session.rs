//! Conversations of clients that begin with a handshake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_core::{ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::errand::Errand;
use super::voice::{Floor, Question};

/// How many conversations there may be, and how many of one token.
const MAX_SESSIONS: usize = 1_024;
const MAX_OF_ONE: usize = 128;
/// How long one is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How many resources one follows.
const MAX_FOLLOWED: usize = 256;
/// How many requests of one are done at once.
const MAX_RUNNING: usize = 256;

/// One conversation.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) errand: Errand,
    /// The version that was agreed on.
    pub(super) version: &'static str,
    pub(super) capabilities: Value,
    pub(super) floor: Arc<Floor>,
    /// Questions that wait for the client's answer.
    asked: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next: AtomicU64,
    /// Requests that are being done, by the client's id for them.
    running: Mutex<BTreeMap<String, CancellationToken>>,
    followed: Mutex<BTreeSet<String>>,
    used: Mutex<Instant>,
    /// Fires when it is over.
    pub(super) over: CancellationToken,
}

impl Session {
    /// Whether the client can be asked anything, so that it needs a line of its own.
    pub(super) fn talks(&self) -> bool {
        let able = self.capabilities.as_object();
        able.is_some_and(|able| !able.is_empty())
    }

    /// Its line, if it has one.
    pub(super) fn line(&self) -> Option<(String, Arc<Floor>)> {
        self.talks().then(|| (self.id.clone(), self.floor.clone()))
    }

    /// Gives a question a number; its answer comes with it.
    pub(super) fn ask(&self, question: Question) -> (u64, String, Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut asked = self.asked.lock().expect("no panic while held");
        asked.retain(|_, reply| !reply.is_closed());
        asked.insert(id, question.reply);
        (id, question.method, question.params)
    }

    /// Takes an answer of the client's.
    pub(super) fn answered(&self, id: &Value, result: Result<Value, Value>) {
        let mut asked = self.asked.lock().expect("no panic while held");
        let reply = id.as_u64().and_then(|id| asked.remove(&id));
        if let Some(reply) = reply {
            let _ = reply.send(result); // a server that no longer waits does not mind
        }
    }

    /// Notes a request as being done; what this gives fires when the client takes it back.
    pub(super) fn begins(&self, id: &Value) -> Result<CancellationToken, ToolError> {
        let mut running = self.running.lock().expect("no panic while held");
        running.retain(|_, cancel| !cancel.is_cancelled());
        if running.len() >= MAX_RUNNING {
            let message = format!("{MAX_RUNNING} requests of this session are being done already");
            return Err(ToolError::new(ErrorCode::RateLimited, message));
        }
        let cancel = self.over.child_token();
        running.insert(id.to_string(), cancel.clone());
        Ok(cancel)
    }

    /// The client takes a request back, or it has ended.
    pub(super) fn ends(&self, id: &Value) {
        let mut running = self.running.lock().expect("no panic while held");
        if let Some(cancel) = running.remove(&id.to_string()) {
            cancel.cancel();
        }
    }

    /// Notes that a resource is followed, or no more; whether that is new.
    pub(super) fn follows(&self, uri: &str, on: bool) -> Result<bool, ToolError> {
        let mut followed = self.followed.lock().expect("no panic while held");
        if !on {
            return Ok(followed.remove(uri));
        }
        if followed.len() >= MAX_FOLLOWED {
            let message = format!("{MAX_FOLLOWED} resources are followed already");
            return Err(ToolError::parameter("uri", message));
        }
        Ok(followed.insert(uri.to_owned()))
    }

    /// Whether a resource is followed.
    pub(super) fn is_following(&self, uri: &str) -> bool {
        self.followed
            .lock()
            .expect("no panic while held")
            .contains(uri)
    }

    fn close(&self) {
        self.over.cancel();
        let server = self.errand.server.clone();
        server.hang_up(&self.id);
        let followed = std::mem::take(&mut *self.followed.lock().expect("no panic while held"));
        if self.talks() || followed.is_empty() {
            return; // what was followed on a line of its own ends with it
        }
        tokio::spawn(async move {
            for uri in followed {
                server.unsubscribe(&uri, true).await;
            }
        });
    }
}

/// All conversations.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Arc<Session>>>);

impl Sessions {
    /// Begins one.
    pub(super) fn begin(
        &self,
        errand: Errand,
        version: &'static str,
        capabilities: Value,
    ) -> Result<Arc<Session>, ToolError> {
        self.sweep();
        let random: [u8; 24] = errand.gateway.ids.random();
        let session = Arc::new(Session {
            id: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            version,
            capabilities,
            floor: Arc::default(),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            running: Mutex::default(),
            followed: Mutex::default(),
            used: Mutex::new(Instant::now()),
            over: errand.gateway.stopping().child_token(),
            errand,
        });
        let mut sessions = self.0.lock().expect("no panic while held");
        let token = session.errand.asker.token;
        let own = sessions
            .values()
            .filter(|one| one.errand.asker.token == token);
        let own = own.count();
        if sessions.len() >= MAX_SESSIONS || own >= MAX_OF_ONE {
            let oldest = sessions
                .values()
                .filter(|one| one.errand.asker.token == token && one.floor.is_quiet())
                .min_by_key(|one| *one.used.lock().expect("no panic while held"))
                .map(|one| one.id.clone());
            // A client that begins anew each time makes room for itself.
            match oldest.and_then(|oldest| sessions.remove(&oldest)) {
                Some(oldest) => oldest.close(),
                None => {
                    let message = "there are too many sessions";
                    return Err(ToolError::new(ErrorCode::Unavailable, message)
                        .hint("end one with DELETE, or wait until it is forgotten"));
                }
            }
        }
        sessions.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// The conversation of that id, if it is this asker's with this server.
    pub(super) fn find(&self, id: &str, errand: &Errand) -> Option<Arc<Session>> {
        let sessions = self.0.lock().expect("no panic while held");
        let found = sessions.get(id)?;
        let same = found.errand.asker.token == errand.asker.token
            && Arc::ptr_eq(&found.errand.server, &errand.server)
            && !found.over.is_cancelled();
        if !same {
            return None;
        }
        *found.used.lock().expect("no panic while held") = Instant::now();
        Some(found.clone())
    }

    /// Ends one.
    pub(super) fn end(&self, session: &Session) {
        self.0
            .lock()
            .expect("no panic while held")
            .remove(&session.id);
        session.close();
    }

    /// Ends those that nobody uses, and those whose server is no more.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut sessions = self.0.lock().expect("no panic while held");
        sessions.retain(|_, session| {
            let used = *session.used.lock().expect("no panic while held");
            let name = session.errand.server.name().as_str();
            let there = session.errand.gateway.servers.get(name);
            let there = there.is_ok_and(|there| Arc::ptr_eq(&there, &session.errand.server));
            let stays = there && (now < used + IDLE || !session.floor.is_quiet());
            if !stays {
                session.close();
            }
            stays
        });
    }
}
