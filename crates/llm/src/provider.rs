//! One that serves models, as the owner set it up.

use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::Secret;
use manyhands_guard::{Egress, GatewayClient, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use crate::error::{ErrorKind, Fault};
use crate::scripted::Script;
use crate::settings::{ProviderKind, ProviderSettings, ProviderTimeouts};
use crate::wire::{self, Wire};

/// Where keys come from.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The secret called `name` in the vault; `None` when there is none.
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// One that serves models.
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) kind: ProviderKind,
    pub(crate) timeouts: Timeouts,
    pub(crate) way: Way,
}

/// How a provider is reached.
pub(crate) enum Way {
    /// Over HTTP.
    Line(Box<Line>),
    /// Not at all: it is a file.
    Script(Script),
    /// Its settings are wrong, and this is how.
    Broken(String),
}

/// An HTTP API at one origin and nowhere else.
pub(crate) struct Line {
    pub(crate) client: GatewayClient,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) base: Url,
    key: Option<String>,
    headers: Vec<(HeaderName, String)>,
    /// On this machine, so it costs nothing.
    pub(crate) local: bool,
}

/// How long to wait for a provider.
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
    /// What the settings say. What is wrong with them is told when it is used.
    pub(crate) fn new(name: &str, settings: &ProviderSettings) -> Self {
        let way = match settings.kind {
            ProviderKind::Scripted => script(name, settings).map(Way::Script),
            _ => Line::new(settings).map(|line| Way::Line(Box::new(line))),
        };
        Self {
            name: name.to_owned(),
            kind: settings.kind,
            timeouts: Timeouts::from(&settings.timeouts),
            way: way.unwrap_or_else(|why| Way::Broken(format!("models.providers.{name}: {why}"))),
        }
    }

    /// Whether a call costs nothing unless the owner says otherwise.
    pub(crate) fn is_free(&self) -> bool {
        match &self.way {
            Way::Line(line) => line.local,
            Way::Script(_) => true,
            Way::Broken(_) => false,
        }
    }
}

/// A script, under a name that says what it is wherever a model is named.
fn script(name: &str, settings: &ProviderSettings) -> Result<Script, String> {
    if name != "scripted" && !name.starts_with("scripted-") {
        return Err("a scripted provider is called `scripted` or `scripted-…`, so that nobody takes it for a model".to_owned());
    }
    let path = settings.script.as_ref();
    let path = path.ok_or("a scripted provider needs `script`, the file of turns to replay")?;
    Script::load(path)
}

impl Line {
    fn new(settings: &ProviderSettings) -> Result<Self, String> {
        let wire = wire::of(settings.kind).ok_or("this kind is not reached over HTTP")?;
        let address = settings.base_url.as_deref().unwrap_or(wire.home());
        let client = Egress::gateway(address).map_err(|error| format!("base_url {error}"))?;
        let base = client.base().clone();
        let mut headers = Vec::new();
        for (name, value) in &settings.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| "headers holds a name that is none".to_owned())?;
            headers.push((name, value.clone()));
        }
        let local = match base.host() {
            Some(Host::Ipv4(v4)) => v4.is_loopback(),
            Some(Host::Ipv6(v6)) => v6.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        Ok(Self {
            client,
            wire,
            base,
            key: settings.api_key.clone(),
            headers,
            local,
        })
    }

    /// The path of `rest` beneath the base. Addresses are written with and without the version,
    /// so `version` is put in where it is missing.
    pub(crate) fn path(&self, version: &str, rest: &str) -> String {
        let base = self.base.path().trim_end_matches('/');
        let has = base.rsplit('/').next().is_some_and(is_version);
        // Whoever writes a path of their own knows where the API is, except with Anthropic,
        // whose addresses end before the version.
        let complete = has || (!base.is_empty() && !self.wire.version_always());
        if complete {
            format!("{base}/{rest}")
        } else {
            format!("{base}/{version}/{rest}")
        }
    }

    /// The headers of a request, with the secrets in them, and those secrets, to be kept out of
    /// whatever is shown.
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
                headers.insert(name.clone(), sensitive(value)?);
            }
        }
        Ok((headers, used))
    }
}

fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or("");
    digits.starts_with(|c: char| c.is_ascii_digit())
}

async fn find(secrets: &dyn Secrets, reference: &str) -> Result<Secret, Fault> {
    let name = reference.strip_prefix("vault:").unwrap_or(reference);
    let auth = |message: String| Fault::new(ErrorKind::Auth, message);
    let found = secrets.secret(name).await;
    let found = found.map_err(|error| auth(format!("the vault cannot be read: {error}")))?;
    found.ok_or_else(|| {
        auth(format!(
            "its key {name} is not in the vault; store it with `manyhands secret set {name}`"
        ))
    })
}

fn sensitive(text: &str) -> Result<HeaderValue, Fault> {
    let wrong = "its key or a header has a line break or control character in it";
    let mut value =
        HeaderValue::from_str(text.trim()).map_err(|_| Fault::new(ErrorKind::Auth, wrong))?;
    value.set_sensitive(true);
    Ok(value)
}
