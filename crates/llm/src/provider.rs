//! A configured provider.

use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::Secret;
use manyhands_guard::{Egress, GatewayClient, HeaderMap, HeaderName, HeaderValue};
use url::Host;

use crate::base_url::BaseUrl;
use crate::error::{ErrorKind, Fault};
use crate::scripted::Script;
use crate::settings::{ProviderKind, ProviderSettings, ProviderTimeouts};
use crate::wire::{self, Wire};

/// Source of API keys.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The secret `name` from the vault; `None` if there is none.
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// A configured provider.
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) kind: ProviderKind,
    pub(crate) timeouts: Timeouts,
    pub(crate) backend: Backend,
}

/// How a provider is reached.
pub(crate) enum Backend {
    /// Over HTTP.
    Http(Box<HttpEndpoint>),
    /// A file of scripted replies.
    Script(Script),
    /// Its settings are invalid, for this reason.
    Broken(String),
}

/// An HTTP API, pinned to one origin.
pub(crate) struct HttpEndpoint {
    pub(crate) client: GatewayClient,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) base: BaseUrl,
    key: Option<String>,
    headers: Vec<(HeaderName, String)>,
    /// On this machine, so it is free.
    pub(crate) local: bool,
}

/// Timeouts of a provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    pub(crate) first: Duration,
    pub(crate) between: Duration,
    pub(crate) last_resort: Duration,
    pub(crate) total: Duration,
}

impl From<&ProviderTimeouts> for Timeouts {
    fn from(settings: &ProviderTimeouts) -> Self {
        let seconds = |n: u32| Duration::from_secs(u64::from(n.max(1)));
        Self {
            first: seconds(settings.first_byte_seconds),
            between: seconds(settings.between_bytes_seconds),
            last_resort: seconds(settings.last_resort_seconds),
            total: seconds(settings.total_seconds),
        }
    }
}

impl Provider {
    /// Creates the provider. Invalid settings are reported on use.
    pub(crate) fn new(name: &str, settings: &ProviderSettings) -> Self {
        let backend = match settings.kind {
            ProviderKind::Scripted => script(name, settings).map(Backend::Script),
            _ => HttpEndpoint::new(settings).map(|endpoint| Backend::Http(Box::new(endpoint))),
        };
        Self {
            name: name.to_owned(),
            kind: settings.kind,
            timeouts: Timeouts::from(&settings.timeouts),
            backend: backend
                .unwrap_or_else(|why| Backend::Broken(format!("models.providers.{name}: {why}"))),
        }
    }

    /// Whether calls are free unless the owner sets a price.
    pub(crate) fn is_free(&self) -> bool {
        match &self.backend {
            Backend::Http(endpoint) => endpoint.local,
            Backend::Script(_) => true,
            Backend::Broken(_) => false,
        }
    }
}

/// Loads a script. Its provider name must show wherever models are named that it is one.
fn script(name: &str, settings: &ProviderSettings) -> Result<Script, String> {
    if name != "scripted" && !name.starts_with("scripted-") {
        return Err("a scripted provider must be named `scripted` or `scripted-…`, so that it is not mistaken for a model".to_owned());
    }
    let path = settings.script.as_ref();
    let path = path.ok_or("a scripted provider needs `script`, the path of its file")?;
    Script::load(path)
}

impl HttpEndpoint {
    fn new(settings: &ProviderSettings) -> Result<Self, String> {
        let wire = wire::of(settings.kind).ok_or("this kind is not an HTTP API")?;
        let address = settings.base_url.as_deref().unwrap_or(wire.default_url());
        let client = Egress::gateway(address).map_err(|error| format!("base_url {error}"))?;
        let base = client.base().clone();
        let mut headers = Vec::new();
        for (name, value) in &settings.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| "headers contains an invalid name".to_owned())?;
            headers.push((name, value.clone()));
        }
        // Only names that cannot point elsewhere: any other name is resolved by DNS.
        let local = match base.host() {
            Some(Host::Ipv4(v4)) => v4.is_loopback(),
            Some(Host::Ipv6(v6)) => v6.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        Ok(Self {
            client,
            wire,
            base: BaseUrl::new(base, wire.version_always()),
            key: settings.api_key.clone(),
            headers,
            local,
        })
    }

    /// The headers of a request, including secrets, and those secrets, to be masked in errors.
    pub(crate) async fn headers(
        &self,
        secrets: &dyn Secrets,
    ) -> Result<(HeaderMap, Vec<Secret>), Fault> {
        let mut headers = HeaderMap::new();
        let mut used = Vec::new();
        for (name, value) in self.wire.fixed_headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(reference) = &self.key {
            let key = find(secrets, reference).await?;
            let (name, value) = self.wire.key_header(key.expose());
            headers.insert(name, sensitive(&value)?);
            used.push(key);
        }
        for (name, value) in &self.headers {
            if value.starts_with("vault:") {
                let secret = find(secrets, value).await?;
                headers.insert(name.clone(), sensitive(secret.expose())?);
                used.push(secret);
            } else {
                // Custom headers are treated as secrets too: owners put keys there.
                headers.insert(name.clone(), sensitive(value)?);
            }
        }
        Ok((headers, used))
    }
}

async fn find(secrets: &dyn Secrets, reference: &str) -> Result<Secret, Fault> {
    let name = reference.strip_prefix("vault:").unwrap_or(reference);
    let auth = |message: String| Fault::new(ErrorKind::Auth, message);
    let found = secrets.secret(name).await;
    let found = found.map_err(|error| auth(format!("cannot read the vault: {error}")))?;
    found.ok_or_else(|| {
        auth(format!(
            "its key {name} is not in the vault; store it with `manyhands secret set {name}`"
        ))
    })
}

fn sensitive(text: &str) -> Result<HeaderValue, Fault> {
    let wrong = "its key or a header contains a line break or control character";
    let mut value =
        // Keys are pasted with line breaks at their end.
        HeaderValue::from_str(text.trim()).map_err(|_| Fault::new(ErrorKind::Auth, wrong))?;
    // Keeps the value out of debug output and of HTTP/2 header tables.
    value.set_sensitive(true);
    Ok(value)
}
