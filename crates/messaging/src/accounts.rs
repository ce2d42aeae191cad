//! Creates the channels of accounts from the settings and the vault.

use std::sync::Arc;

use manyhands_channels::{BotIdentity, Channel, discord, line, slack, telegram, whatsapp};
use manyhands_config::{ChannelAccount, ChannelMode, Settings};
use manyhands_core::{Clock, ErrorCode, Ids, Secret, ToolError};
use manyhands_guard::Egress;
use manyhands_store::Vault;
use url::Url;

use super::Chats;

/// What a channel is created from.
pub(super) struct Making<'a> {
    pub(super) settings: &'a Settings,
    pub(super) vault: &'a Vault,
    pub(super) egress: Arc<Egress>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Ids,
}

impl Making<'_> {
    /// Creates the channel of an account. The error names the missing setting and the remedy.
    pub(super) async fn make(
        &self,
        channel: &str,
        name: &str,
        account: &ChannelAccount,
    ) -> Result<Arc<dyn Channel>, String> {
        let at = |key: &str| format!("channels.{channel}.accounts.{name}.{key}");
        let secret = async |key: &str, said: &Option<String>| -> Result<Secret, String> {
            let said = said.as_deref().and_then(|said| said.strip_prefix("vault:"));
            let Some(named) = said else {
                let how = format!("set it with `manyhands channel login {channel}`");
                return Err(format!("{} is not set; {how}", at(key)));
            };
            let found = self.vault.get(named).await.map_err(|e| e.to_string())?;
            found.ok_or_else(|| {
                let path = at(key);
                format!("the vault has no {named}, which {path} names; `manyhands secret set {named}` stores it")
            })
        };
        let url = |key: &str, said: &Option<String>, own: &str| -> Result<Url, String> {
            let text = said.as_deref().unwrap_or(own);
            Url::parse(text).map_err(|e| format!("{}: {e}", at(key)))
        };
        let (egress, clock, ids) = (self.egress.clone(), self.clock.clone(), self.ids.clone());
        let token = secret("token", &account.token).await?;
        let name = name.to_owned();
        Ok(match channel {
            "telegram" => {
                let mode = match account.mode.unwrap_or(ChannelMode::Poll) {
                    ChannelMode::Webhook => telegram::UpdateDelivery::Webhook {
                        secret: secret("secret", &account.secret).await?,
                        url: self.hook(channel, &name)?,
                    },
                    _ => telegram::UpdateDelivery::Poll,
                };
                let account = telegram::TelegramAccount {
                    name,
                    token,
                    mode,
                    api: url("api_url", &account.api_url, telegram::API)?,
                };
                Arc::new(telegram::Telegram::new(account, egress, clock, ids))
            }
            "slack" => {
                let mode = match account.mode.unwrap_or(ChannelMode::Socket) {
                    ChannelMode::Webhook => slack::EventDelivery::Events {
                        signing_secret: secret("secret", &account.secret).await?,
                    },
                    _ => slack::EventDelivery::Socket {
                        app_token: secret("app_token", &account.app_token).await?,
                    },
                };
                let account = slack::SlackAccount {
                    name,
                    token,
                    mode,
                    api: url("api_url", &account.api_url, slack::API)?,
                };
                Arc::new(slack::Slack::new(account, egress, clock, ids))
            }
            "line" => {
                let account = line::LineAccount {
                    webhook: self.hook(channel, &name).ok(),
                    name,
                    secret: secret("secret", &account.secret).await?,
                    token,
                    api: url("api_url", &account.api_url, line::API)?,
                    data: url("data_url", &account.data_url, line::DATA)?,
                };
                Arc::new(line::LineChannel::new(account, egress, clock, ids))
            }
            "discord" => {
                let files = match &account.data_url {
                    Some(_) => vec![url("data_url", &account.data_url, "")?],
                    None => discord::FILES
                        .iter()
                        .map(|own| url("data_url", &None, own))
                        .collect::<Result<_, _>>()?,
                };
                let account = discord::DiscordAccount {
                    name,
                    token,
                    api: url("api_url", &account.api_url, discord::API)?,
                    files,
                };
                Arc::new(discord::Discord::new(account, egress, clock, ids))
            }
            "whatsapp" => {
                let number = account.number.clone();
                let account = whatsapp::WhatsAppAccount {
                    name,
                    token,
                    secret: secret("secret", &account.secret).await?,
                    verify: secret("verify_token", &account.verify_token).await?,
                    phone: number.ok_or_else(|| format!("{} is not set", at("number")))?,
                    api: url("api_url", &account.api_url, whatsapp::API)?,
                    version: whatsapp::VERSION.to_owned(),
                    media: url("data_url", &account.data_url, whatsapp::MEDIA)?,
                };
                Arc::new(whatsapp::WhatsApp::new(account, egress, clock, ids))
            }
            other => return Err(format!("there is no channel {other}")),
        })
    }

    /// The webhook URL.
    fn hook(&self, channel: &str, name: &str) -> Result<Url, String> {
        let public = self.settings.public_url.as_deref().ok_or(
            "public_url is not set: a webhook needs an address at which the platform reaches the gateway",
        )?;
        let text = format!("{}/hooks/{channel}/{name}", public.trim_end_matches('/'));
        Url::parse(&text).map_err(|e| format!("public_url: {e}"))
    }
}

impl Chats {
    /// Returns the bot identity of an account, or why the platform rejects it.
    pub async fn try_account(
        &self,
        channel: &str,
        account: &str,
        own: &ChannelAccount,
    ) -> Result<BotIdentity, ToolError> {
        let wrong = |why: String| ToolError::new(ErrorCode::InvalidArguments, why);
        let made = self.make(channel, account, own).await.map_err(wrong)?;
        made.me().await.map_err(|error| {
            let message = format!("{channel} rejected the credentials: {error}");
            ToolError::new(ErrorCode::Failed, message)
        })
    }
}
