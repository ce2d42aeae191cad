//! One server that the owner named: how its tools are known, and how it is asked.

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
    Credentials, Era, Hooks, Peer, Private, REQUEST, Server as Described, ServerNotification,
    ServerRequestHandler, Speak, Status, Upstream, UpstreamError, all_capabilities,
};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::call::{Asker, failure, hooks};
use super::launch;
use super::offer::Offer;
use super::older::{Known, Older};
use super::openapi::Request;
use super::pinning::{self, NewTools, Wanted};
use super::tool::ServerTool;
use super::{Choice, Ground};

/// How many conversations have a line of their own to one server.
const MAX_LINES: usize = 64;
/// How many accounts of one server are kept open.
const MAX_OPEN: usize = 32;

/// How much that was told on a line waits to be heard.
const NEWS: usize = 64;

/// The line of one conversation, before it is opened and after.
struct Line {
    held: tokio::sync::Mutex<Option<Arc<Private>>>,
    /// What is told on it, so that it can be listened to before there is anything to hear.
    news: broadcast::Sender<ServerNotification>,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            held: tokio::sync::Mutex::default(),
            news: broadcast::Sender::new(NEWS),
        }
    }
}

impl Line {
    /// Takes what was opened; all that is told on it is told here.
    fn follow(&self, opened: &Private) {
        let (mut told, news) = (opened.changes(), self.news.clone());
        tokio::spawn(async move {
            loop {
                match told.recv().await {
                    Ok(one) => drop(news.send(one)), // nobody may be listening
                    Err(RecvError::Lagged(_)) => drop(news.send(ServerNotification::Resources)),
                    Err(RecvError::Closed) => return,
                }
            }
        });
    }
}

/// Lines of single conversations, by the conversation and the account.
type Lines = BTreeMap<(String, Option<ConnectionId>), Arc<Line>>;

/// Forgets when it is dropped that a resource is followed.
struct Forget<'a>(&'a Server, &'a (bool, String));

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let followed = self.0.followed.lock();
        followed
            .unwrap_or_else(PoisonError::into_inner)
            .remove(self.1);
    }
}

