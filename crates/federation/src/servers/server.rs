//! One configured server: its tools, its connections and its requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use manyhands_config::McpServer;
use manyhands_core::{
    Answers, Audience, CallContext, ConnectionId, Effects, ErrorCode, RunsOn, ServerName, Tool,
    ToolError, ToolSpec,
};
use manyhands_store::{ConnectionStatus, Pin};
use manyhands_upstream::{
    Credentials, Era, Hooks, McpClient, Peer, Private, REQUEST, Server as Described,
    ServerNotification, ServerRequestHandler, Status, Upstream, UpstreamError, all_capabilities,
};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::call::{QuestionRelay, failure, hooks};
use super::launch;
use super::legacy_clients::{Older, OlderSupport};
use super::offer::Offer;
use super::openapi::OperationRequest;
use super::pinning::{self, AcceptSelection, NewTools};
use super::tool::ServerTool;
use super::{ChosenConnection, ServerDeps};

/// The most conversations with a session of their own on one server.
const MAX_PRIVATE_SESSIONS: usize = 64;
/// The most open connections to one server, one per account.
const MAX_OPEN: usize = 32;

/// Buffered notifications of a private session.
const NEWS: usize = 64;

/// The session of one conversation with a server, before and after it is opened.
struct PrivateSession {
    held: tokio::sync::Mutex<Option<Arc<Private>>>,
    /// Notifications of the session; subscribers may arrive before it is opened.
    news: broadcast::Sender<ServerNotification>,
}

impl Default for PrivateSession {
    fn default() -> Self {
        Self {
            held: tokio::sync::Mutex::default(),
            news: broadcast::Sender::new(NEWS),
        }
    }
}

impl PrivateSession {
    /// Forwards the notifications of an opened session.
    fn follow(&self, opened: &Private) {
        let (mut told, news) = (opened.changes(), self.news.clone());
        tokio::spawn(async move {
            loop {
                match told.recv().await {
                    Ok(one) => drop(news.send(one)), // no subscribers is fine
                    Err(RecvError::Lagged(_)) => drop(news.send(ServerNotification::Resources)),
                    Err(RecvError::Closed) => return,
                }
            }
        });
    }
}

/// Private sessions, by conversation and account.
type PrivateSessions = BTreeMap<(String, Option<ConnectionId>), Arc<PrivateSession>>;

/// Removes a resource subscription on drop.
struct Forget<'a>(&'a Server, &'a (bool, String));

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let followed = self.0.followed.lock();
        followed
            .unwrap_or_else(PoisonError::into_inner)
            .remove(self.1);
    }
}

/// One configured server.
pub struct Server {
    name: ServerName,
    config: McpServer,
    deps: Arc<ServerDeps>,
    /// Open connections by account; `None` if the service has no accounts.
    open: Mutex<BTreeMap<Option<ConnectionId>, Upstream>>,
    /// Private sessions, by conversation and account.
    private_sessions: Mutex<PrivateSessions>,
    /// How many callers subscribe to each resource on the shared connection, by era (`true` is the
    /// older one).
    followed: Mutex<BTreeMap<(bool, String), usize>>,
    /// Connections in the older era to a server that supports both, by account.
    pub(super) older: tokio::sync::Mutex<Older>,
    /// For an OpenAPI server: whether its document was read since the gateway started.
    pub(super) looked: AtomicBool,
    /// The stored tool definitions.
    pins: Mutex<Arc<Vec<Pin>>>,
    offer: Mutex<Arc<Offer>>,
    /// The last error when listing its tools.
    problem: Mutex<Option<String>>,
    /// Serializes listing its tools.
    looking: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.name)
    }
}

impl Server {
    pub(super) async fn new(
        name: ServerName,
        config: McpServer,
        pins: Vec<Pin>,
        deps: Arc<ServerDeps>,
    ) -> Arc<Self> {
        let pins = Arc::new(pins);
        let offer = Offer::aside(&name, &config, &pins).await;
        Arc::new(Self {
            offer: Mutex::new(Arc::new(offer)),
            name,
            config,
            deps,
            open: Mutex::default(),
            private_sessions: Mutex::default(),
            followed: Mutex::default(),
            older: tokio::sync::Mutex::default(),
            looked: AtomicBool::default(),
            pins: Mutex::new(pins),
            problem: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        })
    }

