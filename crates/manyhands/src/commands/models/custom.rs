//! `models add --base-url`: any provider with an OpenAI-compatible API.
//!
//! Where an API key is sent can only be set in the settings file, so this edits the file of this machine and never goes
//! through a remote gateway. The key goes into the vault first; if the model then fails its test, everything is undone.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use manyhands_config::models::ProviderSettings;
use manyhands_config::{ConfigFile, Edit, KeyPath, Settings};
use manyhands_core::Secret;
use manyhands_gateway::endpoints;
use manyhands_guard::{Egress, FetchLimits, HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use url::{Host, Url};

use super::{answered, choose};
use crate::commands::call::encode;
use crate::commands::config::reload;
use crate::commands::connection::prompt_for;
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::editor::is_interactive;
use manyhands_terminal::output::{self, Done, Failure};

/// Longer than any API key.
const MAX_INPUT: u64 = 64 * 1024;
/// Timeout for listing the models.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of the list.
const MAX_LIST: u64 = 16 * 1024 * 1024;
/// How many models an error names.
const SUGGESTED: usize = 12;

/// A provider to add by its URL.
pub struct CustomProvider {
    pub base_url: String,
    pub name: Option<String>,
    pub model: Option<String>,
    pub default: bool,
}

/// Lists the provider's models, lets the user choose, and adds and tests it.
pub async fn add(new: CustomProvider, json: bool, ctx: &CliContext) -> Done {
    if let Some(named) = ctx.named_url()
        && ctx.own_address(named).is_none()
    {
        return Err(Failure(format!(
            "--base-url changes config.toml of this machine, and {named} is another gateway; nothing was sent to it\nhint: run this on the gateway's machine, without --url and MANYHANDS_URL"
        )));
    }
    let remote = ctx.remote()?;
    let url = base(&new.base_url)?;
    let file = ctx.config();
    let settings = file.load()?.0;
    let name = match &new.name {
        Some(name) => legal(name)?.to_owned(),
        None => endpoints::provider_name(&url, &settings),
    };
    let known = settings.models.providers.get(&name);
    if let Some(known) = known
        && known
            .base_url
            .as_deref()
            .map(|url| url.trim_end_matches('/'))
            != Some(url.as_str())
    {
        let other = known.base_url.as_deref().unwrap_or("its default URL");
        return Err(Failure(format!(
            "a provider named {name} already exists at {other}; nothing was changed\nhint: choose another name, as in `manyhands models add --base-url {url} NAME`"
        )));
    }
    let found = discover(&url, &name).await?;
    let model = match &new.model {
        Some(model) => model.clone(),
        None => chosen(&found, &name).await?,
    };
    if !found.models.is_empty() && !found.models.contains(&model) {
        output::print_note(format!("note: {} does not list {model}", found.url));
    }
    let full = format!("{name}/{model}");
    let change = Addition {
        remote,
        file,
        ctx,
        name,
        default: (new.default || settings.models.default.is_none()).then_some(full.clone()),
        before: settings,
    };
    let tested = change.make(&found, &full).await?;
    if json {
        let added = json!({
            "provider": change.name, "baseUrl": found.url, "model": full,
            "default": change.default, "offered": found.models,
        });
        output::json(&json!({ "added": added, "test": tested }));
        return Ok(ExitCode::SUCCESS);
    }
    let key = match found.key {
        Some(_) => format!("; API key stored in the vault as {}", change.name),
        None => String::new(),
    };
    output::print_line(format!("added {} ({}){key}", change.name, found.url));
    if let Some(default) = &change.default {
        output::print_line(format!("default    {default}"));
    }
    output::print_line(answered(&tested));
    Ok(ExitCode::SUCCESS)
}

/// Checks a base URL and removes a slash at its end.
fn base(given: &str) -> Result<String, Failure> {
    endpoints::base_url(given).map_err(|why| {
        Failure(format!(
            "--base-url {why}\nhint: it looks like http://127.0.0.1:8080/v1"
        ))
    })
}

fn legal(name: &str) -> Result<&str, Failure> {
    match endpoints::is_provider_name(name) {
        true => Ok(name),
        false => Err(Failure(
            "the provider's name must have 1 to 64 of a-z, 0-9, - and _\nhint: for an API key, leave it out and use the prompt or standard input"
                .to_owned(),
        )),
    }
}

/// What a provider answered.
struct Found {
    /// The base URL under which it lists its models.
    url: String,
    key: Option<Secret>,
    models: Vec<String>,
}

/// Lists a provider's models, with a key if it needs one.
async fn discover(url: &str, name: &str) -> Result<Found, Failure> {
    let input = std::io::stdin();
    let interactive = is_interactive();
    let mut key = None;
    if !input.is_terminal() {
        // Piped in, so that the key is neither in the history nor in the process list.
        let mut piped = String::new();
        input.lock().take(MAX_INPUT).read_to_string(&mut piped)?;
        key = Some(piped.trim().to_owned())
            .filter(|key| !key.is_empty())
            .map(Secret::new);
    } else if interactive && !is_local(url) {
        // Some list their models to anybody, and still refuse to answer without a key.
        key = prompted(name)?;
    }
    let mut url = url.to_owned();
    loop {
        let (status, body) = get(&url, key.as_ref()).await?;
        match status {
            200 => {
                let models = endpoints::model_ids(&body).ok_or_else(|| {
                    Failure(format!(
                        "{url}/models does not list models in OpenAI's format; nothing was changed"
                    ))
                })?;
                return Ok(Found { url, key, models });
            }
            401 | 403 if key.is_none() && interactive => {
                key = prompted(name)?;
                if key.is_none() {
                    return Err(Failure("no API key given; nothing was changed".to_owned()));
                }
            }
            401 | 403 => {
                let hint = match key {
                    None => format!(
                        "it needs an API key\nhint: printf %s \"$KEY\" | manyhands models add --base-url {url}"
                    ),
                    Some(_) => "it refused the API key".to_owned(),
                };
                return Err(Failure(format!(
                    "{url}/models: status {status}; nothing was changed: {hint}"
                )));
            }
            // People copy the address that the server prints, without the path of its API.
            404 if !url.ends_with("/v1") => url.push_str("/v1"),
            _ => {
                return Err(Failure(format!(
                    "{url}/models: status {status}; nothing was changed\nhint: give the URL below which /models and /chat/completions are"
                )));
            }
        }
    }
}

fn is_local(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(domain)) => domain == "localhost" || !domain.contains('.'),
        None => false,
    }
}

