//! Settings of chat channels.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use manyhands_core::{AgentId, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chats: which platforms the gateway speaks, and who may speak to its agents there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Telegram: `token` is the bot's.
    pub telegram: Channel,
    /// Slack: `token` is the bot's (`xoxb-`), `app_token` the app's (`xapp-`) for `mode = "socket"`,
    /// `secret` the signing secret for `mode = "webhook"`.
    pub slack: Channel,
    /// LINE: `token` is the channel access token, `secret` the channel secret.
    pub line: Channel,
    /// Discord: `token` is the bot's.
    pub discord: Channel,
    /// WhatsApp Cloud API: `token` is the system user's, `secret` the app secret, `verify_token` what
    /// you typed in where the webhook is set up, `number` the phone number id.
    pub whatsapp: Channel,
    /// Other services by a name of your choice, each carried over the socket by a program of yours, a
    /// bridge. `manyhands channel bridge NAME` makes one.
    #[schemars(with = "BTreeMap<String, Channel>", extend("x-mask" = "names"))]
    pub bridges: BTreeMap<BridgeName, Channel>,
    /// Turning voice messages into text.
    pub transcription: Transcription,
    /// The largest file that is taken in, in bytes.
    #[schemars(range(min = 1, max = 104_857_600))]
    pub media_bytes: u64,
    /// Send a message once more when it is not known whether it arrived. It then may arrive twice;
    /// without this it may not arrive at all. Either way it is shown in `manyhands outbox`.
    pub resend_unknown: bool,
    /// Hours that a message is tried before it counts as failed.
    #[schemars(range(min = 1, max = 168))]
    pub retry_hours: u32,
    /// Days that messages are on record after they were worked on or sent, and that strangers may wait
    /// to be known. What did not arrive is shown in `manyhands outbox` that long.
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
            media_bytes: 20 * 1024 * 1024,
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
    /// Who may write directly: `pairing` (unknown people get a code that you approve), `allowlist`
    /// (`allow_from` and those you approved), or `open` (everybody).
    pub dm: DmPolicy,
    /// People who may write, by id or `@handle`.
    pub allow_from: Vec<String>,
    /// Groups: `mention` (those who may write directly are answered when they call the bot),
    /// `members` (everybody in a group of `allow_groups` is, when they call it), `all` (every message
    /// of the groups of `allow_groups` is), or `off`.
    pub groups: GroupPolicy,
    /// Groups and channels by id, for `members` and `all`.
    pub allow_groups: Vec<String>,
    /// The tools that agents may use for people who are not the owner, of those the agent has; `*` for
    /// any run of characters.
    pub tools: Vec<Pattern>,
    /// Tools of single people, by id or `@handle`, in place of `tools`.
    #[schemars(extend("x-mask" = "names"))]
    pub senders: BTreeMap<String, Sender>,
    /// The agent that answers.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// Agents for single chats, by the chat's id.
    #[schemars(with = "BTreeMap<String, String>")]
    pub chats: BTreeMap<String, AgentId>,
    /// Show an answer while it is being written, where the platform can change messages.
    pub stream: bool,
    /// Accounts by a name of your choice; most have one, called `default`.
    #[schemars(extend("x-mask" = "names"))]
    pub accounts: BTreeMap<String, ChannelAccount>,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            dm: DmPolicy::Pairing,
            allow_from: Vec::new(),
            groups: GroupPolicy::Mention,
            allow_groups: Vec::new(),
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

/// Who may write directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DmPolicy {
    /// Whoever was approved.
    Pairing,
    /// Whoever is listed or was approved; others are not even told.
    Allowlist,
    /// Everybody.
    Open,
}

/// Who is answered in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    /// Whoever may write directly, when they call the bot.
    Mention,
    /// Everybody in the listed groups, when they call the bot.
    Members,
    /// Everybody in the listed groups, always.
    All,
    /// Nobody.
    Off,
}

/// What one person may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sender {
    /// The tools that agents may use for them.
    pub tools: Vec<Pattern>,
}

/// One account on a platform. `manyhands channel login` fills it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelAccount {
    /// Whether it is used.
    pub enabled: bool,
    /// How events come: `poll` (Telegram), `socket` (Slack, Discord) or `webhook`; the first that the
    /// platform has unless said. Webhooks need `public_url`.
    pub mode: Option<ChannelMode>,
    /// The token, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub token: Option<String>,
    /// The app's token (Slack), as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub app_token: Option<String>,
    /// The secret by which webhooks are known to be the platform's, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub secret: Option<String>,
    /// What WhatsApp shows when the webhook is set up, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub verify_token: Option<String>,
    /// The phone number id (WhatsApp).
    pub number: Option<String>,
    /// The address of the platform's interface, where it is not the platform's own, such as that of a
    /// Bot API server of yours.
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub api_url: Option<String>,
    /// The address from which files come (LINE), where it is not the platform's own.
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

/// How events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelMode {
    /// The gateway asks again and again.
    Poll,
    /// Over a socket that the gateway opens.
    Socket,
    /// The platform calls the gateway.
    Webhook,
}

/// Turning voice messages into text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transcription {
    /// Which of `models.providers` does it, at its `/audio/transcriptions` (OpenAI's way, which
    /// whisper.cpp, LocalAI and speaches have too). Without one, a model is only told that there is a recording.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The language that is spoken, such as `en`; found out unless said.
    pub language: Option<String>,
}

impl Channels {
    /// The platforms that the gateway speaks itself.
    pub const SPOKEN: [&str; 5] = ["telegram", "slack", "line", "discord", "whatsapp"];

    /// All platforms by name.
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
        Self::SPOKEN.into_iter().zip(own).chain(bridges)
    }

    /// One platform.
    pub fn get(&self, name: &str) -> Option<&Channel> {
        let mut all = self.all();
        all.find(|(one, _)| *one == name)
            .map(|(_, channel)| channel)
    }

    /// Whether a bridge carries it.
    pub fn is_bridge(&self, name: &str) -> bool {
        self.bridges.contains_key(name)
    }

    /// Where the settings of a platform are.
    pub fn path(&self, name: &str) -> String {
        match self.is_bridge(name) {
            true => format!("channels.bridges.{name}"),
            false => format!("channels.{name}"),
        }
    }
}

/// What a service is called that a bridge carries: 1 to 32 of a-z, 0-9 and -, and none of those that
/// the gateway speaks itself.
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
            return Err("the name of a bridge is 1 to 32 of a-z, 0-9 and -".to_owned());
        }
        if Channels::SPOKEN.contains(&name.as_str()) {
            return Err(format!(
                "the gateway speaks {name} itself: use `manyhands channel login {name}`, or another name"
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
