//! The doorman: who is at the door, from the gateway's own records.

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

/// For how many parties failed logins are counted.
const MAX_FAILING: usize = 10_000;
/// How many are known whose tokens others made.
const MAX_GUESTS: usize = 10_000;

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Who it is and what they may do.
    pub caller: Arc<Caller>,
    /// The token they showed.
    pub token: TokenId,
    /// When that token ends by itself.
    pub expires: Option<Timestamp>,
    /// Fires when that token is taken back.
    pub revoked: CancellationToken,
}

/// What a new token is to be.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What the owner calls it.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Which tools it may call.
    pub tools: Vec<Pattern>,
    /// Which agents it may act for and talk to.
    pub agents: Vec<Pattern>,
    /// How long it lives; for ever when not said.
    pub lifetime: Option<Duration>,
    /// Whether it is the session of a browser.
    pub browser: bool,
}

/// What somebody failed to log in with. Failures at one address are counted for each of these by
/// itself, so that a client with an old token does not make another one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failed {
    /// A token of this id: unknown, expired, revoked, or with a wrong secret.
    Token(TokenId),
    /// A text that is no token of ours.
    NoToken,
    /// An access token that no trusted issuer signed.
    Foreign,
    /// The code of a login link. All codes share one count: a guesser never shows one twice.
    LoginCode,
    /// The code of a machine that wants to become a node.
    NodeCode,
}

struct Known {
    record: TokenRecord,
    /// It is on no record, and not shown.
    passing: bool,
    caller: Arc<Caller>,
    revoked: CancellationToken,
}

/// Checks tokens, makes them, and takes them back.
pub struct Doorman {
    store: Tokens,
    clock: Arc<dyn Clock>,
    ids: Ids,
    known: RwLock<HashMap<TokenId, Known>>,
    failures: LoginThrottle<(IpAddr, Failed)>,
    used: Mutex<HashMap<TokenId, Timestamp>>,
}

impl Doorman {
    /// Loads the records.
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
            .map(|record| (record.id, Known::from(record)))
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

    /// Lets a bearer in, or says why not. A valid token is admitted whatever others at the same
    /// address did: its secret has 256 random bits, so there is nothing to gain from making
    /// it wait, and whoever shares the address could lock its bearer out.
    pub fn admit(&self, client: IpAddr, shown: Option<&str>) -> Result<Admitted, ToolError> {
        let Some(text) = shown else {
            return Err(unauthenticated("a token is needed"));
        };
        let parsed = parse_token(text);
        if let Some(admitted) = parsed.and_then(|(id, hash)| self.check(id, &hash)) {
            self.remember(admitted.token);
            return Ok(admitted);
        }
        let failed = parsed.map_or(Failed::NoToken, |(id, _)| Failed::Token(id));
        let why = "the token is not valid: it is unknown, expired or revoked";
        Err(self.refuse(client, failed, unauthenticated(why)))
    }

    /// Whether a token would be admitted. Nothing is counted.
    pub fn recognises(&self, shown: &str) -> bool {
        let parsed = parse_token(shown);
        parsed.is_some_and(|(id, hash)| self.check(id, &hash).is_some())
    }

