//! Models behind any OpenAI-compatible URL: servers found on this machine, and endpoints that the owner adds.
//!
//! Over the network an endpoint is reached through the egress, so that a private address has to be in
//! `egress.allow_private`; on this machine only the well-known ports of model servers are. A key is only ever sent to
//! the URL it was given together with.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use manyhands_config::{Edit, KeyPath, Settings};
use manyhands_core::{Caller, ErrorCode, Secret, ToolError};
use manyhands_guard::{
    Egress, EgressError, FetchLimits, HeaderMap, HeaderValue, Method, Request, Response,
};
use manyhands_llm::ModelId;
use serde_json::{Value, json};
use url::{Host, Url};

use crate::gateway::Gateway;
use crate::provider_presets::{AddedProvider, AsDefault, KeyFate, check_key, provider_path};

/// Model servers that people run on their own machine, and the ports they use.
const LOCAL: [(&str, u16); 4] = [
    ("Ollama", 11434),
    ("LM Studio", 1234),
    ("llama.cpp", 8080),
    ("vLLM", 8000),
];
/// Timeout of one of them: it is there or it is not.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of listing the models of an endpoint.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of such a list.
const MAX_LIST: u64 = 16 * 1024 * 1024;
/// The most models of a list that are used.
const MAX_MODELS: usize = 2_000;

/// A model server on this machine.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// What it is.
    pub name: String,
    /// Its base URL.
    pub base_url: String,
    /// Its models.
    pub models: Vec<String>,
}

/// An endpoint to add.
pub struct NewEndpoint {
    /// Its base URL.
    pub base_url: String,
    /// Name of the provider; derived from the URL by default.
    pub name: Option<String>,
    /// Model id; the only one by default.
    pub model: Option<String>,
    /// API key, if it needs one.
    pub key: Option<Secret>,
    /// Whether the model becomes the default.
    pub default: AsDefault,
}

/// Checks a base URL and removes what clients append to it. The error says what is wrong with it.
pub fn base_url(given: &str) -> Result<String, String> {
    let url = match Url::parse(given.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        Ok(_) => return Err("must be an http or https URL".to_owned()),
        Err(error) => return Err(format!("is not a URL: {error}")),
    };
    // It would be stored, and shown, in plain text.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "must not contain a user name or password; the API key is given apart".to_owned(),
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not have a query or fragment".to_owned());
    }
    let whole = url.as_str().trim_end_matches('/');
    let whole = whole.strip_suffix("/chat/completions").unwrap_or(whole);
    Ok(whole.strip_suffix("/models").unwrap_or(whole).to_owned())
}

/// Whether a provider may have this name.
pub fn is_provider_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// A name for a provider: from its domain, or `local`; numbered if it is taken by another URL.
pub fn provider_name(base: &str, settings: &Settings) -> String {
    let url = Url::parse(base).ok();
    let word = match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(domain)) if domain.contains('.') => {
            let labels: Vec<&str> = domain.split('.').collect();
            labels[labels.len() - 2].to_owned()
        }
        _ => "local".to_owned(),
    };
    let is_free = |name: &str| match settings.models.providers.get(name) {
        None => true,
        Some(known) => is_at(known.base_url.as_deref(), base),
    };
    let mut names = (2..).map(|number| format!("{word}-{number}"));
    match is_free(&word) {
        true => word,
        false => names.find(|name| is_free(name)).unwrap_or(word),
    }
}

fn is_at(known: Option<&str>, base: &str) -> bool {
    known.map(|url| url.trim_end_matches('/')) == Some(base)
}

/// The ids in a list of models, sorted; `None` if it is not in OpenAI's format.
pub fn model_ids(body: &Value) -> Option<Vec<String>> {
    let listed = body["data"].as_array().or_else(|| body.as_array())?;
    let mut ids: Vec<String> = listed
        .iter()
        .filter_map(|one| Some(one["id"].as_str()?.to_owned()))
        .collect();
    ids.sort();
    ids.dedup();
    Some(ids)
}