fn prompted(name: &str) -> Result<Option<Secret>, Failure> {
    let key = prompt_for(&format!("API key of {name} (hidden; empty for none)"))?;
    let key = key.trim();
    Ok((!key.is_empty()).then(|| Secret::new(key)))
}

async fn get(url: &str, key: Option<&Secret>) -> Result<(u16, Value), Failure> {
    let failed =
        |why: &dyn std::fmt::Display| Failure(format!("{url}/models: {why}; nothing was changed"));
    // A client for this origin only: a redirect cannot lead the key elsewhere.
    let client = Egress::gateway(url).map_err(|e| failed(&e))?;
    let path = format!("{}/models", client.base().path().trim_end_matches('/'));
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("application/json"));
    if let Some(key) = key {
        let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
        let mut bearer = bearer.map_err(|_| failed(&"the API key contains invalid characters"))?;
        bearer.set_sensitive(true);
        headers.insert("authorization", bearer);
    }
    let limits = FetchLimits {
        total_timeout: Some(LIST_TIMEOUT),
        max_bytes: Some(MAX_LIST),
        ..FetchLimits::default()
    };
    let asked = client.fetch(Method::GET, &path, headers, None, limits);
    let answer = asked.await.map_err(|e| failed(&e))?;
    let status = answer.status.as_u16();
    let body = answer.bytes().await.map_err(|e| failed(&e))?;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// The model to use: the only one, or the user's choice.
async fn chosen(found: &Found, name: &str) -> Result<String, Failure> {
    if let [only] = found.models.as_slice() {
        return Ok(only.clone());
    }
    let again = format!(
        "manyhands models add --base-url {} {name} --model MODEL",
        found.url
    );
    if found.models.is_empty() {
        return Err(Failure(format!(
            "{} lists no models; nothing was changed\nhint: name one with `{again}`",
            found.url
        )));
    }
    if !is_interactive() {
        let names: Vec<&str> = found
            .models
            .iter()
            .take(SUGGESTED)
            .map(String::as_str)
            .collect();
        let more = found.models.len().saturating_sub(SUGGESTED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        return Err(Failure(format!(
            "{} has several models; nothing was changed: {}{more}\nhint: choose one with `{again}`",
            found.url,
            names.join(", ")
        )));
    }
    let model = choose::model(&found.models).await;
    model.ok_or_else(|| Failure("no model chosen; nothing was changed".to_owned()))
}

/// A provider being added to the settings.
struct Addition<'a> {
    remote: Remote,
    file: ConfigFile,
    ctx: &'a CliContext,
    name: String,
    /// The default model to set, if any.
    default: Option<String>,
    before: Settings,
}

