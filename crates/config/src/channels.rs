//! Settings of chat channels.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use manyhands_core::{AgentId, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chat platforms, and who may message the agents there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Telegram: `token` is the bot token.
    pub telegram: Channel,
    /// Slack: `token` is the bot token (`xoxb-`), `app_token` the app token (`xapp-`) for `mode = "socket"`,
    /// `secret` the signing secret for `mode = "webhook"`.
    pub slack: Channel,
    /// LINE: `token` is the channel access token, `secret` the channel secret.
    pub line: Channel,
    /// Discord: `token` is the bot token.
    pub discord: Channel,
    /// WhatsApp Cloud API: `token` is the system user's token, `secret` the app secret, `verify_token` the token entered
    /// where the webhook is set up, `number` the phone number id.
    pub whatsapp: Channel,
    /// Other services by a name of your choice, each connected by a bridge program of your own over the WebSocket.
    /// Create one with `manyhands channel bridge NAME`.
    #[schemars(with = "BTreeMap<String, Channel>", extend("x-mask" = "names"))]
    pub bridges: BTreeMap<BridgeName, Channel>,
    /// Transcription of voice messages.
    pub transcription: Transcription,
    /// Maximum size of an incoming file, in bytes.
    #[schemars(range(min = 1, max = 104_857_600))]
    pub media_bytes: u64,
    /// Resend a message if it is unknown whether it was delivered. It may then be delivered twice; without this it
    /// may be lost. Either way it is shown in `manyhands outbox`.
    pub resend_unknown: bool,
    /// Hours that sending a message is retried before it fails.
    #[schemars(range(min = 1, max = 168))]
    pub retry_hours: u32,
    /// Days that processed and sent messages are retained, and that pairing requests stay open. Undelivered messages
    /// are shown in `manyhands outbox` for that long.
    #[schemars(range(min = 7, max = 3_650))]
    pub kept_days: u32,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            telegram: Channel::default(),
            slack: Channel::default(),
            line: Channel::default(),
            discord: Channel::default(),
            whatsapp: Channel::default(),
            bridges: BTreeMap::new(),
            transcription: Transcription::default(),
            // The limit of Telegram's Bot API for downloads.
            media_bytes: 20 * 1024 * 1024,
            // A lost message is worse than a repeated one.
            resend_unknown: true,
            retry_hours: 24,
            kept_days: 30,
        }
    }
}

/// One platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Channel {
    /// Who may send direct messages: `pairing` (unknown people get a code that you approve), `allowlist`
    /// (`allow_from` and approved people), or `open` (everybody).
    pub dm: DmPolicy,
    /// People who may send direct messages, by id or `@handle`.
    pub allow_from: Vec<String>,
    /// Groups: `mention` (people who may send direct messages get a reply when they mention the bot),
    /// `members` (everybody in the groups of `allow_groups` does, when they mention it), `all` (every message in the
    /// groups of `allow_groups` gets one), or `off`.
    pub groups: GroupPolicy,
    /// Groups and channels by id, for `members` and `all`.
    pub allow_groups: Vec<String>,
    /// Tools that agents may use for people other than the owner, of those the agent has; `*` matches any characters.
    pub tools: Vec<Pattern>,
    /// Tools for single people, by id or `@handle`, instead of `tools`.
    #[schemars(extend("x-mask" = "names"))]
    pub senders: BTreeMap<String, Sender>,
    /// The agent that replies.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// Agents for single chats, by chat id.
    #[schemars(with = "BTreeMap<String, String>")]
    pub chats: BTreeMap<String, AgentId>,
    /// Show a reply while it is being written, on platforms that can edit messages.
    pub stream: bool,
    /// Accounts by a name of your choice; usually one, named `default`.
    #[schemars(extend("x-mask" = "names"))]
    pub accounts: BTreeMap<String, ChannelAccount>,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            // Strangers must not reach an agent with the owner's tools.
            dm: DmPolicy::Pairing,
            allow_from: Vec::new(),
            groups: GroupPolicy::Mention,
            allow_groups: Vec::new(),
            // Tools that neither read the owner's data nor act on the owner's behalf.
            tools: ["message_react", "plan_create", "web_search"]
                .map(Pattern::new)
                .to_vec(),
            senders: BTreeMap::new(),
            agent: AgentId::main(),
            chats: BTreeMap::new(),
            stream: true,
            accounts: BTreeMap::new(),
        }
    }
}

