//! `models add`, `providers` and `remove`: provider presets.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use serde_json::{Value, json};
use url::Url;

use super::answered;
use crate::commands::call::encode;
use crate::commands::connection::prompt_for;
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Longer than any API key, so that an oversized one is refused for its length.
const MAX_INPUT: u64 = 64 * 1024;
/// How many models are suggested.
const SUGGESTED: usize = 12;

/// A provider to add.
pub struct NewProvider {
    /// Id of the provider preset.
    pub provider: String,
    /// The provider's model id.
    pub model: Option<String>,
    /// Make it the default model.
    pub default: bool,
}

/// Refuses a provider's URL where the gateway's is expected: a token would be sent there.
pub fn check_address(maker: &str, ctx: &CliContext) -> Result<(), Failure> {
    let Some(named) = ctx.named_url() else {
        return Ok(());
    };
    let is_own = ctx.own_address(named).is_some();
    // With an explicit token any gateway may be meant, unless the URL looks like a provider's.
    if is_own || (ctx.given_token().is_some() && !looks_like_provider(named)) {
        return Ok(());
    }
    Err(Failure(format!(
        "--url and MANYHANDS_URL select the gateway, not the provider; nothing was sent to {named}\n\
         hint: omit it to add {maker} at its default URL; for another URL of the provider use --base-url; to use a gateway at this URL, pass its --token"
    )))
}

/// Returns whether a URL is a model API rather than a gateway, which has no path and rarely a host named `api`.
fn looks_like_provider(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let api = url.host_str().is_some_and(|host| host.starts_with("api."));
    let path = url.path().trim_matches('/');
    api || !matches!(path, "" | "ws")
}

/// Lists the provider presets.
pub async fn providers(remote: &Remote, json: bool) -> Done {
    let listed = remote.get("/api/models/makers").await?;
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let rows = each(&listed).map(|maker| {
        vec![
            text(&maker["id"]),
            text(&maker["title"]),
            text(&maker["address"]),
            maker["model"].as_str().unwrap_or_default().to_owned(),
            standing(maker).to_owned(),
        ]
    });
    output::table(
        &["provider", "name", "url", "default model", "status"],
        rows.collect(),
    );
    Ok(ExitCode::SUCCESS)
}

fn each(listed: &Value) -> impl Iterator<Item = &Value> {
    listed["makers"].as_array().into_iter().flatten()
}

fn standing(maker: &Value) -> &'static str {
    match (maker["standing"].as_str(), maker["needsKey"] == true) {
        (Some("set"), _) => "configured",
        (Some("keyless"), _) => "configured, no API key",
        (Some("different"), _) => "name used by another provider",
        (_, true) => "needs an API key",
        _ => "",
    }
}

/// Adds a provider and tests its model.
pub async fn add(remote: &Remote, new: NewProvider, json: bool) -> Done {
    let presets = remote.get("/api/models/makers").await?;
    let maker = each(&presets).find(|preset| preset["id"] == new.provider.as_str());
    let mut body = json!({ "maker": new.provider });
    if let Some(model) = &new.model {
        body["model"] = json!(model);
    }
    if new.default {
        body["default"] = json!(true);
    }
    if maker.is_none() {
        let known = each(&presets).filter_map(|preset| preset["id"].as_str());
        // Repeated only if it resembles a provider: it may be an API key in the wrong place.
        if let Some(nearest) = manyhands_config::nearest(&new.provider, known) {
            return Err(Failure(format!(
                "unknown provider '{}'; did you mean '{nearest}'?",
                new.provider
            )));
        }
    }
    // For any other unknown name no key is prompted for: the gateway refuses it below.
    if let Some(maker) = maker.filter(|maker| maker["needsKey"] == true)
        && let Some(key) = key(maker)?
    {
        body["key"] = json!(key);
    }
    let added = remote.expect_post("/api/models/providers", &body).await?;
    // Tested at once: a wrong key is best noticed while it is still in the clipboard.
    let tested = match added["model"].as_str() {
        Some(model) => {
            let test = json!({ "model": model });
            Some(remote.post("/api/models/test", &test).await)
        }
        None => None,
    };
    let fine = tested.as_ref().is_none_or(|tested| tested.ok);
    let code = match fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    };
    if json {
        output::json(&json!({ "added": added, "test": tested }));
        return Ok(code);
    }
    output::print_line(added_line(&added));
    let Some(tested) = tested else {
        output::print_note(choose(&added));
        return Ok(code);
    };
    match tested.error {
        None => output::print_line(answered(&tested.result.unwrap_or_default())),
        Some(error) => output::print_note(format!("{error}\n{}", mend(&new.provider, &added))),
    }
    Ok(code)
}