    /// Its name.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    pub(super) fn deps(&self) -> &ServerDeps {
        &self.deps
    }

    /// Its settings.
    pub fn config(&self) -> &McpServer {
        &self.config
    }

    /// Its path as a server.
    pub fn path(&self) -> String {
        match self.config.openapi {
            Some(_) => format!("dynamic/{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// The service whose accounts it uses.
    pub fn service(&self) -> &str {
        self.config.service.as_deref().unwrap_or(self.name.as_str())
    }

    /// The stored tool definitions.
    pub fn pins(&self) -> Arc<Vec<Pin>> {
        self.pins.lock().expect("no panic while held").clone()
    }

    /// The last error when listing its tools.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().expect("no panic while held").clone()
    }

    /// The status of each open connection.
    pub fn statuses(&self) -> Vec<(Option<ConnectionId>, Status)> {
        let open = self.open.lock().expect("no panic while held");
        open.iter()
            .map(|(id, upstream)| (*id, upstream.status()))
            .collect()
    }

    /// The last stderr output of its programs.
    pub fn stderr(&self) -> String {
        let open = self.open.lock().expect("no panic while held");
        let tails: Vec<String> = open.values().map(Upstream::stderr).collect();
        tails.join("\n")
    }

    /// The published tools.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.lock().expect("no panic while held").clone()
    }

    /// The published tools as catalogue entries.
    pub(super) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let offer = self.offer();
        let tools = offer.tools.values();
        tools
            .map(|offered| -> Arc<dyn Tool> { Arc::new(ServerTool::new(self, offered)) })
            .collect()
    }

    /// Who may use it, from `mcpServers.NAME.tokens` and `.agents`.
    pub(super) fn audience(&self) -> Audience {
        Audience {
            tokens: Some(self.config.tokens.clone().into()),
            agents: Some(self.config.agents.clone().into()),
            session: None,
            setting: Some(format!("mcpServers.{}", self.name).into()),
        }
    }

    /// The pseudo tool by which direct use of resources and prompts is authorized. Named like its
    /// tools, so that the patterns of a token cover both.
    pub fn access(&self, method: &str) -> ToolSpec {
        let mut spec = ToolSpec::new("server", "server").effects(Effects::READS);
        let name = format!("{}__{}", self.name, method.replace('/', "_"));
        if let Ok(name) = name.parse() {
            spec.name = name;
        }
        spec.audience = self.audience();
        spec.runs_on = RunsOn::Server { name: self.path() };
        spec
    }

    /// Calls a tool. The second value names the account used if there was a choice. `request` is
    /// the accepted request of an OpenAPI tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        request: Option<&OperationRequest>,
        arguments: Value,
        context: &CallContext,
    ) -> Result<(Value, Option<String>), ToolError> {
        let service = self.service();
        let wanted = context.connections.get(service).map(String::as_str);
        let choice = self.deps.accounts.choose(service, &context.agent, wanted)?;
        let result = match self.config.openapi {
            // Boxed because it is large and rarely used: the future of an ordinary call stays
            // small.
            Some(_) => {
                let calling = self.call_operation(request, &arguments, context, choice.as_ref());
                Box::pin(calling).await
            }
            None => self.ask(tool, arguments, context, choice.as_ref()).await,
        };
        if let Some(choice) = &choice {
            Box::pin(self.mark(choice, &result)).await;
        }
        let note = choice.filter(|choice| choice.others > 0).map(|choice| {
            format!(
                "used the connection {:?} (PCID {}), the first of {} for {service}; pass PCID to use another",
                choice.name,
                choice.id,
                choice.others + 1,
            )
        });
        Ok((result?, note))
    }

    async fn ask(
        &self,
        tool: &str,
        arguments: Value,
        context: &CallContext,
        choice: Option<&ChosenConnection>,
    ) -> Result<Value, ToolError> {
        let timeout = Duration::from_secs(self.config.timeout);
        let account = choice.map(|choice| choice.id);
        let hooks = hooks(context, timeout);
        let mut params = match &context.answers {
            Some(answers) => answers.carried(),
            None => Map::new(),
        };
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), arguments);
        let answers = context.answers.as_ref();
        self.request("tools/call", params, account, answers, hooks)
            .await
    }

    /// Sends a request, over the shared connection or the conversation's private session.
    pub async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        account: Option<ConnectionId>,
        answers: Option<&Arc<dyn Answers>>,
        mut hooks: Hooks,
    ) -> Result<Value, ToolError> {
        let failed = |error| failure(&self.name, error);
        let older = answers.is_some_and(|answers| answers.is_older());
        let upstream = self.upstream_of(account, older).await?;
        let Some(answers) = answers else {
            return upstream
                .request(method, params, &hooks)
                .await
                .map_err(failed);
        };
        let asker: Arc<dyn ServerRequestHandler> = Arc::new(QuestionRelay(answers.clone()));
        let modern = upstream.live().await.map_err(failed)?.peer().era == Era::Modern;
        match (modern, answers.line()) {
            (true, _) if answers.calls_again() => hooks.capabilities = Some(asker.capabilities()),
            (true, _) => hooks.handler = Some(asker),
            // In the older era a server's own requests carry no reference to a call. On a private
            // session they can only belong to this conversation.
            (false, Some(line)) => {
                let own = || self.line(account, &line, &upstream, asker.clone());
                let answer = own().await?.request(method, params.clone(), &hooks).await;
                return match answer {
                    // The session ended before the request was sent, so it is safe to send it again
                    // on a new one.
                    Err(UpstreamError::Gone(_)) => {
                        own().await?.request(method, params, &hooks).await
                    }
                    answer => answer,
                }
                .map_err(failed);
            }
            (false, None) if !asker.capabilities().is_empty() => {
                let own = Box::pin(upstream.open_private(Some(asker))).await;
                let own = own.map_err(failed)?;
                return own.request(method, params, &hooks).await.map_err(failed);
            }
            // A caller that cannot be asked anything needs no private session.
            (false, None) => {}
        }
        upstream
            .request(method, params, &hooks)
            .await
            .map_err(failed)
    }

    /// Returns the private session of a conversation, opening it on first use.
    async fn line(
        &self,
        account: Option<ConnectionId>,
        name: &str,
        upstream: &Upstream,
        asker: Arc<dyn ServerRequestHandler>,
    ) -> Result<Arc<Private>, ToolError> {
        let own = self.session_slot(name, account);
        let mut held = own.held.lock().await;
        if let Some(line) = held.as_ref().filter(|line| !line.is_closed()) {
            return Ok(line.clone());
        }
        let opened = Box::pin(upstream.open_private(Some(asker))).await;
        let opened = Arc::new(opened.map_err(|error| failure(&self.name, error))?);
        own.follow(&opened);
        *held = Some(opened.clone());
        Ok(opened)
    }

    fn session_slot(&self, name: &str, account: Option<ConnectionId>) -> Arc<PrivateSession> {
        let mut private_sessions = self.private_sessions.lock().expect("no panic while held");
        private_sessions
            .entry((name.to_owned(), account))
            .or_default()
            .clone()
    }

    /// Notifications of a conversation's private session, or of the shared connection of an era.
    pub async fn hears(
        &self,
        line: Option<&str>,
        older: bool,
    ) -> Result<broadcast::Receiver<ServerNotification>, ToolError> {
        let account = self.account();
        let upstream = self.upstream_of(account, older).await?;
        let Some(line) = line else {
            return Ok(upstream.changes());
        };
        let live = upstream.live().await;
        let live = live.map_err(|error| failure(&self.name, error))?;
        Ok(match live.peer().era {
            Era::Legacy => self.session_slot(line, account).news.subscribe(),
            // A modern server is used over the shared connection and notifies there.
            Era::Modern => upstream.changes(),
        })
    }

    /// The server's description of itself for callers of an era.
    pub async fn peer(&self, older: bool) -> Result<Peer, ToolError> {
        if self.config.openapi.is_some() {
            let message = format!("{} is not an MCP server; use its tools at /mcp", self.name);
            return Err(ToolError::new(ErrorCode::Failed, message));
        }
        let upstream = self.upstream_of(self.account(), older).await?;
        let live = upstream.live().await;
        let live = live.map_err(|error| failure(&self.name, error))?;
        Ok(live.peer().clone())
    }

    /// Subscribes one more caller to a resource on the shared connection of an era.
    pub async fn subscribe(&self, uri: &str, older: bool, hooks: Hooks) -> Result<(), ToolError> {
        let key = (older, uri.to_owned());
        let first = {
            let mut followed = self.followed.lock().expect("no panic while held");
            let count = followed.entry(key.clone()).or_insert(0);
            *count += 1;
            *count == 1
        };
        if !first {
            return Ok(());
        }
        // If subscribing fails or is cancelled, the count is removed, so that the next caller tries
        // again.
        let forget = Forget(self, &key);
        let upstream = self.upstream_of(self.account(), older).await?;
        let done = upstream.subscribe(uri, &hooks).await;
        done.map_err(|error| failure(&self.name, error))?;
        std::mem::forget(forget);
        Ok(())
    }

    /// Unsubscribes one caller from a resource.
    pub async fn unsubscribe(&self, uri: &str, older: bool) {
        let key = (older, uri.to_owned());
        let last = {
            let mut followed = self.followed.lock().expect("no panic while held");
            match followed.get_mut(&key) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                Some(_) => followed.remove(&key).is_some(),
                None => false,
            }
        };
        if last && let Ok(upstream) = self.upstream_of(self.account(), older).await {
            let _ = upstream.unsubscribe(uri, &Hooks::default()).await; // the subscription ends with the connection anyway
        }
    }

    /// The account used to list its tools: the first one.
    fn account(&self) -> Option<ConnectionId> {
        let all = self.deps.accounts.all();
        let first = all.iter().find(|one| one.service == self.service());
        first.map(|one| one.id)
    }

    /// Closes the private sessions of a conversation.
    pub fn hang_up(&self, name: &str) {
        let mut private_sessions = self.private_sessions.lock().expect("no panic while held");
        private_sessions.retain(|(line, _), _| line != name);
    }

    /// Records whether an account worked.
    async fn mark(&self, choice: &ChosenConnection, result: &Result<Value, ToolError>) {
        let accounts = &self.deps.accounts;
        match result {
            Ok(_) => {
                accounts
                    .mark(choice.id, ConnectionStatus::Connected, "")
                    .await
            }
            Err(error) if error.code == ErrorCode::Unavailable => {
                accounts
                    .mark(choice.id, ConnectionStatus::Error, &error.message)
                    .await;
            }
            Err(_) => {}
        }
    }

    pub(super) async fn credentials(
        &self,
        choice: Option<&ChosenConnection>,
    ) -> Result<Vec<(manyhands_guard::HeaderName, manyhands_core::Secret)>, ToolError> {
        let keys = match choice {
            Some(choice) => self.deps.accounts.keys(choice.id).await?,
            None => launch::Keys::new(),
        };
        let login = choice.and_then(|choice| self.login(choice.id, &keys));
        let keys = if login.is_some() {
            launch::Keys::new()
        } else {
            keys
        };
        let mut headers =
            launch::headers(&self.name, &self.config, &keys, &self.deps.vault).await?;
        if let Some(login) = login {
            let shown = login.headers().await;
            headers.extend(shown.map_err(|error| failure(&self.name, error))?);
        }
        Ok(headers)
    }

    /// The OAuth credentials of an account, if it uses OAuth.
    fn login(&self, account: ConnectionId, keys: &launch::Keys) -> Option<Arc<dyn Credentials>> {
        let oauth = &self.deps.oauth;
        oauth.credentials(&self.name, &self.config, account, keys)
    }

    /// Returns the connection of one account, opening it on first use.
    pub async fn upstream(&self, account: Option<ConnectionId>) -> Result<Upstream, ToolError> {
        let found = |open: &BTreeMap<_, Upstream>| open.get(&account).cloned();
        if let Some(upstream) = found(&self.open.lock().expect("no panic while held")) {
            return Ok(upstream);
        }
        Box::pin(self.reach(account)).await
    }

    /// How to reach the server with one account.
    pub(super) async fn described(
        &self,
        account: Option<ConnectionId>,
    ) -> Result<Described, ToolError> {
        let keys = match account {
            Some(id) => self.deps.accounts.keys(id).await?,
            None => launch::Keys::new(),
        };
        let login = account.and_then(|id| self.login(id, &keys));
        // The stored fields of a login are tokens; only the login itself may present them.
        let keys = if login.is_some() {
            launch::Keys::new()
        } else {
            keys
        };
        let deps = &self.deps;
        let transport = launch::transport(
            &self.name,
            &self.config,
            &keys,
            &deps.host,
            &deps.vault,
            &deps.home,
        )
        .await?;
        let mut described = Described::new(self.name.as_str(), transport);
        described.timeouts.call = Duration::from_secs(self.config.timeout);
        described.bounds.private = MAX_PRIVATE_SESSIONS;
        described.accepts_requests = self.config.asks;
        if let Some(login) = login {
            described.credentials = login;
        }
        Ok(described)
    }

    async fn reach(&self, account: Option<ConnectionId>) -> Result<Upstream, ToolError> {
        let deps = &self.deps;
        let described = self.described(account).await?;
        let fresh = Upstream::new(described, deps.upstream.clone());
        let mut open = self.open.lock().expect("no panic while held");
        if let Some(upstream) = open.get(&account) {
            return Ok(upstream.clone()); // another caller was faster
        }
        if open.len() >= MAX_OPEN {
            let message = format!(
                "too many open connections to {} (limit {MAX_OPEN})",
                self.name
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
        // If the channel is full the notification is dropped, and the tools are listed with the
        // next connection.
        let _ = deps.opened.try_send((self.name.clone(), fresh.changes()));
        open.insert(account, fresh.clone());
        Ok(fresh)
    }

    /// Closes the connection of one account, so that the next use sees its new credentials.
    pub(super) async fn close(&self, account: ConnectionId) {
        let gone = self
            .open
            .lock()
            .expect("no panic while held")
            .remove(&Some(account));
        if let Some(upstream) = gone {
            upstream.stop().await;
        }
        let older = self.older.lock().await.remove(&Some(account));
        if let Some(OlderSupport::Spoken(upstream)) = older {
            upstream.stop().await;
        }
    }

    /// Closes a failing connection without an account: its rejection from before there was an
    /// account says nothing about the server any more.
    pub(super) async fn close_refused(&self) {
        let gone = {
            let mut open = self.open.lock().expect("no panic while held");
            let works = |upstream: &Upstream| upstream.status() == Status::Ready;
            match open.get(&None).is_some_and(works) {
                true => None,
                false => open.remove(&None),
            }
        };
        if let Some(upstream) = gone {
            upstream.stop().await;
        }
    }

    /// Closes all connections and stops its programs.
    pub(super) async fn stop(&self) {
        let open = std::mem::take(&mut *self.open.lock().expect("no panic while held"));
        self.private_sessions
            .lock()
            .expect("no panic while held")
            .clear();
        for upstream in open.into_values() {
            upstream.stop().await;
        }
        for known in std::mem::take(&mut *self.older.lock().await).into_values() {
            if let OlderSupport::Spoken(upstream) = known {
                upstream.stop().await;
            }
        }
    }

    /// Lists its tools and compares them with the stored definitions. Returns whether anything
    /// changed.
    pub(super) async fn look(&self) -> Result<bool, ToolError> {
        let _one = self.looking.lock().await;
        let listed = self.listed().await;
        *self.problem.lock().expect("no panic while held") =
            listed.as_ref().err().map(|error| error.text());
        let (listed, server) = listed?;
        let known = self.pins();
        let new = NewTools {
            hold: self.config.hold_new,
            server: server.as_deref(),
        };
        let pins = pinning::settle(&known, &listed, new);
        if *known == pins {
            return Ok(false);
        }
        self.keep(pins).await?;
        Ok(true)
    }

    /// Tests an account and records the result.
    pub(super) async fn try_out(&self, account: ConnectionId) {
        let tried = match self.config.openapi.is_some() {
            true => self.document().await.map(drop),
            false => match self.upstream(Some(account)).await {
                Ok(upstream) => {
                    let listed = upstream.list_tools(&Hooks::default()).await;
                    listed.map(drop).map_err(|error| failure(&self.name, error))
                }
                Err(error) => Err(error),
            },
        };
        let accounts = &self.deps.accounts;
        match tried {
            Ok(()) => {
                accounts
                    .mark(account, ConnectionStatus::Connected, "")
                    .await
            }
            Err(error) => {
                accounts
                    .mark(account, ConnectionStatus::Error, &error.text())
                    .await
            }
        }
    }

    /// Its current tool definitions and, for an OpenAPI document, the address of the service.
    async fn listed(&self) -> Result<(Vec<Value>, Option<String>), ToolError> {
        if self.config.openapi.is_some() {
            let listed = self.document().await?;
            return Ok((listed.definitions, listed.server));
        }
        let upstream = self.upstream(self.account()).await?;
        // Also list tools that are offered only to clients that can be asked: some callers can.
        let hooks = Hooks {
            capabilities: Some(all_capabilities()),
            ..Hooks::default()
        };
        let listed = upstream.list_tools(&hooks).await;
        let mut listed = listed.map_err(|error| failure(&self.name, error))?;
        for definition in listed.iter_mut().filter_map(Value::as_object_mut) {
            definition.remove(REQUEST); // reserved for the gateway; a server must not set it
        }
        Ok((listed, None))
    }

    /// Accepts held definitions, of one tool or all.
    pub(super) async fn accept(
        &self,
        wanted: &AcceptSelection<'_>,
    ) -> Result<Vec<String>, ToolError> {
        let _one = self.looking.lock().await;
        let mut pins = (*self.pins()).clone();
        let accepted = pinning::accept(&mut pins, wanted);
        if !accepted.is_empty() {
            self.keep(pins).await?;
        }
        Ok(accepted)
    }

    async fn keep(&self, pins: Vec<Pin>) -> Result<(), ToolError> {
        let (records, now) = (&self.deps.pins, self.deps.clock.now());
        let kept = records.put(self.name.as_str(), &pins, now).await;
        kept?;
        let pins = Arc::new(pins);
        let offer = Offer::aside(&self.name, &self.config, &pins).await;
        *self.offer.lock().expect("no panic while held") = Arc::new(offer);
        *self.pins.lock().expect("no panic while held") = pins;
        Ok(())
    }
}