/// One server that the owner named.
pub struct Server {
    name: ServerName,
    config: McpServer,
    ground: Arc<Ground>,
    /// By the account that is used; `None` where the service has none.
    open: Mutex<BTreeMap<Option<ConnectionId>, Upstream>>,
    /// Lines of single conversations, by the conversation and the account.
    lines: Mutex<Lines>,
    /// How many follow each resource on the line of all, by whether they are of the older era.
    followed: Mutex<BTreeMap<(bool, String), usize>>,
    /// Links in the older era to a server that speaks both, by the account.
    pub(super) older: tokio::sync::Mutex<Older>,
    /// Whether its document was read since the gateway started, for a server that is one.
    pub(super) looked: AtomicBool,
    /// What is on record of its tools.
    pins: Mutex<Arc<Vec<Pin>>>,
    offer: Mutex<Arc<Offer>>,
    /// Why it could not be asked for its tools, when it was last tried.
    problem: Mutex<Option<String>>,
    /// One look at its tools at a time.
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
        ground: Arc<Ground>,
    ) -> Arc<Self> {
        let pins = Arc::new(pins);
        let offer = Offer::aside(&name, &config, &pins).await;
        Arc::new(Self {
            offer: Mutex::new(Arc::new(offer)),
            name,
            config,
            ground,
            open: Mutex::default(),
            lines: Mutex::default(),
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

    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// What the owner wrote of it.
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

    /// What is on record of its tools.
    pub fn pins(&self) -> Arc<Vec<Pin>> {
        self.pins.lock().expect("no panic while held").clone()
    }

    /// Why it could not be asked for its tools, when it was last tried.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().expect("no panic while held").clone()
    }

    /// How each of its open connections stands.
    pub fn statuses(&self) -> Vec<(Option<ConnectionId>, Status)> {
        let open = self.open.lock().expect("no panic while held");
        open.iter()
            .map(|(id, upstream)| (*id, upstream.status()))
            .collect()
    }

    /// The last words that its programs wrote beside the protocol.
    pub fn stderr(&self) -> String {
        let open = self.open.lock().expect("no panic while held");
        let tails: Vec<String> = open.values().map(Upstream::stderr).collect();
        tails.join("\n")
    }

    /// Its tools as far as the owner took them on.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.lock().expect("no panic while held").clone()
    }

    /// The same for the catalogue.
    pub(super) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let offer = self.offer();
        let tools = offer.tools.values();
        tools
            .map(|offered| -> Arc<dyn Tool> { Arc::new(ServerTool::new(self, offered)) })
            .collect()
    }

    /// Who may use it at all, by `mcpServers.NAME.tokens` and `.agents`.
    pub(super) fn audience(&self) -> Audience {
        Audience {
            tokens: Some(self.config.tokens.clone().into()),
            agents: Some(self.config.agents.clone().into()),
            session: None,
            setting: Some(format!("mcpServers.{}", self.name).into()),
        }
    }

    /// What using it directly is judged as, for what is no tool: its resources and prompts. Named
    /// like its tools, so that a token's patterns cover both.
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

    /// Asks a tool, and says which account was used where there would have been others. `request` is
    /// what was accepted of a tool of an OpenAPI document.
    pub(super) async fn call(
        &self,
        tool: &str,
        request: Option<&Request>,
        arguments: Value,
        context: &CallContext,
    ) -> Result<(Value, Option<String>), ToolError> {
        let service = self.service();
        let wanted = context.connections.get(service).map(String::as_str);
        let choice = self.ground.desk.choose(service, &context.agent, wanted)?;
        let result = match self.config.openapi {
            // What is seldom needed and large stands behind a pointer, so that a call stays small.
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
        choice: Option<&Choice>,
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

    /// Sends any request, as the conversation wants it: over the line of all, or one of its own.
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
        let asker: Arc<dyn ServerRequestHandler> = Arc::new(Asker(answers.clone()));
        let modern = upstream.live().await.map_err(failed)?.peer().era == Era::Modern;
        match (modern, answers.line()) {
            (true, _) if answers.calls_again() => hooks.capabilities = Some(asker.capabilities()),
            (true, _) => hooks.ask = Some(asker),
            // What an old server asks back can only be told apart on a line of one's own.
            (false, Some(line)) => {
                let own = || self.line(account, &line, &upstream, asker.clone());
                let answer = own().await?.request(method, params.clone(), &hooks).await;
                return match answer {
                    // It had ended before the request was sent; another may do.
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
            // Whoever cannot be asked anything needs no line of their own.
            (false, None) => {}
        }
        upstream
            .request(method, params, &hooks)
            .await
            .map_err(failed)
    }

    /// The line of one conversation, opened when it is first used.
    async fn line(
        &self,
        account: Option<ConnectionId>,
        name: &str,
        upstream: &Upstream,
        asker: Arc<dyn ServerRequestHandler>,
    ) -> Result<Arc<Private>, ToolError> {
        let own = self.own_line(name, account);
        let mut held = own.held.lock().await;
        if let Some(line) = held.as_ref().filter(|line| !line.is_over()) {
            return Ok(line.clone());
        }
        let opened = Box::pin(upstream.open_private(Some(asker))).await;
        let opened = Arc::new(opened.map_err(|error| failure(&self.name, error))?);
        own.follow(&opened);
        *held = Some(opened.clone());
        Ok(opened)
    }

    fn own_line(&self, name: &str, account: Option<ConnectionId>) -> Arc<Line> {
        let mut lines = self.lines.lock().expect("no panic while held");
        lines.entry((name.to_owned(), account)).or_default().clone()
    }

    /// What it tells on the line of a conversation, or on that of all callers of an era.
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
            Era::Legacy => self.own_line(line, account).news.subscribe(),
            // A modern server is asked over the shared connection, and tells its news there.
            Era::Modern => upstream.changes(),
        })
    }

    /// What it says of itself to callers of an era.
    pub async fn peer(&self, older: bool) -> Result<Peer, ToolError> {
        if self.config.openapi.is_some() {
            let message = format!("{} is no MCP server: use its tools at /mcp", self.name);
            return Err(ToolError::new(ErrorCode::Failed, message));
        }
        let upstream = self.upstream_of(self.account(), older).await?;
        let live = upstream.live().await;
        let live = live.map_err(|error| failure(&self.name, error))?;
        Ok(live.peer().clone())
    }

    /// Follows a resource on the line of all callers of an era, for one more who wants it.
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
        // Whatever keeps it from being followed there: the next who wants it asks again.
        let forget = Forget(self, &key);
        let upstream = self.upstream_of(self.account(), older).await?;
        let done = upstream.subscribe(uri, &hooks).await;
        done.map_err(|error| failure(&self.name, error))?;
        std::mem::forget(forget);
        Ok(())
    }

    /// One who followed a resource does so no more.
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
            let _ = upstream.unsubscribe(uri, &Hooks::default()).await; // it goes with the connection
        }
    }

    /// The account by which its tools are known: the first there is.
    fn account(&self) -> Option<ConnectionId> {
        let all = self.ground.desk.all();
        let first = all.iter().find(|one| one.service == self.service());
        first.map(|one| one.id)
    }

    /// Ends the lines of a conversation.
    pub fn hang_up(&self, name: &str) {
        let mut lines = self.lines.lock().expect("no panic while held");
        lines.retain(|(line, _), _| line != name);
    }

    /// Notes whether an account worked.
    async fn mark(&self, choice: &Choice, result: &Result<Value, ToolError>) {
        let desk = &self.ground.desk;
        match result {
            Ok(_) => desk.mark(choice.id, ConnectionStatus::Connected, "").await,
            Err(error) if error.code == ErrorCode::Unavailable => {
                desk.mark(choice.id, ConnectionStatus::Error, &error.message)
                    .await;
            }
            Err(_) => {}
        }
    }

    pub(super) async fn credentials(
        &self,
        choice: Option<&Choice>,
    ) -> Result<Vec<(manyhands_guard::HeaderName, manyhands_core::Secret)>, ToolError> {
        let keys = match choice {
            Some(choice) => self.ground.desk.keys(choice.id).await?,
            None => launch::Keys::new(),
        };
        let login = choice.and_then(|choice| self.login(choice.id, &keys));
        let keys = if login.is_some() {
            launch::Keys::new()
        } else {
            keys
        };
        let mut headers =
            launch::headers(&self.name, &self.config, &keys, &self.ground.vault).await?;
        if let Some(login) = login {
            let shown = login.headers().await;
            headers.extend(shown.map_err(|error| failure(&self.name, error))?);
        }
        Ok(headers)
    }

    /// Who an account is towards the server, where that is a matter of OAuth.
    fn login(&self, account: ConnectionId, keys: &launch::Keys) -> Option<Arc<dyn Credentials>> {
        let oauth = &self.ground.oauth;
        oauth.credentials(&self.name, &self.config, account, keys)
    }

    /// The connection to it by one account, opened when it is first used.
    pub async fn upstream(&self, account: Option<ConnectionId>) -> Result<Upstream, ToolError> {
        let found = |open: &BTreeMap<_, Upstream>| open.get(&account).cloned();
        if let Some(upstream) = found(&self.open.lock().expect("no panic while held")) {
            return Ok(upstream);
        }
        Box::pin(self.reach(account)).await
    }

    /// How it is reached by one account.
    pub(super) async fn described(
        &self,
        account: Option<ConnectionId>,
    ) -> Result<Described, ToolError> {
        let keys = match account {
            Some(id) => self.ground.desk.keys(id).await?,
            None => launch::Keys::new(),
        };
        let login = account.and_then(|id| self.login(id, &keys));
        // What belongs to a login is shown by the login alone.
        let keys = if login.is_some() {
            launch::Keys::new()
        } else {
            keys
        };
        let ground = &self.ground;
        let transport = launch::transport(
            &self.name,
            &self.config,
            &keys,
            &ground.host,
            &ground.vault,
            &ground.home,
        )
        .await?;
        let mut described = Described::new(self.name.as_str(), transport);
        described.timeouts.call = Duration::from_secs(self.config.timeout);
        described.bounds.private = MAX_LINES;
        described.asks = self.config.asks;
        if let Some(login) = login {
            described.credentials = login;
        }
        Ok(described)
    }

    async fn reach(&self, account: Option<ConnectionId>) -> Result<Upstream, ToolError> {
        let ground = &self.ground;
        let described = self.described(account).await?;
        let fresh = Upstream::new(described, ground.upstream.clone());
        let mut open = self.open.lock().expect("no panic while held");
        if let Some(upstream) = open.get(&account) {
            return Ok(upstream.clone()); // somebody was faster
        }
        if open.len() >= MAX_OPEN {
            let message = format!("{MAX_OPEN} connections of {} are open already", self.name);
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
        // Whoever looks after the servers hears of it; when too much is told at once, later.
        let _ = ground.opened.try_send((self.name.clone(), fresh.changes()));
        open.insert(account, fresh.clone());
        Ok(fresh)
    }

    /// Ends the connection by one account, so that the next use sees its new credentials.
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
        if let Some(Known::Spoken(upstream)) = older {
            upstream.stop().await;
        }
    }

    /// Ends the connection without an account where it does not work: that it is refused, from before
    /// there was an account, says nothing of the server any more.
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

    /// Ends everything that it runs.
    pub(super) async fn stop(&self) {
        let open = std::mem::take(&mut *self.open.lock().expect("no panic while held"));
        self.lines.lock().expect("no panic while held").clear();
        for upstream in open.into_values() {
            upstream.stop().await;
        }
        for known in std::mem::take(&mut *self.older.lock().await).into_values() {
            if let Known::Spoken(upstream) = known {
                upstream.stop().await;
            }
        }
    }

    /// Asks it for its tools, and holds them against the record. Whether anything changed.
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

    /// Tries an account, and notes whether it works.
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
        let desk = &self.ground.desk;
        match tried {
            Ok(()) => desk.mark(account, ConnectionStatus::Connected, "").await,
            Err(error) => {
                desk.mark(account, ConnectionStatus::Error, &error.text())
                    .await
            }
        }
    }

    /// Its tools as it defines them now, and where a service that is a document is.
    async fn listed(&self) -> Result<(Vec<Value>, Option<String>), ToolError> {
        if self.config.openapi.is_some() {
            let listed = self.document().await?;
            return Ok((listed.definitions, listed.server));
        }
        let upstream = self.upstream(self.account()).await?;
        // What is offered only to those who can be asked belongs to it too: some callers can.
        let hooks = Hooks {
            capabilities: Some(all_capabilities()),
            ..Hooks::default()
        };
        let listed = upstream.list_tools(&hooks).await;
        let mut listed = listed.map_err(|error| failure(&self.name, error))?;
        for definition in listed.iter_mut().filter_map(Value::as_object_mut) {
            definition.remove(REQUEST); // the gateway's own word, no server's
        }
        Ok((listed, None))
    }

    /// Takes on what is held of one tool, or of all.
    pub(super) async fn accept(&self, wanted: &Wanted<'_>) -> Result<Vec<String>, ToolError> {
        let _one = self.looking.lock().await;
        let mut pins = (*self.pins()).clone();
        let accepted = pinning::accept(&mut pins, wanted);
        if !accepted.is_empty() {
            self.keep(pins).await?;
        }
        Ok(accepted)
    }

    async fn keep(&self, pins: Vec<Pin>) -> Result<(), ToolError> {
        let (records, now) = (&self.ground.pins, self.ground.clock.now());
        let kept = records.put(self.name.as_str(), &pins, now).await;
        kept?;
        let pins = Arc::new(pins);
        let offer = Offer::aside(&self.name, &self.config, &pins).await;
        *self.offer.lock().expect("no panic while held") = Arc::new(offer);
        *self.pins.lock().expect("no panic while held") = pins;
        Ok(())
    }
}