impl Addition<'_> {
    /// Stores the key, writes the settings and tests the model; if anything fails, all of it is undone.
    async fn make(&self, found: &Found, model: &str) -> Result<Value, Failure> {
        let secrets = self.remote.get("/api/secrets").await?;
        let stored = secrets["names"].as_array().into_iter().flatten();
        let had_key = stored.clone().any(|stored| text(stored) == self.name);
        // Its value cannot be read back, so it could not be restored.
        if had_key && found.key.is_some() && !self.before.models.providers.contains_key(&self.name)
        {
            return Err(Failure(format!(
                "the vault already has a secret named {0}; nothing was changed\nhint: choose another name for the provider, or delete it with `manyhands secret remove {0}`",
                self.name
            )));
        }
        let path = format!("/api/secrets/{}", encode(&self.name));
        if let Some(key) = &found.key {
            self.remote
                .put(&path, &json!({ "value": key.expose() }))
                .await?;
        }
        let made = self.write_and_test(found, model).await;
        if let Err(failure) = made {
            let undone = self.undo(found.key.is_some() && !had_key, &path).await;
            return Err(match undone {
                Ok(()) => Failure(format!("{}\nnothing was added", failure.0)),
                Err(Failure(why)) => {
                    Failure(format!("{}\nand it could not be undone: {why}", failure.0))
                }
            });
        }
        made
    }

    async fn write_and_test(&self, found: &Found, model: &str) -> Result<Value, Failure> {
        // Only a key given now: a secret that happens to have the provider's name was not meant for this URL.
        let key = found.key.as_ref().map(|_| self.reference());
        let mut edits = Vec::new();
        match self.known() {
            None => {
                let mut provider = json!({ "kind": "openai", "base_url": found.url });
                if let Some(key) = key {
                    provider["api_key"] = json!(key);
                }
                edits.push((self.provider(), Some(provider)));
            }
            // Whatever else the owner set for it stays.
            Some(known) if key.is_some() && known.api_key != key => {
                edits.push((self.provider().join("api_key"), key.map(Value::from)));
            }
            Some(_) => {}
        }
        if let Some(default) = &self.default {
            edits.push((default_path()?, Some(json!(default))));
        }
        self.apply(edits).await?;
        // Tested at once: a wrong key is best noticed while it is still in the clipboard.
        let test = json!({ "model": model });
        self.remote.expect_post("/api/models/test", &test).await
    }

    async fn undo(&self, remove_key: bool, path: &str) -> Result<(), Failure> {
        let mut edits = match self.known() {
            None => vec![(self.provider(), None)],
            Some(known) => {
                let key = known.api_key.as_ref().map(|key| json!(key));
                vec![(self.provider().join("api_key"), key)]
            }
        };
        if self.default.is_some() {
            let before = self.before.models.default.as_ref();
            edits.push((default_path()?, before.map(|model| json!(model))));
        }
        self.apply(edits).await?;
        if remove_key {
            self.remote.delete(path).await?;
        }
        Ok(())
    }

    async fn apply(&self, edits: Vec<(KeyPath, Option<Value>)>) -> Result<(), Failure> {
        let edits = edits.into_iter().map(|(path, value)| Edit { path, value });
        let edits: Vec<Edit> = edits.collect();
        self.file.amend(|_| Ok::<_, Failure>(edits))??;
        reload(self.ctx, self.remote.url()).await.map(drop)
    }

    /// The provider as it was before.
    fn known(&self) -> Option<&ProviderSettings> {
        self.before.models.providers.get(&self.name)
    }

    /// How the settings refer to its key.
    fn reference(&self) -> String {
        format!("vault:{}", self.name)
    }

    fn provider(&self) -> KeyPath {
        let models = KeyPath::default().join("models");
        models.join("providers").join(&self.name)
    }
}

fn default_path() -> Result<KeyPath, Failure> {
    Ok("models.default".parse::<KeyPath>()?)
}
