//! Accounts of services, called connections in the interfaces: any number per service, their
//! credentials in the vault, one chosen for each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_core::{AgentId, Clock, ConnectionId, ErrorCode, Ids, Pattern, Secret, ToolError};
use manyhands_store::{
    ConnectionKind, ConnectionRecord, ConnectionStatus, Connections, Store, StoreError, Vault,
};

use super::launch::Keys;

/// The most accounts.
const MAX_CONNECTIONS: usize = 1_000;
/// The most credentials of one account.
const MAX_FIELDS: usize = 32;
/// The only credential that is not secret.
const CLIENT_ID: &str = "client_id";
/// The longest name of an account.
const MAX_NAME: usize = 100;

/// All accounts. Cheap to clone.
#[derive(Clone)]
pub struct ServiceAccounts {
    records: Connections,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
    /// Cached records, so that a call does not read the database.
    known: Arc<ArcSwap<Vec<ConnectionRecord>>>,
    /// Held from the write to the re-read of the cache, so that concurrent changes cannot leave an
    /// older list in it.
    keeping: Arc<tokio::sync::Mutex<()>>,
}

/// The account chosen for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenConnection {
    /// Its id.
    pub id: ConnectionId,
    /// The owner's name for it.
    pub name: String,
    /// How many other accounts could have been used, if none was named.
    pub others: usize,
}

/// A new account, or changes to one.
#[derive(Debug, Default)]
pub struct ConnectionDraft {
    /// The owner's name for it.
    pub name: Option<String>,
    /// Credentials by name; existing ones that are not named stay.
    pub credentials: BTreeMap<String, Secret>,
    /// The agents that may use it.
    pub agents: Option<Vec<Pattern>>,
}

