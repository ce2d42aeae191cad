//! `models`: lists, adds, removes and tests models.

mod add;
mod choose;
mod custom;

use std::process::ExitCode;

use serde_json::{Value, json};

use super::chat::ADVICE;
use super::usage::dollars;
use crate::args::{Models, ModelsCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Maximum number of available models listed per provider.
const MAX_LISTED: usize = 30;

/// Runs a `models` command.
pub async fn run(models: Models, ctx: &CliContext) -> Done {
    let models = match models.command {
        Some(ModelsCommand::Add {
            provider,
            base_url: Some(base_url),
            model,
            default,
            json,
        }) => {
            let new = custom::CustomProvider {
                base_url,
                name: provider,
                model,
                default,
            };
            return custom::add(new, json, ctx).await;
        }
        command => Models { command, ..models },
    };
    if let Some(ModelsCommand::Add { provider, .. }) = &models.command {
        // Before the gateway is contacted: the token must not be sent to a provider.
        add::check_address(provider.as_deref().unwrap_or_default(), ctx)?;
    }
    let remote = ctx.remote()?;
    match models.command {
        None => list(&remote, models.json).await,
        Some(ModelsCommand::Test { model, json }) => test(&remote, model, json).await,
        Some(ModelsCommand::Providers { json }) => add::providers(&remote, json).await,
        Some(ModelsCommand::Add {
            provider,
            base_url: _, // handled above
            model,
            default,
            json,
        }) => {
            let new = add::NewProvider {
                provider: provider.unwrap_or_default(),
                model,
                default,
            };
            add::add(&remote, new, json).await
        }
        Some(ModelsCommand::Remove { name }) => add::remove(&remote, &name).await,
    }
}

async fn list(remote: &Remote, json: bool) -> Done {
    let listed = remote.get("/api/models").await?;
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let providers = listed["providers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if providers.is_empty() {
        output::print_line(format!("no model is configured\n{ADVICE}"));
        return Ok(ExitCode::SUCCESS);
    }
    output::print_line(match listed["default"].as_str() {
        Some(model) => format!("default    {model}"),
        None => "default    none\nhint: choose one of those below with `manyhands config set models.default PROVIDER/MODEL`".to_owned(),
    });
    let fallbacks: Vec<String> = listed["fallbacks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    if !fallbacks.is_empty() {
        output::print_line(format!("fallbacks  {}", fallbacks.join(", ")));
    }
    for provider in providers {
        output::print_line(format!("\n{}", about(provider)));
    }
    for problem in listed["problems"].as_array().into_iter().flatten() {
        output::print_note(format!("WARN {}", text(problem)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a provider and its models.
fn about(provider: &Value) -> String {
    let name = text(&provider["provider"]);
    let mut about = format!("{name} ({})", text(&provider["kind"]));
    match (provider["scripted"] == true, text(&provider["baseUrl"])) {
        (true, _) => about.push_str("  replays a file; no model is called"),
        (false, address) => about.push_str(&format!("  {address}")),
    }
    let configured = provider["configured"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for model in configured {
        let used = provider["used"].as_array().into_iter().flatten();
        let known = used.clone().find(|one| one["id"] == *model);
        let known = known.map(|one| format!("{}{}", context(one), price(one)));
        let known = known.unwrap_or_default();
        about.push_str(&format!("\n  {}  configured{known}", text(model)));
    }
    if let Some(error) = provider["error"].as_str() {
        about.push_str(&format!(
            "\n  ERROR  {}",
            error.replace('\n', "\n         fix: ")
        ));
    }
    let is_configured = |model: &str| configured.iter().any(|known| text(known) == model);
    let offered = provider["offered"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let others: Vec<String> = offered
        .iter()
        .map(|model| (format!("{name}/{}", text(&model["model"])), model))
        .filter(|(full, _)| !is_configured(full))
        .map(|(full, model)| format!("\n  {full}{}{}", context(model), price(model)))
        .collect();
    about.extend(others.iter().take(MAX_LISTED).cloned());
    if others.len() > MAX_LISTED {
        about.push_str(&format!(
            "\n  and {} more; list all with --json",
            others.len() - MAX_LISTED
        ));
    }
    about
}

fn context(model: &Value) -> String {
    match model["contextTokens"].as_u64() {
        Some(count) => format!("  context {}", crate::commands::usage::tokens(count)),
        None => String::new(),
    }
}

/// Formats the price, if the gateway reports one.
fn price(model: &Value) -> String {
    match model.get("price") {
        None => String::new(),
        Some(Value::Null) => "  price unknown".to_owned(),
        Some(price) if price["input"] == 0.0 && price["output"] == 0.0 => "  free".to_owned(),
        Some(price) => format!(
            "  ${} in, ${} out per million tokens",
            price["input"], price["output"]
        ),
    }
}

async fn test(remote: &Remote, model: Option<String>, json: bool) -> Done {
    let ask = match model {
        Some(model) => json!({ "model": model }),
        None => json!({}),
    };
    let envelope = remote.post("/api/models/test", &ask).await;
    if json {
        output::json(&envelope);
        return Ok(match envelope.ok {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    match envelope.error {
        // The gateway cannot know how its owner would like to add one.
        Some(error) if error.contains("no model is configured") => {
            Err(Failure(format!("{error}\n{ADVICE}")))
        }
        Some(error) => Err(Failure(error)),
        None => {
            output::print_line(answered(&envelope.result.unwrap_or_default()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn answered(checked: &Value) -> String {
    let cost = match checked["costMicros"].as_u64() {
        Some(micros) => dollars(micros),
        None => "cost unknown".to_owned(),
    };
    let scripted = match checked["scripted"] == true {
        true => "; it replays a file, no model was called",
        false => "",
    };
    format!(
        "ok  {} replied in {} ms, {cost}{scripted}",
        text(&checked["model"]),
        checked["latencyMs"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_printed_with_its_models() {
        let provider = json!({
            "provider": "ollama", "kind": "openai", "baseUrl": "http://127.0.0.1:11434/v1", "scripted": false,
            "configured": ["ollama/qwen3"],
            "used": [{ "id": "ollama/qwen3", "contextTokens": 40_960, "price": { "input": 0.5, "output": 2 } }],
            "offered": [{ "model": "qwen3" }, { "model": "llama", "contextTokens": 32_768, "price": null }],
        });
        assert_eq!(
            about(&provider),
            "ollama (openai)  http://127.0.0.1:11434/v1\n  ollama/qwen3  configured  context 41.0k  $0.5 in, $2 out per million tokens\n  ollama/llama  context 32.8k  price unknown"
        );
    }

    #[test]
    fn a_provider_problem_is_printed_with_a_remedy() {
        let provider = json!({
            "provider": "a", "kind": "anthropic", "baseUrl": "https://a", "scripted": false,
            "configured": [], "error": "a: no key\nstore the key",
        });
        assert_eq!(
            about(&provider),
            "a (anthropic)  https://a\n  ERROR  a: no key\n         fix: store the key"
        );
    }

    #[test]
    fn a_test_reply_is_printed_with_time_and_cost() {
        let mut checked =
            json!({ "model": "p/m", "latencyMs": 12, "costMicros": 30, "scripted": false });
        assert_eq!(answered(&checked), "ok  p/m replied in 12 ms, $0.0000");
        checked["costMicros"] = Value::Null;
        checked["scripted"] = json!(true);
        assert_eq!(
            answered(&checked),
            "ok  p/m replied in 12 ms, cost unknown; it replays a file, no model was called"
        );
    }
}