/// The loopback URL of a well-known port; `None` if `url` is another.
fn local_port(url: &Url) -> Option<u16> {
    let is_loopback = match url.host()? {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
        Host::Domain(domain) => domain == "localhost",
    };
    let port = url.port_or_known_default()?;
    let known = LOCAL.iter().any(|(_, known)| *known == port);
    (is_loopback && known).then_some(port)
}

/// Lists what a server on a port of this machine offers, if one is there.
async fn probe(port: u16) -> Option<(Vec<String>, Option<String>)> {
    let client =
        Egress::gateway(&format!("http://{}:{port}", IpAddr::from([127, 0, 0, 1]))).ok()?;
    let limits = FetchLimits {
        total_timeout: Some(LOCAL_TIMEOUT),
        max_bytes: Some(MAX_LIST),
        ..FetchLimits::default()
    };
    let asked = client.fetch(Method::GET, "/v1/models", HeaderMap::new(), None, limits);
    let answer = asked.await.ok()?;
    if answer.status.as_u16() != 200 {
        return None;
    }
    let body: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
    let owner = body["data"][0]["owned_by"].as_str().map(str::to_owned);
    let mut models = model_ids(&body)?;
    models.truncate(MAX_MODELS);
    Some((models, owner))
}

/// Looks for model servers on this machine. Nothing but a list of models is requested, from well-known ports only.
pub async fn detect() -> Vec<FoundServer> {
    let probes = LOCAL.iter().map(async |(usual, port)| {
        let (models, owner) = probe(*port).await?;
        // Ports are only a habit; some servers say what they are.
        let name = match owner.as_deref() {
            Some("llamacpp") => "llama.cpp",
            Some("vllm") => "vLLM",
            _ => usual,
        };
        Some(FoundServer {
            name: name.to_owned(),
            base_url: format!("http://127.0.0.1:{port}/v1"),
            models,
        })
    });
    join_all(probes).await.into_iter().flatten().collect()
}

impl Gateway {
    /// Adds the provider behind a URL, or updates it with a new key or default. Runs to completion even if the caller
    /// stops waiting.
    pub async fn add_endpoint(
        self: &Arc<Self>,
        caller: &Caller,
        wanted: NewEndpoint,
    ) -> Result<AddedProvider, ToolError> {
        let (gateway, caller) = (self.clone(), caller.clone());
        // A task of its own: a client that disconnects must not stop it between the vault and the file.
        let adding = tokio::spawn(async move { gateway.adding_endpoint(&caller, wanted).await });
        adding
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
    }