/// Who may send direct messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DmPolicy {
    /// Approved people.
    Pairing,
    /// Listed and approved people; others get no reply at all.
    Allowlist,
    /// Everybody.
    Open,
}

/// Who gets a reply in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    /// People who may send direct messages, when they mention the bot.
    Mention,
    /// Everybody in the listed groups, when they mention the bot.
    Members,
    /// Everybody in the listed groups, always.
    All,
    /// Nobody.
    Off,
}

/// Settings of one person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sender {
    /// Tools that agents may use for this person.
    pub tools: Vec<Pattern>,
}

/// One account on a platform. `manyhands channel login` creates it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelAccount {
    /// Enable the account.
    pub enabled: bool,
    /// Delivery mode: `poll` (Telegram), `socket` (Slack, Discord) or `webhook`. Default: the first the platform
    /// supports. Webhooks need `public_url`.
    pub mode: Option<ChannelMode>,
    /// The token, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub token: Option<String>,
    /// The app token (Slack), as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub app_token: Option<String>,
    /// Secret that authenticates webhooks, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub secret: Option<String>,
    /// Token that WhatsApp sends when the webhook is set up, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub verify_token: Option<String>,
    /// Phone number id (WhatsApp).
    pub number: Option<String>,
    /// URL of the platform's API, if not the official one, such as your own Bot API server.
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub api_url: Option<String>,
    /// URL for downloading files (LINE), if not the official one.
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub data_url: Option<String>,
}

impl Default for ChannelAccount {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: None,
            token: None,
            app_token: None,
            secret: None,
            verify_token: None,
            number: None,
            api_url: None,
            data_url: None,
        }
    }
}

/// How events are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelMode {
    /// The gateway polls the platform.
    Poll,
    /// Over a WebSocket opened by the gateway.
    Socket,
    /// The platform calls the gateway.
    Webhook,
}

/// Transcription of voice messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transcription {
    /// Which of `models.providers` transcribes, at its `/audio/transcriptions` (OpenAI's API, also provided by
    /// whisper.cpp, LocalAI and speaches). Without one, the model is only told that there is a recording.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Spoken language, such as `en`. Default: detected.
    pub language: Option<String>,
}

impl Channels {
    /// Platforms with built-in support.
    pub const BUILT_IN: [&str; 5] = ["telegram", "slack", "line", "discord", "whatsapp"];

    /// Returns all platforms by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Channel)> {
        let own = [
            &self.telegram,
            &self.slack,
            &self.line,
            &self.discord,
            &self.whatsapp,
        ];
        let bridges = self.bridges.iter();
        let bridges = bridges.map(|(name, channel)| (name.as_str(), channel));
        Self::BUILT_IN.into_iter().zip(own).chain(bridges)
    }

    /// Returns one platform.
    pub fn get(&self, name: &str) -> Option<&Channel> {
        let mut all = self.all();
        all.find(|(one, _)| *one == name)
            .map(|(_, channel)| channel)
    }

    /// Returns whether the platform is served by a bridge.
    pub fn is_bridge(&self, name: &str) -> bool {
        self.bridges.contains_key(name)
    }

    /// Dotted path of a platform's settings.
    pub fn path(&self, name: &str) -> String {
        match self.is_bridge(name) {
            true => format!("channels.bridges.{name}"),
            false => format!("channels.{name}"),
        }
    }
}

/// Name of a bridged service: 1 to 32 of a-z, 0-9 and -, and not that of a built-in platform.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BridgeName(String);

impl BridgeName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BridgeName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            return Err("the name of a bridge must be 1 to 32 of a-z, 0-9 and -".to_owned());
        }
        // A bridge with such a name would shadow the platform's own settings.
        if Channels::BUILT_IN.contains(&name.as_str()) {
            return Err(format!(
                "{name} is a built-in platform: use `manyhands channel login {name}`, or another name"
            ));
        }
        Ok(Self(name))
    }
}

impl From<BridgeName> for String {
    fn from(name: BridgeName) -> Self {
        name.0
    }
}

impl Borrow<str> for BridgeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}