    /// Counts a failed login and gives back its refusal: `error`, or that the client has to wait
    /// when it failed this way too often. To be asked only once a credential was found wrong: see
    /// [`LoginThrottle`].
    pub fn refuse(&self, client: IpAddr, failed: Failed, error: ToolError) -> ToolError {
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

    /// Whoever a token stands for, while it is good.
    pub fn caller(&self, id: TokenId) -> Option<Arc<Caller>> {
        let known = self.known.read().expect("no panic while held");
        let found = known.get(&id)?;
        found
            .record
            .is_live(self.clock.now())
            .then(|| found.caller.clone())
    }

    /// Waits until the token of somebody who was let in is taken back or expires.
    pub async fn lapsed(&self, admitted: &Admitted) -> ToolError {
        let expired = async {
            match admitted.expires {
                Some(at) => tokio::time::sleep(at.since(self.clock.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = admitted.revoked.cancelled() => unauthenticated("the token was revoked"),
            () = expired => unauthenticated("the token has expired"),
        }
    }

    /// Makes a token. Its text is shown now and never again.
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

    /// Makes a token that is on no record and ends with this process.
    pub fn create_passing(&self, name: &str, role: Role) -> Secret {
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
        known.insert(minted.id, Known::passing(record));
        minted.text
    }

    /// Lets in somebody for whose token another vouches. They are known until it ends, so that what they
    /// began can go on, and are on no record.
    pub fn admit_guest(&self, guest: Guest) -> Result<Admitted, ToolError> {
        let now = self.clock.now();
        let mut known = self.known.write().expect("no panic while held");
        if !known.contains_key(&guest.id) && known.len() >= MAX_GUESTS {
            known.retain(|_, one| !one.passing || one.record.is_live(now));
            if known.values().filter(|one| one.passing).count() >= MAX_GUESTS {
                let message = format!("{MAX_GUESTS} are here with tokens of others already");
                return Err(ToolError::new(ErrorCode::Unavailable, message));
            }
        }
        let before = known.get(&guest.id);
        if before.is_some_and(|before| before.record.revoked.is_some()) {
            return Err(unauthenticated("the token was revoked"));
        }
        let known_until = before.and_then(|before| before.record.expires);
        let fresh = Known::passing(TokenRecord {
            id: guest.id,
            name: guest.name,
            role: guest.rights.role,
            tools: guest.rights.tools,
            agents: guest.rights.agents,
            hash: self.ids.random(), // nobody holds a text for it
            created: now,
            expires: Some(known_until.map_or(guest.expires, |until| until.max(guest.expires))),
            revoked: None,
            last_used: Some(now),
            browser: false,
        });
        let mut caller = Caller::clone(&fresh.caller);
        if let Some(credential) = caller.principal.credential() {
            // Named by another issuer: never to be taken for a token of the owner's making.
            caller.principal = Principal::Guest(credential.clone());
        }
        let fresh = Known {
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

    /// The tokens that are a node's own and still hold.
    pub fn of_node(&self, node: &NodeRecord) -> Vec<TokenId> {
        let now = self.clock.now();
        let known = self.known.read().expect("no panic while held");
        let own = |found: &&Known| {
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

    /// Registers a token whose text is already with its bearer.
    pub async fn register(&self, record: TokenRecord) -> Result<(), StoreError> {
        self.store.insert(&record).await?;
        self.known
            .write()
            .expect("no panic while held")
            .insert(record.id, Known::from(record));
        Ok(())
    }

    /// Whether `id` is the only owner's token that still holds.
    pub fn is_last_owner(&self, id: TokenId) -> bool {
        let now = self.clock.now();
        let known = self.known.read().expect("no panic while held");
        let holds = |found: &&Known| found.record.role == Role::Owner && found.record.is_live(now);
        let owners: Vec<TokenId> = known.values().filter(holds).map(|k| k.record.id).collect();
        owners == [id]
    }

    /// Takes a token back: it binds the next request, and open sockets hear of it at once.
    pub async fn revoke(&self, id: TokenId) -> Result<TokenRecord, StoreError> {
        let now = self.clock.now();
        if !self.is_passing(id) {
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

    /// All tokens, newest first, with their last use.
    pub fn list(&self) -> Vec<TokenRecord> {
        let used = self.used.lock().expect("no panic while held").clone();
        let known = self.known.read().expect("no panic while held");
        let recorded = known.values().filter(|found| !found.passing);
        let mut all: Vec<TokenRecord> = recorded.map(|found| found.record.clone()).collect();
        for record in &mut all {
            record.last_used = used.get(&record.id).copied().or(record.last_used);
        }
        all.sort_by_key(|record| std::cmp::Reverse((record.created, record.id)));
        all
    }

    /// Whether a token is on no record and ends with this process.
    pub fn is_passing(&self, id: TokenId) -> bool {
        let known = self.known.read().expect("no panic while held");
        known.get(&id).is_some_and(|found| found.passing)
    }

    /// Whether a token is the session of a browser.
    pub fn is_browser(&self, id: TokenId) -> bool {
        let known = self.known.read().expect("no panic while held");
        known.get(&id).is_some_and(|found| found.record.browser)
    }

    /// Whether `id` is on record.
    pub fn knows(&self, id: TokenId) -> bool {
        self.known
            .read()
            .expect("no panic while held")
            .contains_key(&id)
    }

    /// Puts the times of last use on disk.
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
        self.store.touch(&used).await
    }
}

impl Known {
    fn passing(record: TokenRecord) -> Self {
        Self {
            passing: true,
            ..Self::from(record)
        }
    }
}

impl From<TokenRecord> for Known {
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
            passing: false,
            caller,
            revoked: CancellationToken::new(),
        }
    }
}

fn unauthenticated(message: &str) -> ToolError {
    ToolError::new(ErrorCode::Unauthenticated, message).hint(
        "send `Authorization: Bearer TOKEN`; the owner makes tokens with `manyhands token create`",
    )
}

/// Somebody who was let in, as a turn remembers them.
pub fn origin(asker: &Admitted) -> Origin {
    origin_of(&asker.caller)
}
