//! `telegram_send_voice`

use manyhands_channels::FileKind;
use manyhands_core::{CallContext, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registration::{Registration, always, typed};
use crate::telegram::{Output, Sending, Telegram, in_telegram};

/// Send a Telegram voice message from a local voice file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Target Telegram chat_id. Required if there is no active chat context; it must be a chat in which somebody has written before.
    chat_id: Option<i64>,
    /// Local voice file path (recommended .ogg/Opus): absolute or relative under `file_cache_dir`. At most 20 MiB.
    #[schemars(length(min = 1))]
    path: String,
    /// File name displayed in Telegram; the file's own name by default.
    #[schemars(length(min = 1, max = 200))]
    filename: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "telegram_send_voice",
    enabled: always,
    build: |deps| {
        typed(TelegramSendVoice {
            telegram: Telegram::new(deps),
            outside: deps.has_account("telegram"),
        })
    },
};

struct TelegramSendVoice {
    telegram: Telegram,
    /// Whether an account exists, so that a chat can be named from outside of chats.
    outside: bool,
}

impl TypedTool for TelegramSendVoice {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        in_telegram(super::spec(TOOL.name)).outside_chats(self.outside)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let sending = Sending {
            chat: params.chat_id,
            path: &params.path,
            filename: params.filename.as_deref(),
            caption: None,
            form: FileKind::Voice,
        };
        Ok(Outcome::of(&self.telegram.send(sending, context).await?)?.clean(true))
    }
}
