//! `telegram_send_photo`

use manyhands_channels::FileKind;
use manyhands_core::{CallContext, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registration::{Registration, always, typed};
use crate::telegram::{Output, Sending, Telegram, in_telegram};

/// Send a local cached image to the current Telegram chat as an inline photo. Use `telegram_send_file` when the user should receive it as
/// a document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Local image path: absolute or relative under `file_cache_dir`, also as `file_cache_dir/<path>`. At most 20 MiB.
    #[schemars(length(min = 1))]
    path: String,
    /// Optional photo caption.
    caption: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "telegram_send_photo",
    enabled: always,
    build: |deps| typed(TelegramSendPhoto(Telegram::new(deps))),
};

struct TelegramSendPhoto(Telegram);

impl TypedTool for TelegramSendPhoto {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        in_telegram(super::spec(TOOL.name))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let sending = Sending {
            chat: None,
            path: &params.path,
            filename: None,
            caption: params.caption,
            form: FileKind::Photo,
        };
        Ok(Outcome::of(&self.0.send(sending, context).await?)?.clean(true))
    }
}
