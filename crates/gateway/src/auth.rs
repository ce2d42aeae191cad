//! Authentication: identifies callers by the gateway's own token records.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use manyhands_agent::Origin;
use manyhands_agent_services::origin_of;
use manyhands_core::{
    Caller, Clock, Credential, ErrorCode, Ids, Pattern, Principal, Rights, Role, Secret, Timestamp,
    TokenId, ToolError,
};
use manyhands_federation::oauth_guests::Guest;
use manyhands_guard::{LoginThrottle, canonical};
use manyhands_store::{NodeRecord, StoreError, TokenRecord, Tokens, mint_token, parse_token};
use tokio_util::sync::CancellationToken;

/// Addresses and credentials whose failed logins are counted.
const MAX_FAILING: usize = 10_000;
/// Callers with tokens of trusted issuers that are kept in memory.
const MAX_GUESTS: usize = 10_000;

/// An authenticated caller.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Identity and rights.
    pub caller: Arc<Caller>,
    /// The token they presented.
    pub token: TokenId,
    /// When that token expires.
    pub expires: Option<Timestamp>,
    /// Fires when that token is revoked.
    pub revoked: CancellationToken,
}

/// Properties of a new token.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Name given by the owner.
    pub name: String,
    /// Role of its bearer.
    pub role: Role,
    /// Tools it may call.
    pub tools: Vec<Pattern>,
    /// Agents it may act for and talk to.
    pub agents: Vec<Pattern>,
    /// Lifetime; `None` for no expiry.
    pub lifetime: Option<Duration>,
    /// Whether it is a browser session.
    pub browser: bool,
}

/// The kind of credential a login failed with. Failures at one address are counted separately for
/// each, so that a client with an old token does not lock out another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailedLogin {
    /// A token with this id: unknown, expired, revoked, or with a wrong secret.
    Token(TokenId),
    /// Text that is not a token of this gateway.
    NoToken,
    /// An access token that no trusted issuer signed.
    Foreign,
    /// The code of a login link. All codes share one count, since a guesser never repeats one.
    LoginCode,
    /// An enrolment code of a node.
    NodeCode,
}

struct KnownToken {
    record: TokenRecord,
    /// Whether it is only in memory and not listed.
    temporary: bool,
    caller: Arc<Caller>,
    revoked: CancellationToken,
}

/// Checks, creates and revokes tokens.
pub struct Authenticator {
    store: Tokens,
    clock: Arc<dyn Clock>,
    ids: Ids,
    known: RwLock<HashMap<TokenId, KnownToken>>,
    failures: LoginThrottle<(IpAddr, FailedLogin)>,
    used: Mutex<HashMap<TokenId, Timestamp>>,
}

impl Authenticator {
    /// Loads the token records.
    pub async fn open(
        store: Tokens,
        clock: Arc<dyn Clock>,
        ids: Ids,
        failed_logins: u32,
    ) -> Result<Self, StoreError> {
        let known = store
            .list()
            .await?
            .into_iter()
            .map(|record| (record.id, KnownToken::from(record)))
            .collect();
        Ok(Self {
            store,
            failures: LoginThrottle::new(clock.clone(), failed_logins, failed_logins, MAX_FAILING),
            clock,
            ids,
            known: RwLock::new(known),
            used: Mutex::default(),
        })
    }

    /// Authenticates a bearer. A valid token is admitted regardless of failures at the same
    /// address: its secret has 256 random bits, so delaying it gains nothing, and anybody who
    /// shares the address could lock its bearer out.
    pub fn admit(&self, client: IpAddr, shown: Option<&str>) -> Result<Admitted, ToolError> {
        let Some(text) = shown else {
            return Err(unauthenticated("no token given"));
        };
        let parsed = parse_token(text);
        if let Some(admitted) = parsed.and_then(|(id, hash)| self.check(id, &hash)) {
            self.remember(admitted.token);
            return Ok(admitted);
        }
        let failed = parsed.map_or(FailedLogin::NoToken, |(id, _)| FailedLogin::Token(id));
        let why = "the token is not valid: it is unknown, expired or revoked";
        Err(self.refuse(client, failed, unauthenticated(why)))
    }

    /// Whether a token would be admitted. Does not count as a use or a failure.
    pub fn recognises(&self, shown: &str) -> bool {
        let parsed = parse_token(shown);
        parsed.is_some_and(|(id, hash)| self.check(id, &hash).is_some())
    }

    /// Counts a failed login and returns its error: `error`, or a rate limit after too many
    /// failures of this kind. Call it only after a credential was found invalid; see
    /// [`LoginThrottle`].
    pub fn refuse(&self, client: IpAddr, failed: FailedLogin, error: ToolError) -> ToolError {
        // One count for a client, whether it connects over IPv4 or as IPv4 in IPv6.
        let Err(wait) = self.failures.failed((canonical(client), failed)) else {
            return error;
        };
        let message = format!(
            "too many failed logins from this address; {}",
            error.message
        );
        ToolError::new(ErrorCode::RateLimited, message)
            .hint("wait, or use a valid token or code: a valid one is accepted at once")
            .retry_after(wait)
    }

