//! `models add`, `makers` and `remove`: providers by the names of their makers.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use serde_json::{Value, json};
use url::Url;

use super::answered;
use crate::commands::call::encode;
use crate::commands::connection::asked;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};

/// More than any key, so that one that is too long is refused for that.
const MAX_INPUT: u64 = 64 * 1024;
/// How many models are named where one has to be chosen.
const NAMED: usize = 12;

/// Somebody to be added.
pub struct Wanted {
    /// The maker's name.
    pub maker: String,
    /// The model, as the maker calls it.
    pub model: Option<String>,
    /// Whether it becomes the default.
    pub default: bool,
}

/// Refuses an address of a provider where the gateway's is meant: a token would be sent there.
pub fn check_address(maker: &str, ground: &Ground) -> Result<(), Failure> {
    let Some(named) = ground.named_url() else {
        return Ok(());
    };
    let is_own = ground.own_address(named).is_some();
    // With a token that was given, any gateway may be meant, unless it does not look like one.
    if is_own || (ground.given_token().is_some() && !looks_like_provider(named)) {
        return Ok(());
    }
    Err(Failure(format!(
        "--url and MANYHANDS_URL name the gateway to talk to, not the provider: nothing was sent to {named}\n\
         hint: leave it out to add {maker} at its usual address; another address of a provider is set in config.toml, as base_url under [models.providers.{maker}]; to talk to a gateway at this address, give its --token"
    )))
}

/// Whether an address is one of a model's API rather than of a gateway, which has no path and whose
/// host is rarely called `api`.
fn looks_like_provider(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let api = url.host_str().is_some_and(|host| host.starts_with("api."));
    let path = url.path().trim_matches('/');
    api || !matches!(path, "" | "ws")
}

/// Lists who can be added.
pub async fn makers(remote: &Remote, json: bool) -> Done {
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
        &["maker", "who", "address", "usual model", ""],
        rows.collect(),
    );
    Ok(ExitCode::SUCCESS)
}

fn each(listed: &Value) -> impl Iterator<Item = &Value> {
    listed["makers"].as_array().into_iter().flatten()
}

fn standing(maker: &Value) -> &'static str {
    match (maker["standing"].as_str(), maker["needsKey"] == true) {
        (Some("set"), _) => "set",
        (Some("keyless"), _) => "set, without its key",
        (Some("different"), _) => "another has its name",
        (_, true) => "needs a key",
        _ => "",
    }
}

/// Adds a maker and asks its model for a word.
pub async fn add(remote: &Remote, wanted: Wanted, json: bool) -> Done {
    let makers = remote.get("/api/models/makers").await?;
    let maker = each(&makers).find(|maker| maker["id"] == wanted.maker.as_str());
    let mut body = json!({ "maker": wanted.maker });
    if let Some(model) = &wanted.model {
        body["model"] = json!(model);
    }
    if wanted.default {
        body["default"] = json!(true);
    }
    // Who is not known is refused by the gateway, which says who is; there is no use in a key then.
    if let Some(maker) = maker.filter(|maker| maker["needsKey"] == true)
        && let Some(key) = key(maker)?
    {
        body["key"] = json!(key);
    }
    let added = remote.expect_post("/api/models/providers", &body).await?;
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
    output::say(told(&added));
    let Some(tested) = tested else {
        output::remark(choose(&added));
        return Ok(code);
    };
    match tested.error {
        None => output::say(answered(&tested.result.unwrap_or_default())),
        Some(error) => output::remark(format!("{error}\n{}", mend(&wanted.maker, &added))),
    }
    Ok(code)
}

/// The key: what is typed unseen, or what comes on standard input. Nothing, where the vault has one.
fn key(maker: &Value) -> Result<Option<String>, Failure> {
    let kept = maker["hasKey"] == true;
    let title = text(&maker["title"]);
    let input = std::io::stdin();
    let said = match input.is_terminal() {
        true if kept => asked(&format!(
            "the key of {title} (empty keeps the one in the vault)"
        ))?,
        true => asked(&format!("the key of {title}"))?,
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
            "nothing came for the key of {title}\nhint: printf %s \"$KEY\" | manyhands models add {}",
            text(&maker["id"])
        ))),
    }
}

