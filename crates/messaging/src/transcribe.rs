//! Transcribes voice messages through a configured provider.

use std::time::Duration;

use bytes::Bytes;
use manyhands_channels::{FormPart, multipart};
use manyhands_config::models::ProviderKind;
use manyhands_guard::{Egress, FetchLimits, HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use uuid::Uuid;

use super::Chats;

/// The longest time for a transcription.
const WITHIN: Duration = Duration::from_secs(120);
/// The longest transcript.
const MOST: u64 = 1024 * 1024;
/// The default endpoint.
const OPENAI: &str = "https://api.openai.com/v1";

#[derive(Deserialize)]
struct Transcript {
    text: String,
}

impl Chats {
    /// Whether transcription is configured.
    pub fn can_transcribe(&self) -> bool {
        let settings = self.0.settings.current();
        settings.channels.transcription.provider.is_some()
    }

    /// Returns the transcript of a recording; `None` if transcription is not configured. Servers tell the format from the
    /// ending of the file's name.
    pub async fn transcribe(
        &self,
        bytes: &Bytes,
        file: &str,
        mime: &str,
    ) -> Result<Option<String>, String> {
        let settings = self.0.settings.current();
        let said = &settings.channels.transcription;
        let Some(name) = &said.provider else {
            return Ok(None);
        };
        let provider = settings.models.providers.get(name);
        let provider = provider.ok_or_else(|| {
            format!(
                "channels.transcription.provider names {name}, which models.providers does not have"
            )
        })?;
        let base = match (&provider.base_url, provider.kind) {
            (Some(base), _) => base.clone(),
            (None, ProviderKind::Openai | ProviderKind::OpenaiResponses) => OPENAI.to_owned(),
            (None, _) => return Err(format!("models.providers.{name}.base_url is not set")),
        };
        let mut headers = HeaderMap::new();
        if let Some(key) = provider
            .api_key
            .as_deref()
            .and_then(|key| key.strip_prefix("vault:"))
        {
            let key = self
                .0
                .store
                .vault()
                .get(key)
                .await
                .map_err(|e| e.to_string())?;
            let key = key.ok_or_else(|| format!("the vault has no key for {name}"))?;
            let value = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
            let mut value = value
                .map_err(|_| "the key has characters that cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            headers.insert("authorization", value);
        }
        let model = said.model.clone().unwrap_or_else(|| "whisper-1".to_owned());
        let mut parts = vec![
            FormPart::file("file", file, mime, bytes.clone()),
            FormPart::field("model", model),
            FormPart::field("response_format", "json"),
        ];
        parts.extend(
            said.language
                .clone()
                .map(|language| FormPart::field("language", language)),
        );
        let boundary = format!("manyhands-{}", self.0.ids.next::<Uuid>().simple());
        let body = multipart(&boundary, &parts);
        let kind = format!("multipart/form-data; boundary={boundary}");
        let kind = HeaderValue::from_str(&kind).map_err(|e| e.to_string())?;
        headers.insert("content-type", kind);
        let base = format!("{}/", base.trim_end_matches('/'));
        let client = Egress::gateway(&base).map_err(|e| e.to_string())?;
        let limits = FetchLimits {
            total_timeout: Some(WITHIN),
            max_bytes: Some(MOST),
            max_redirects: None,
        };
        let answer = client
            .fetch(
                Method::POST,
                "audio/transcriptions",
                headers,
                Some(body),
                limits,
            )
            .await
            .map_err(|e| e.to_string())?;
        let status = answer.status;
        let body = answer.bytes().await.map_err(|e| e.to_string())?;
        if !status.is_success() {
            return Err(format!("{name} answered {status}"));
        }
        let transcript: Transcript = serde_json::from_slice(&body)
            .map_err(|_| format!("{name} did not return a transcript"))?;
        Ok(Some(transcript.text.trim().to_owned()))
    }
}