    async fn adding_endpoint(
        &self,
        caller: &Caller,
        wanted: NewEndpoint,
    ) -> Result<AddedProvider, ToolError> {
        // One change at a time: each reads the vault and the file, then writes both.
        let _turn = self.model_registry.changing.lock().await;
        let given =
            base_url(&wanted.base_url).map_err(|why| ToolError::parameter("baseUrl", why))?;
        if let Some(key) = &wanted.key {
            check_key(key)?;
        }
        let (base, models) = self.list_endpoint(given, wanted.key.as_ref()).await?;
        let settings = self.settings.current();
        let name = match wanted.name {
            Some(name) if is_provider_name(&name) => name,
            Some(_) => {
                let message = "must have 1 to 64 of a-z, 0-9, - and _";
                return Err(ToolError::parameter("name", message));
            }
            None => provider_name(&base, &settings),
        };
        let known = settings.models.providers.get(&name).cloned();
        if known
            .as_ref()
            .is_some_and(|known| !is_at(known.base_url.as_deref(), &base))
        {
            let message = format!("a provider named {name} already exists at another URL");
            return Err(ToolError::new(ErrorCode::Conflict, message).hint("choose another name"));
        }
        let vault = self.store.vault();
        let before = vault.get(&name).await?;
        // It may belong to something else, and its value would be lost.
        if before.is_some() && wanted.key.is_some() && known.is_none() {
            let message = format!("the vault already has a secret named {name}");
            return Err(ToolError::new(ErrorCode::Conflict, message).hint("choose another name"));
        }
        let model = match (&wanted.model, models.as_slice()) {
            (Some(model), _) => Some(model.clone()),
            (None, [only]) => Some(only.clone()),
            (None, _) if wanted.default == AsDefault::Yes => {
                return Err(ToolError::parameter("model", "several models; name one"));
            }
            (None, _) => None,
        };
        let model = model
            .map(|model| format!("{name}/{model}").parse::<ModelId>())
            .transpose()
            .map_err(|e| ToolError::parameter("model", e.to_string()))?;
        let mut edits = Vec::new();
        let reference = wanted.key.as_ref().map(|_| format!("vault:{name}"));
        match &known {
            None => {
                let mut provider = json!({ "kind": "openai", "base_url": base });
                // Only a key given now: a secret that happens to have the provider's name was not meant for this URL.
                if let Some(key) = &reference {
                    provider["api_key"] = json!(key);
                }
                edits.push((provider_path(&name), Some(provider)));
            }
            // Whatever else the owner set for it stays.
            Some(known) if reference.is_some() && known.api_key != reference => {
                edits.push((
                    provider_path(&name).join("api_key"),
                    reference.map(Value::from),
                ));
            }
            Some(_) => {}
        }
        let default = match wanted.default {
            AsDefault::Yes => true,
            AsDefault::IfNone => settings.models.default.is_none(),
            AsDefault::No => false,
        };
        if let (true, Some(model)) = (default, &model) {
            let path = KeyPath::default().join("models").join("default");
            edits.push((path, Some(json!(model))));
        }
        // The key first: from here on it is redacted everywhere.
        if let Some(key) = &wanted.key {
            vault.set(&name, key).await?;
        }
        let edits = edits.into_iter().map(|(path, value)| Edit { path, value });
        let (edits, provider, unchanged) = (edits.collect::<Vec<_>>(), name.clone(), known.clone());
        let written = self.amend_models(move |now| {
            // The file may have changed since it was loaded, and it decides where the key is sent.
            match now.models.providers.get(&provider) == unchanged.as_ref() {
                true => Ok(edits),
                false => Err(ToolError::new(
                    ErrorCode::Conflict,
                    format!("the settings of {provider} in config.toml have just changed"),
                )
                .hint("retry")),
            }
        });
        if let Err(error) = self.learned(async { written.await.map(drop) }).await {
            if wanted.key.is_some() {
                self.put_back(&name, before.as_ref()).await;
            }
            return Err(error);
        }
        let about = format!("{name} at {base}");
        self.note(caller, "model.add", &about).await?;
        Ok(AddedProvider {
            provider: name,
            model,
            key: match (wanted.key, known.and_then(|known| known.api_key)) {
                (Some(_), _) => KeyFate::Stored,
                (None, Some(_)) => KeyFate::Kept,
                (None, None) => KeyFate::None,
            },
        })
    }

    /// The models of an endpoint, and the base URL below which they are.
    async fn list_endpoint(
        &self,
        mut base: String,
        key: Option<&Secret>,
    ) -> Result<(String, Vec<String>), ToolError> {
        loop {
            let (status, body) = self.get_models(&base, key).await?;
            let problem = match status {
                200 => {
                    let models = model_ids(&body).ok_or_else(|| {
                        let message =
                            format!("{base}/models does not list models in OpenAI's format");
                        ToolError::parameter("baseUrl", message)
                    })?;
                    return Ok((base, models));
                }
                // People copy the address that the server prints, without the path of its API.
                404 if !base.ends_with("/v1") => {
                    base.push_str("/v1");
                    continue;
                }
                401 | 403 => {
                    let message = match key {
                        None => "the endpoint needs an API key",
                        Some(_) => "the endpoint refused the API key",
                    };
                    ToolError::parameter("key", message)
                }
                _ => ToolError::parameter("baseUrl", format!("{base}/models: status {status}"))
                    .hint("give the URL below which /models and /chat/completions are"),
            };
            return Err(problem);
        }
    }