    fn check(&self, id: TokenId, hash: &[u8; 32]) -> Option<Admitted> {
        let known = self.known.read().expect("no panic while held");
        let found = known.get(&id)?;
        (found.record.has_hash(hash) && found.record.is_live(self.clock.now())).then(|| Admitted {
            caller: found.caller.clone(),
            token: id,
            expires: found.record.expires,
            revoked: found.revoked.clone(),
        })
    }

    fn remember(&self, token: TokenId) {
        self.used
            .lock()
            .expect("no panic while held")
            .insert(token, self.clock.now());
    }

    /// The caller a token identifies, while it is valid.
    pub fn caller(&self, id: TokenId) -> Option<Arc<Caller>> {
        let known = self.known.read().expect("no panic while held");
        let found = known.get(&id)?;
        found
            .record
            .is_live(self.clock.now())
            .then(|| found.caller.clone())
    }

    /// Waits until the caller's token is revoked or expires.
    pub async fn lapsed(&self, admitted: &Admitted) -> ToolError {
        let expired = async {
            match admitted.expires {
                Some(at) => tokio::time::sleep(at.since(self.clock.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // First, so that a token that is both is reported as revoked.
            () = admitted.revoked.cancelled() => unauthenticated("the token was revoked"),
            () = expired => unauthenticated("the token has expired"),
        }
    }

    /// Creates a token. Its text is returned now and never again.
    pub async fn create(&self, new: NewToken) -> Result<(TokenRecord, Secret), StoreError> {
        let minted = mint_token(&self.ids);
        let now = self.clock.now();
        let record = TokenRecord {
            id: minted.id,
            name: new.name,
            role: new.role,
            tools: new.tools,
            agents: new.agents,
            hash: minted.hash,
            created: now,
            expires: new.lifetime.map(|lifetime| now.plus(lifetime)),
            revoked: None,
            last_used: None,
            browser: new.browser,
        };
        self.register(record.clone()).await?;
        Ok((record, minted.text))
    }

    /// Creates a token that is not stored and ends with this process.
    pub fn create_temporary(&self, name: &str, role: Role) -> Secret {
        let minted = mint_token(&self.ids);
        let record = TokenRecord {
            id: minted.id,
            name: name.to_owned(),
            role,
            tools: Vec::new(),
            agents: Vec::new(),
            hash: minted.hash,
            created: self.clock.now(),
            expires: None,
            revoked: None,
            last_used: None,
            browser: false,
        };
        let mut known = self.known.write().expect("no panic while held");
        known.insert(minted.id, KnownToken::temporary(record));
        minted.text
    }

    /// Admits a caller whose token a trusted issuer signed. It is kept in memory until it expires,
    /// so that turns it started can continue, and is never stored.
    pub fn admit_guest(&self, guest: Guest) -> Result<Admitted, ToolError> {
        let now = self.clock.now();
        let mut known = self.known.write().expect("no panic while held");
        if !known.contains_key(&guest.id) && known.len() >= MAX_GUESTS {
            known.retain(|_, one| !one.temporary || one.record.is_live(now));
            if known.values().filter(|one| one.temporary).count() >= MAX_GUESTS {
                let message = format!(
                    "the limit of {MAX_GUESTS} callers with external tokens is reached; retry later"
                );
                return Err(ToolError::new(ErrorCode::Unavailable, message));
            }
        }
        // Revocation by the owner outlasts the issuer's token, which may still be valid.
        let before = known.get(&guest.id);
        if before.is_some_and(|before| before.record.revoked.is_some()) {
            return Err(unauthenticated("the token was revoked"));
        }
        let known_until = before.and_then(|before| before.record.expires);
        let fresh = KnownToken::temporary(TokenRecord {
            id: guest.id,
            name: guest.name,
            role: guest.rights.role,
            tools: guest.rights.tools,
            agents: guest.rights.agents,
            hash: self.ids.random(), // matches no token text
            created: now,
            expires: Some(known_until.map_or(guest.expires, |until| until.max(guest.expires))),
            revoked: None,
            last_used: Some(now),
            browser: false,
        });
        let mut caller = Caller::clone(&fresh.caller);
        if let Some(credential) = caller.principal.credential() {
            // Named by another issuer, so it must never pass for a token the owner created.
            caller.principal = Principal::Guest(credential.clone());
        }
        let fresh = KnownToken {
            caller: Arc::new(caller),
            revoked: before.map_or(fresh.revoked.clone(), |before| before.revoked.clone()),
            ..fresh
        };
        let admitted = Admitted {
            caller: fresh.caller.clone(),
            token: guest.id,
            expires: Some(guest.expires),
            revoked: fresh.revoked.clone(),
        };
        known.insert(guest.id, fresh);
        Ok(admitted)
    }

    /// The valid tokens that belong to a node.
    pub fn of_node(&self, node: &NodeRecord) -> Vec<TokenId> {
        let now = self.clock.now();
        let known = self.known.read().expect("no panic while held");
        let own = |found: &&KnownToken| {
            // By name, and by the record for a node that was renamed since.
            let named = found.record.name == node.id.as_str();
            let bound = node.token == Some(found.record.id);
            found.record.role == Role::Node && found.record.is_live(now) && (named || bound)
        };
        known
            .values()
            .filter(own)
            .map(|found| found.record.id)
            .collect()
    }

    /// Registers a token whose text its bearer already has.
    pub async fn register(&self, record: TokenRecord) -> Result<(), StoreError> {
        // On disk before it is accepted: a token must not outlive a crash only in its bearer's
        // hands.
        self.store.insert(&record).await?;
        self.known
            .write()
            .expect("no panic while held")
            .insert(record.id, KnownToken::from(record));
        Ok(())
    }

    /// Whether `id` is the only valid owner token.
    pub fn is_last_owner(&self, id: TokenId) -> bool {
        let now = self.clock.now();
        let known = self.known.read().expect("no panic while held");
        let holds =
            |found: &&KnownToken| found.record.role == Role::Owner && found.record.is_live(now);
        let owners: Vec<TokenId> = known.values().filter(holds).map(|k| k.record.id).collect();
        owners == [id]
    }

    /// Revokes a token: rejected from the next request on, and open sockets are closed.
    pub async fn revoke(&self, id: TokenId) -> Result<TokenRecord, StoreError> {
        let now = self.clock.now();
        if !self.is_temporary(id) {
            // The record is on disk before anybody is disconnected, so a crash cannot revive the
            // token.
            self.store.revoke(id, now).await?;
        }
        let record = {
            let mut known = self.known.write().expect("no panic while held");
            known.get_mut(&id).map(|found| {
                found.record.revoked.get_or_insert(now);
                found.revoked.cancel();
                found.record.clone()
            })
        };
        record.ok_or_else(|| StoreError::NotFound {
            what: format!("the token {id}"),
        })
    }

    /// All stored tokens, newest first, with their last use.
    pub fn list(&self) -> Vec<TokenRecord> {
        let used = self.used.lock().expect("no panic while held").clone();
        let known = self.known.read().expect("no panic while held");
        let recorded = known.values().filter(|found| !found.temporary);
        let mut all: Vec<TokenRecord> = recorded.map(|found| found.record.clone()).collect();
        for record in &mut all {
            // Uses since the last flush are only in memory.
            record.last_used = used.get(&record.id).copied().or(record.last_used);
        }
        all.sort_by_key(|record| std::cmp::Reverse((record.created, record.id)));
        all
    }

    /// Whether a token is not stored and ends with this process.
    pub fn is_temporary(&self, id: TokenId) -> bool {
        let known = self.known.read().expect("no panic while held");
        known.get(&id).is_some_and(|found| found.temporary)
    }

    /// Whether a token is a browser session.
    pub fn is_browser(&self, id: TokenId) -> bool {
        let known = self.known.read().expect("no panic while held");
        known.get(&id).is_some_and(|found| found.record.browser)
    }

    /// Whether a token with this id exists.
    pub fn knows(&self, id: TokenId) -> bool {
        self.known
            .read()
            .expect("no panic while held")
            .contains_key(&id)
    }

    /// Persists when tokens were last used.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let used: Vec<(TokenId, Timestamp)> = {
            let mut used = self.used.lock().expect("no panic while held");
            used.drain().collect()
        };
        if used.is_empty() {
            return Ok(());
        }
        {
            let mut known = self.known.write().expect("no panic while held");
            for (id, at) in &used {
                if let Some(found) = known.get_mut(id) {
                    found.record.last_used = Some(*at);
                }
            }
        }
        // No lock is held here: requests must not wait for the disk.
        self.store.touch(&used).await
    }
}

impl KnownToken {
    fn temporary(record: TokenRecord) -> Self {
        Self {
            temporary: true,
            ..Self::from(record)
        }
    }
}

impl From<TokenRecord> for KnownToken {
    fn from(record: TokenRecord) -> Self {
        let credential = Credential {
            id: record.id,
            name: record.name.as_str().into(),
        };
        let principal = match record.role {
            Role::Owner => Principal::Owner(credential),
            Role::Client | Role::ReadOnly => Principal::Token(credential),
            Role::Node => Principal::Node(credential),
            Role::Channel => Principal::Bridge(credential),
        };
        let rights = Rights {
            role: record.role,
            tools: record.tools.clone(),
            agents: record.agents.clone(),
        };
        let caller = Arc::new(Caller::new(principal, record.name.clone(), rights));
        Self {
            record,
            temporary: false,
            caller,
            revoked: CancellationToken::new(),
        }
    }
}

fn unauthenticated(message: &str) -> ToolError {
    ToolError::new(ErrorCode::Unauthenticated, message).hint(
        "send `Authorization: Bearer TOKEN`; the owner creates tokens with `manyhands token create`",
    )
}

/// The caller, recorded as the origin of the turn this call starts.
pub fn origin(admitted: &Admitted) -> Origin {
    origin_of(&admitted.caller)
}