impl ServiceAccounts {
    pub(super) async fn open(
        store: &Store,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, StoreError> {
        let records = store.connections().clone();
        let known = records.list().await?;
        Ok(Self {
            records,
            vault: store.vault().clone(),
            clock,
            ids,
            known: Arc::new(ArcSwap::from_pointee(known)),
            keeping: Arc::default(),
        })
    }

    /// Returns every account, grouped by service, oldest first.
    pub fn all(&self) -> Arc<Vec<ConnectionRecord>> {
        self.known.load_full()
    }

    /// Returns the accounts that an agent may use.
    pub fn of_agent(&self, agent: &AgentId) -> Vec<ConnectionRecord> {
        let all = self.known.load();
        all.iter()
            .filter(|one| is_for(one, agent))
            .cloned()
            .collect()
    }

    /// Returns one account.
    pub fn get(&self, id: &str) -> Result<ConnectionRecord, ToolError> {
        let all = self.known.load();
        let found = all.iter().find(|one| one.id.to_string() == id);
        found.cloned().ok_or_else(|| unknown(id))
    }

    /// Adds an account of a service.
    pub async fn add(
        &self,
        service: &str,
        kind: ConnectionKind,
        draft: ConnectionDraft,
    ) -> Result<ConnectionRecord, ToolError> {
        if self.known.load().len() >= MAX_CONNECTIONS {
            let message = format!("too many connections (limit {MAX_CONNECTIONS})");
            return Err(ToolError::new(ErrorCode::TooLarge, message).hint("remove one first"));
        }
        let name = draft.name.clone().unwrap_or_else(|| service.to_owned());
        let record = ConnectionRecord {
            id: self.ids.next(),
            service: service.to_owned(),
            name,
            kind,
            fields: Vec::new(),
            agents: vec![Pattern::new("*")],
            status: ConnectionStatus::Disconnected,
            detail: String::new(),
            created: self.clock.now(),
            checked: None,
        };
        self.keep(record, draft).await
    }

    /// Changes an account.
    pub async fn change(
        &self,
        id: &str,
        draft: ConnectionDraft,
    ) -> Result<ConnectionRecord, ToolError> {
        let record = self.get(id)?;
        self.keep(record, draft).await
    }

    async fn keep(
        &self,
        mut record: ConnectionRecord,
        draft: ConnectionDraft,
    ) -> Result<ConnectionRecord, ToolError> {
        check(&draft)?;
        if let Some(name) = draft.name {
            record.name = name;
        }
        if let Some(agents) = draft.agents {
            record.agents = agents;
        }
        let twin = |other: &ConnectionRecord| {
            other.service == record.service && other.name == record.name && other.id != record.id
        };
        if self.known.load().iter().any(twin) {
            let message = format!(
                "{} already has a connection named {:?}",
                record.service, record.name
            );
            return Err(ToolError::parameter("name", message));
        }
        // Secrets before the record: a crash in between leaves an unused secret, not a record
        // without its credentials.
        for (field, secret) in &draft.credentials {
            let kept = self.vault.set(&place(record.id, field), secret).await;
            kept?;
            if !record.fields.contains(field) {
                record.fields.push(field.clone());
            }
        }
        record.fields.sort();
        if record.fields.len() > MAX_FIELDS {
            let message = format!("a connection has at most {MAX_FIELDS} credentials");
            return Err(ToolError::parameter("credentials", message));
        }
        self.put(record).await
    }

    async fn put(&self, record: ConnectionRecord) -> Result<ConnectionRecord, ToolError> {
        let _one = self.keeping.lock().await;
        self.put_alone(record).await
    }

    async fn put_alone(&self, record: ConnectionRecord) -> Result<ConnectionRecord, ToolError> {
        self.records.put(&record).await?;
        self.reread().await?;
        Ok(record)
    }

    async fn reread(&self) -> Result<(), ToolError> {
        let all = self.records.list().await?;
        self.known.store(Arc::new(all));
        Ok(())
    }

    /// Removes an account. Its credentials go first, so that a crash cannot leave secrets without a
    /// record.
    pub async fn remove(&self, id: &str) -> Result<ConnectionRecord, ToolError> {
        let _one = self.keeping.lock().await;
        let record = self.get(id)?;
        for field in &record.fields {
            let gone = self.vault.remove(&place(record.id, field)).await;
            gone?;
        }
        self.records.remove(record.id).await?;
        self.reread().await?;
        Ok(record)
    }

    /// Records whether an account worked; writes only if that changed.
    pub(super) async fn mark(&self, id: ConnectionId, status: ConnectionStatus, detail: &str) {
        let _one = self.keeping.lock().await;
        let all = self.known.load_full();
        let Some(record) = all.iter().find(|one| one.id == id) else {
            return;
        };
        if record.status == status && record.detail == detail && record.checked.is_some() {
            return;
        }
        let mut record = record.clone();
        (record.status, record.checked) = (status, Some(self.clock.now()));
        record.detail = detail.chars().take(500).collect();
        if let Err(error) = self.put_alone(record).await {
            tracing::warn!(event = "connection_state_save_failed", connection = %id, %error, "failed to persist the state of a connection");
        }
    }

    /// Returns the credentials of an account.
    pub(super) async fn keys(&self, id: ConnectionId) -> Result<Keys, ToolError> {
        let record = self.get(&id.to_string())?;
        let mut keys = Keys::new();
        for field in record.fields {
            if let Some(secret) = self.vault.get(&place(id, &field)).await? {
                keys.insert(field, secret);
            }
        }
        Ok(keys)
    }

    /// Chooses the account for a call of `agent`: the named one, else the first; `None` if the
    /// service has no accounts.
    pub fn choose(
        &self,
        service: &str,
        agent: &AgentId,
        wanted: Option<&str>,
    ) -> Result<Option<ChosenConnection>, ToolError> {
        let all = self.known.load();
        let mut fitting = all
            .iter()
            .filter(|one| one.service == service && is_for(one, agent));
        let choice = |one: &ConnectionRecord, others| ChosenConnection {
            id: one.id,
            name: one.name.clone(),
            others,
        };
        match wanted {
            Some(wanted) => {
                let found = fitting.find(|one| one.id.to_string() == wanted);
                let found = found.ok_or_else(|| {
                    let message = format!("{service} has no connection {wanted:?} that this agent may use");
                    ToolError::parameter("PCID", message).hint(
                        "list them with `manyhands connection list`, capabilities_discover and types [\"connection\"], or gateway_list_workspace",
                    )
                })?;
                Ok(Some(choice(found, 0)))
            }
            None => {
                let first = fitting.next();
                Ok(first.map(|one| choice(one, fitting.count())))
            }
        }
    }
}

fn is_for(record: &ConnectionRecord, agent: &AgentId) -> bool {
    record
        .agents
        .iter()
        .any(|pattern| pattern.matches(agent.as_str()))
}

fn check(draft: &ConnectionDraft) -> Result<(), ToolError> {
    if let Some(name) = &draft.name {
        let fits = (1..=MAX_NAME).contains(&name.chars().count());
        if !fits || name.chars().any(char::is_control) {
            let message =
                format!("must have 1-{MAX_NAME} characters, none of them a control character");
            return Err(ToolError::parameter("name", message));
        }
    }
    for (field, secret) in &draft.credentials {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !(1..=64).contains(&field.len()) || !field.chars().all(legal) {
            let message = format!("{field:?} is not a name: use 1-64 of A-Z, a-z, 0-9, _ and -");
            return Err(ToolError::parameter("credentials", message));
        }
        if field != CLIENT_ID && secret.expose().chars().count() < 8 {
            let message = format!(
                "{field}: must have at least 8 characters; a shorter secret cannot be redacted reliably"
            );
            return Err(ToolError::parameter("credentials", message));
        }
    }
    Ok(())
}

/// Returns whether a vault key holds the client id of an account, which is stored with the
/// credentials but is not secret.
pub fn is_client_id(name: &str) -> bool {
    let field = name.strip_prefix("connection/");
    field
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, field)| field == CLIENT_ID)
}

/// The vault key of a credential.
pub(super) fn place(id: ConnectionId, field: &str) -> String {
    format!("connection/{id}/{field}")
}

fn unknown(id: &str) -> ToolError {
    let shown: String = id.chars().take(80).collect();
    ToolError::not_found(format!("there is no connection {shown:?}"))
        .hint("list them with `manyhands connection list`")
}