/// Prompts for the API key or reads it from stdin; `None` to keep the one in the vault.
fn key(maker: &Value) -> Result<Option<String>, Failure> {
    let kept = maker["hasKey"] == true;
    let title = text(&maker["title"]);
    let input = std::io::stdin();
    let said = match input.is_terminal() {
        true if kept => prompt_for(&format!("API key of {title} (empty keeps the stored one)"))?,
        true => prompt_for(&format!("API key of {title}"))?,
        // Piped in, so that the key is neither in the history nor in the process list.
        false => {
            let mut said = String::new();
            input.lock().take(MAX_INPUT).read_to_string(&mut said)?;
            said
        }
    };
    let said = said.trim();
    match (said.is_empty(), kept) {
        (false, _) => Ok(Some(said.to_owned())),
        (true, true) => Ok(None),
        (true, false) => Err(Failure(format!(
            "no API key given for {title}\nhint: printf %s \"$KEY\" | manyhands models add {}",
            text(&maker["id"])
        ))),
    }
}

/// Summary of what was added.
fn added_line(added: &Value) -> String {
    let provider = text(&added["provider"]["provider"]);
    let key = match added["key"].as_str() {
        Some("stored") => format!("; API key stored in the vault as {provider}"),
        Some("kept") => format!("; using the API key {provider} from the vault"),
        _ => String::new(),
    };
    let default = match added["default"].as_str() {
        Some(default) => format!("\ndefault    {default}"),
        None => String::new(),
    };
    let at = text(&added["provider"]["baseUrl"]);
    format!("added {provider} ({at}){key}{default}")
}

/// Suggests models if none was chosen.
fn choose(added: &Value) -> String {
    let provider = text(&added["provider"]["provider"]);
    let again = format!("manyhands models add {provider} --model MODEL --default");
    match (offered(added), added["provider"]["error"].as_str()) {
        (_, Some(error)) => format!("{error}\nhint: choose a model with: {again}"),
        (names, None) => format!("available models: {names}\nhint: choose one with: {again}"),
    }
}

/// Suggests what to do if the test failed.
fn mend(maker: &str, added: &Value) -> String {
    let has_key = matches!(added["key"].as_str(), Some("stored" | "kept"));
    match added["provider"]["error"].as_str() {
        Some(_) if has_key => {
            format!("hint: replace the API key with `manyhands models add {maker}`")
        }
        Some(_) => format!("hint: start it, then retry with `manyhands models add {maker}`"),
        None => format!(
            "hint: choose another model with `manyhands models add {maker} --model MODEL --default`; available: {}",
            offered(added)
        ),
    }
}

fn offered(added: &Value) -> String {
    let offered = added["provider"]["offered"].as_array();
    let offered = offered.map(Vec::as_slice).unwrap_or_default();
    let names = offered
        .iter()
        .take(SUGGESTED)
        .map(|one| text(&one["model"]));
    let names = names.collect::<Vec<String>>().join(", ");
    match offered.len() {
        0 => "no models".to_owned(),
        count if count > SUGGESTED => format!("{names} and {} more", count - SUGGESTED),
        _ => names,
    }
}

/// Removes a provider.
pub async fn remove(remote: &Remote, name: &str) -> Done {
    let path = format!("/api/models/providers/{}", encode(name));
    let removed = remote.delete(&path).await?;
    output::print_line(match removed["keyRemoved"] == true {
        true => format!("removed {name} and its API key"),
        false => format!("removed {name}"),
    });
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_url_is_distinguished_from_a_gateway_url() {
        for provider in [
            "https://api.openai.com",
            "https://api.openai.com/v1",
            "http://127.0.0.1:11434/v1",
            "https://generativelanguage.googleapis.com/v1beta",
        ] {
            assert!(looks_like_provider(provider), "{provider}");
        }
        for gateway in [
            "http://127.0.0.1:7717",
            "https://hands.example/",
            "wss://hands.example/ws",
        ] {
            assert!(!looks_like_provider(gateway), "{gateway}");
        }
    }

    #[test]
    fn an_added_provider_is_printed_with_where_its_key_is_sent() {
        let added = json!({
            "provider": { "provider": "anthropic", "baseUrl": "https://api.anthropic.com/", "offered": [{ "model": "a" }, { "model": "b" }] },
            "model": "anthropic/a", "default": "anthropic/a", "key": "stored",
        });
        assert_eq!(
            added_line(&added),
            "added anthropic (https://api.anthropic.com/); API key stored in the vault as anthropic\ndefault    anthropic/a"
        );
        assert!(choose(&added).contains("available models: a, b\nhint: choose one"));
        assert!(mend("anthropic", &added).contains("--model MODEL"));
    }

    #[test]
    fn an_unreachable_provider_is_reported_with_a_remedy() {
        let silent = json!({ "provider": "vllm", "error": "vllm: nobody listens" });
        let mut added = json!({ "provider": silent, "key": "none" });
        assert!(choose(&added).starts_with("vllm: nobody listens\nhint: "));
        assert!(mend("vllm", &added).contains("start it, then retry"));
        added["key"] = json!("stored");
        assert!(mend("openai", &added).contains("replace the API key"));
    }
}