    async fn get_models(
        &self,
        base: &str,
        key: Option<&Secret>,
    ) -> Result<(u16, Value), ToolError> {
        let failed = |error: EgressError| {
            let failed = ToolError::parameter("baseUrl", error.to_string());
            match error {
                EgressError::Private { .. } => failed.hint(
                    "add the network to egress.allow_private, or run `manyhands models add --base-url` on the gateway's machine",
                ),
                _ => failed,
            }
        };
        let url = Url::parse(base).map_err(|e| ToolError::parameter("baseUrl", e.to_string()))?;
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
            let mut bearer =
                bearer.map_err(|_| ToolError::parameter("key", "contains invalid characters"))?;
            bearer.set_sensitive(true);
            headers.insert("authorization", bearer);
        }
        let limits = FetchLimits {
            total_timeout: Some(LIST_TIMEOUT),
            max_bytes: Some(MAX_LIST),
            // A redirect must not decide where the models are.
            max_redirects: Some(0),
        };
        let answer: Response = match local_port(&url) {
            Some(_) => {
                let client = Egress::gateway(base).map_err(failed)?;
                let path = format!("{}/models", url.path().trim_end_matches('/'));
                let asked = client.fetch(Method::GET, &path, headers, None, limits);
                asked.await.map_err(failed)?
            }
            None => {
                let request = Request {
                    headers,
                    limits,
                    ..Request::get(format!("{base}/models"))
                };
                self.tool_deps
                    .web
                    .egress()
                    .fetch(request)
                    .await
                    .map_err(failed)?
            }
        };
        let status = answer.status.as_u16();
        let body = answer.bytes().await.map_err(failed)?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_reduced_to_what_the_paths_are_added_to() {
        for given in [
            "http://127.0.0.1:8080/v1",
            " http://127.0.0.1:8080/v1/",
            "http://127.0.0.1:8080/v1/models",
            "http://127.0.0.1:8080/v1/chat/completions",
        ] {
            assert_eq!(base_url(given).unwrap(), "http://127.0.0.1:8080/v1");
        }
        for wrong in [
            "127.0.0.1:8080",
            "ftp://x/v1",
            "http://me:word@x/v1",
            "http://x/v1?key=1",
            "x",
        ] {
            let why = base_url(wrong).unwrap_err();
            assert!(!why.contains("word@"), "{why}");
        }
    }

    #[test]
    fn a_name_comes_from_the_domain() {
        let settings = Settings::default();
        for (url, name) in [
            ("https://api.mistral.ai/v1", "mistral"),
            ("http://127.0.0.1:8080/v1", "local"),
            ("http://localhost:1234/v1", "local"),
            ("http://[::1]:1/v1", "local"),
            ("https://openrouter.ai/api/v1", "openrouter"),
        ] {
            assert_eq!(provider_name(url, &settings), name, "{url}");
        }
        assert!(!is_provider_name("sk-ABC") && !is_provider_name("a/b"));
        assert!(is_provider_name("my-llm_2"));
    }

    #[test]
    fn models_are_read_from_openais_list() {
        let list =
            json!({ "object": "list", "data": [{ "id": "b" }, { "id": "a" }, { "id": "b" }] });
        assert_eq!(model_ids(&list), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            model_ids(&json!([{ "id": "a" }])),
            Some(vec!["a".to_owned()])
        );
        assert_eq!(model_ids(&json!({ "error": "no" })), None);
    }

    #[test]
    fn only_well_known_ports_of_this_machine_are_local() {
        let port = |url: &str| local_port(&Url::parse(url).unwrap());
        assert_eq!(port("http://127.0.0.1:11434/v1"), Some(11434));
        assert_eq!(port("http://localhost:1234"), Some(1234));
        assert_eq!(port("http://[::1]:8000"), Some(8000));
        for other in [
            "http://127.0.0.1:7717",
            "http://192.168.0.2:11434",
            "http://169.254.169.254:8080",
            "http://localhost.example:8080",
        ] {
            assert_eq!(port(other), None, "{other}");
        }
    }
}