/// What was done.
fn told(added: &Value) -> String {
    let provider = text(&added["provider"]["provider"]);
    let key = match added["key"].as_str() {
        Some("stored") => format!("; its key is in the vault, as {provider}"),
        Some("kept") => format!("; its key was in the vault, as {provider}"),
        _ => String::new(),
    };
    let default = match added["default"].as_str() {
        Some(default) => format!("\ndefault    {default}"),
        None => String::new(),
    };
    let at = text(&added["provider"]["baseUrl"]);
    format!("{provider} is set, at {at}{key}{default}")
}

/// What to do where no model is meant yet.
fn choose(added: &Value) -> String {
    let provider = text(&added["provider"]["provider"]);
    let again = format!("manyhands models add {provider} --model MODEL --default");
    match (offered(added), added["provider"]["error"].as_str()) {
        (_, Some(error)) => format!("{error}\nhint: then choose a model: {again}"),
        (names, None) => format!("it offers {names}\nhint: choose one: {again}"),
    }
}

/// What to do where its model did not answer.
fn mend(maker: &str, added: &Value) -> String {
    let has_key = matches!(added["key"].as_str(), Some("stored" | "kept"));
    match added["provider"]["error"].as_str() {
        Some(_) if has_key => {
            format!("hint: `manyhands models add {maker}` takes another key in its place")
        }
        Some(_) => format!("hint: once it runs, `manyhands models add {maker}` tries it again"),
        None => format!(
            "hint: `manyhands models add {maker} --model MODEL --default` takes another; it offers {}",
            offered(added)
        ),
    }
}

fn offered(added: &Value) -> String {
    let offered = added["provider"]["offered"].as_array();
    let offered = offered.map(Vec::as_slice).unwrap_or_default();
    let names = offered.iter().take(NAMED).map(|one| text(&one["model"]));
    let names = names.collect::<Vec<String>>().join(", ");
    match offered.len() {
        0 => "no models".to_owned(),
        count if count > NAMED => format!("{names} and {} more", count - NAMED),
        _ => names,
    }
}

/// Removes a provider.
pub async fn remove(remote: &Remote, name: &str) -> Done {
    let path = format!("/api/models/providers/{}", encode(name));
    let removed = remote.delete(&path).await?;
    output::say(match removed["keyRemoved"] == true {
        true => format!("{name} is removed, and its key is forgotten"),
        false => format!("{name} is removed"),
    });
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_provider_is_told_from_one_of_a_gateway() {
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
    fn what_was_added_is_told_with_where_its_key_goes() {
        let added = json!({
            "provider": { "provider": "anthropic", "baseUrl": "https://api.anthropic.com/", "offered": [{ "model": "a" }, { "model": "b" }] },
            "model": "anthropic/a", "default": "anthropic/a", "key": "stored",
        });
        assert_eq!(
            told(&added),
            "anthropic is set, at https://api.anthropic.com/; its key is in the vault, as anthropic\ndefault    anthropic/a"
        );
        assert!(choose(&added).contains("it offers a, b\nhint: choose one"));
        assert!(mend("anthropic", &added).contains("--model MODEL"));
    }

    #[test]
    fn a_maker_that_does_not_answer_is_told_with_what_to_do() {
        let silent = json!({ "provider": "vllm", "error": "vllm: nobody listens" });
        let mut added = json!({ "provider": silent, "key": "none" });
        assert!(choose(&added).starts_with("vllm: nobody listens\nhint: "));
        assert!(mend("vllm", &added).contains("once it runs"));
        added["key"] = json!("stored");
        assert!(mend("openai", &added).contains("another key"));
    }
}
