//! `telegram_send_file`

use manyhands_channels::FileKind;
use manyhands_core::{CallContext, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registration::{Registration, always, typed};
use crate::telegram::{Output, Sending, Telegram, in_telegram};

/// Send a local cached file (document) to the current Telegram chat.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Local file path: absolute or relative under `file_cache_dir`, also as `file_cache_dir/<path>`. At most 20 MiB.
    #[schemars(length(min = 1))]
    path: String,
    /// File name displayed in Telegram; the file's own name by default.
    #[schemars(length(min = 1, max = 200))]
    filename: Option<String>,
    /// Optional file caption.
    caption: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "telegram_send_file",
    enabled: always,
    build: |deps| typed(TelegramSendFile(Telegram::new(deps))),
};

struct TelegramSendFile(Telegram);

impl TypedTool for TelegramSendFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        in_telegram(super::spec(TOOL.name))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let sending = Sending {
            chat: None,
            path: &params.path,
            filename: params.filename.as_deref(),
            caption: params.caption,
            form: FileKind::Document,
        };
        Ok(Outcome::of(&self.0.send(sending, context).await?)?.clean(true))
    }
}
