//! Credentials of chat accounts: login and logout.

use manyhands_channels::BotIdentity;
use manyhands_config::{BridgeName, ChannelAccount, ChannelMode};
use manyhands_core::{Caller, ErrorCode, Role, Secret, TokenId, ToolError};
use manyhands_store::TokenRecord;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::NewToken;
use crate::gateway::Gateway;

/// Longest account name.
const MAX_NAME: usize = 32;

/// The credentials of a chat account. Secrets go into the vault; the settings only refer to them.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Credentials {
    /// Bot token.
    pub token: Option<String>,
    /// Slack: app-level token.
    pub app_token: Option<String>,
    /// Secret that authenticates webhooks.
    pub secret: Option<String>,
    /// WhatsApp: the verify token entered when the webhook was set up.
    pub verify_token: Option<String>,
    /// WhatsApp: the phone number id.
    pub number: Option<String>,
    /// Delivery mode: `poll`, `socket` or `webhook`.
    pub mode: Option<ChannelMode>,
}

impl Gateway {
    /// Stores the credentials of an account, tests them, and starts the account.
    pub async fn login_channel(
        &self,
        caller: &Caller,
        channel: &str,
        account: &str,
        given: Credentials,
    ) -> Result<BotIdentity, ToolError> {
        let settings = self.settings.current();
        let said = settings
            .channels
            .get(channel)
            .ok_or_else(|| no_such(channel))?;
        if settings.channels.is_bridge(channel) {
            let message = format!("{channel} is served by a bridge, which logs in itself");
            return Err(ToolError::parameter("channel", message));
        }
        check_account(account)?;
        let mut own = said.accounts.get(account).cloned().unwrap_or_default();
        own.enabled = true;
        own.mode = given.mode.or(own.mode);
        own.number = given.number.or(own.number);
        let mut kept: Vec<(String, Option<Secret>)> = Vec::new();
        for (what, value, place) in [
            ("token", given.token, &mut own.token),
            ("app_token", given.app_token, &mut own.app_token),
            ("secret", given.secret, &mut own.secret),
            ("verify_token", given.verify_token, &mut own.verify_token),
        ] {
            if let Some(value) = value.map(|value| value.trim().to_owned()) {
                if value.is_empty() {
                    return Err(ToolError::parameter(what, "must not be empty"));
                }
                let name = format!("channel.{channel}.{account}.{what}");
                *place = Some(format!("vault:{name}"));
                kept.push((name, Some(Secret::new(value))));
            }
        }
        // Stored before the test: from here on the redactor keeps them out of errors.
        let before = self.exchange_secrets(kept).await?;
        let me = match self.chats().try_account(channel, account, &own).await {
            Ok(me) => me,
            Err(refused) => {
                // Invalid credentials must not replace working ones.
                self.exchange_secrets(before).await?;
                return Err(refused);
            }
        };
        let path = format!("channels.{channel}.accounts.{account}");
        self.activate_account(caller, channel, account, &path, written(&own))
            .await?;
        Ok(me)
    }

    /// Writes an account into the settings and restarts it.
    async fn activate_account(
        &self,
        caller: &Caller,
        channel: &str,
        account: &str,
        path: &str,
        value: Value,
    ) -> Result<(), ToolError> {
        // Stopped first: two listeners with one token would steal each other's messages.
        self.chats().put_aside(channel, account).await?;
        let set = self.set_local(caller, path, Some(value)).await;
        self.chats().take_over().await;
        set.map(drop)
    }

    /// Creates an account served by a bridge. Returns a token if the bridge has none yet.
    pub async fn make_bridge(
        &self,
        caller: &Caller,
        channel: &str,
        account: &str,
    ) -> Result<Option<Secret>, ToolError> {
        let wrong = |why| ToolError::parameter("channel", why);
        BridgeName::try_from(channel.to_owned()).map_err(wrong)?;
        check_account(account)?;
        let path = format!("channels.bridges.{channel}.accounts.{account}");
        let enabled = json!({ "enabled": true });
        self.activate_account(caller, channel, account, &path, enabled)
            .await?;
        if !self.bridge_tokens(channel).is_empty() {
            return Ok(None);
        }
        let new = NewToken {
            name: channel.to_owned(),
            role: Role::Channel,
            tools: Vec::new(),
            agents: Vec::new(),
            lifetime: None,
            browser: false,
        };
        let made = self.auth.create(new).await;
        let (_, token) = made?;
        Ok(Some(token))
    }

    /// The valid tokens of a bridge.
    fn bridge_tokens(&self, channel: &str) -> Vec<TokenId> {
        let now = self.clock.now();
        let all = self.auth.list().into_iter();
        let own = |token: &TokenRecord| token.role == Role::Channel && token.name == channel;
        let good = all.filter(|token| own(token) && token.is_live(now));
        good.map(|token| token.id).collect()
    }

    /// Sets or removes vault entries and returns their previous values.
    async fn exchange_secrets(
        &self,
        new: Vec<(String, Option<Secret>)>,
    ) -> Result<Vec<(String, Option<Secret>)>, ToolError> {
        let vault = self.store.vault();
        let mut before = Vec::with_capacity(new.len());
        for (name, value) in new {
            before.push((name.clone(), vault.get(&name).await?));
            let done = match &value {
                Some(value) => vault.set(&name, value).await,
                None => vault.remove(&name).await.map(drop),
            };
            done?;
        }
        self.redact_stored_secrets().await?;
        Ok(before)
    }

    /// Removes an account and its credentials. Messages waiting to be sent stay in the outbox.
    pub async fn logout_channel(
        &self,
        caller: &Caller,
        channel: &str,
        account: &str,
    ) -> Result<(), ToolError> {
        self.chats().must_exist(channel, account)?;
        let settings = self.settings.current();
        let path = format!("{}.accounts.{account}", settings.channels.path(channel));
        self.set_local(caller, &path, None).await?;
        let accounts = settings.channels.get(channel).map(|said| &said.accounts);
        // The last account of a bridge takes its tokens along: nothing is left for them to do.
        if settings.channels.is_bridge(channel) && accounts.is_none_or(|all| all.len() <= 1) {
            for token in self.bridge_tokens(channel) {
                let revoked = self.auth.revoke(token).await;
                revoked?;
            }
        }
        for what in ["token", "app_token", "secret", "verify_token"] {
            let name = format!("channel.{channel}.{account}.{what}");
            let removed = self.store.vault().remove(&name).await;
            removed?;
        }
        self.chats().take_over().await;
        Ok(())
    }
}

/// The account as it is written to the settings: only non-default values.
fn written(own: &ChannelAccount) -> Value {
    let mut value = json!(own);
    if let Some(table) = value.as_object_mut() {
        let is_default = |key: &str, value: &Value| {
            value.is_null() || (key == "enabled" && *value == json!(true))
        };
        table.retain(|key, value| !is_default(key, value));
    }
    value
}

fn check_account(account: &str) -> Result<(), ToolError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if account.is_empty() || account.len() > MAX_NAME || !account.chars().all(plain) {
        let message = "must be 1 to 32 of a-z, 0-9 and -";
        return Err(ToolError::parameter("accountId", message));
    }
    Ok(())
}

fn no_such(channel: &str) -> ToolError {
    let message = format!("unknown channel {channel:?}");
    ToolError::new(ErrorCode::NotFound, message)
        .hint("available: telegram, slack, line, discord and whatsapp; create others with `manyhands channel bridge NAME`")
}
