//! Web API calls and their errors.

use std::time::Duration;

use bytes::Bytes;
use manyhands_core::Secret;
use manyhands_guard::{Method, StatusCode};
use serde_json::Value;
use url::form_urlencoded;

use super::{Own, Slack};
use crate::api::{Api, ApiResponse};
use crate::channel::{BotIdentity, SendError};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// Slack refused it with an error code.
    Said(SlackRefusal),
    /// The HTTP exchange failed.
    Exchange(SendError),
}

/// An error response of Slack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlackRefusal {
    /// The called method.
    method: &'static str,
    /// The error code, such as `channel_not_found`.
    pub(super) code: String,
    /// The missing scope.
    needed: Option<String>,
}

/// Arguments of a call.
pub(super) type Fields<'a> = &'a [(&'a str, &'a str)];

impl Slack {
    /// Calls a read-only method.
    pub(super) async fn get(
        &self,
        method: &'static str,
        fields: Fields<'_>,
    ) -> Result<Value, Failed> {
        let mut url = self.api.url(method);
        if !fields.is_empty() {
            url = format!("{url}?{}", form(fields));
        }
        let headers = Api::bearer(&self.account.token)?;
        let answer = self.api.send(Method::GET, url, headers, None).await?;
        read(method, &answer)
    }

    /// Calls a method with effects.
    pub(super) async fn post(
        &self,
        method: &'static str,
        fields: Fields<'_>,
    ) -> Result<Value, Failed> {
        self.post_as(&self.account.token, method, fields).await
    }

    /// Calls a method with a token other than the bot's.
    pub(super) async fn post_as(
        &self,
        token: &Secret,
        method: &'static str,
        fields: Fields<'_>,
    ) -> Result<Value, Failed> {
        let headers = Api::bearer(token)?;
        let kind = "application/x-www-form-urlencoded".to_owned();
        let body = Some((kind, Bytes::from(form(fields))));
        let url = self.api.url(method);
        let answer = self.api.send(Method::POST, url, headers, body).await?;
        read(method, &answer)
    }

    /// Requests our identity, and remembers it for parsing events.
    pub(super) async fn auth_test(&self) -> Result<BotIdentity, SendError> {
        let said = self.get("auth.test", &[]).await?;
        let word = |name: &str| said[name].as_str().map(str::to_owned);
        let id = word("user_id")
            .ok_or_else(|| SendError::Account("Slack did not return our identity".to_owned()))?;
        let name = word("user").unwrap_or_else(|| id.clone());
        let own = Own {
            user: Some(id.clone()),
            name: Some(name.clone()),
            bot: word("bot_id"),
        };
        *self
            .own
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = own;
        Ok(BotIdentity {
            id,
            handle: Some(name.clone()),
            name,
            team: word("team_id"),
        })
    }
}

fn form(fields: Fields<'_>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

fn read(method: &'static str, answer: &ApiResponse) -> Result<Value, Failed> {
    let status = answer.status;
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(Failed::Exchange(SendError::Later {
            after: Some(answer.retry_after().unwrap_or(Duration::from_secs(30))),
            why: format!("rate limited by Slack: {method}"),
        }));
    }
    // Unlike other server errors, this one says that nothing was done.
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return Err(Failed::Exchange(SendError::Later {
            after: answer.retry_after(),
            why: format!("Slack is unavailable for {method} ({status})"),
        }));
    }
    if status.is_server_error() {
        let why = format!("{method} failed at Slack ({status})");
        return Err(Failed::Exchange(SendError::Unknown(why)));
    }
    let said = answer.json()?;
    match said["ok"].as_bool() {
        Some(true) => Ok(said),
        Some(false) => {
            let word = |name: &str| said[name].as_str().map(plain);
            Err(Failed::Said(SlackRefusal {
                method,
                code: word("error").unwrap_or_else(|| "no reason given".to_owned()),
                needed: word("needed"),
            }))
        }
        None if status.is_success() => {
            let why = format!("the response to {method} is not from Slack");
            Err(Failed::Exchange(SendError::Unknown(why)))
        }
        None => Err(Failed::Exchange(SendError::Later {
            after: answer.retry_after(),
            why: format!("the response to {method} ({status}) is not from Slack"),
        })),
    }
}

/// A remote text, sanitised for an error message.
fn plain(word: &str) -> String {
    // The text comes from the network and ends up in logs and chats.
    let fit = |c: &char| c.is_ascii_alphanumeric() || "_:.,- ".contains(*c);
    word.chars().filter(fit).take(80).collect()
}

impl From<SendError> for Failed {
    fn from(error: SendError) -> Self {
        Self::Exchange(error)
    }
}

impl From<Failed> for SendError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Said(said) => said.meaning(),
            Failed::Exchange(error) => error,
        }
    }
}

impl SlackRefusal {
    /// What it means for the message being sent.
    fn meaning(&self) -> SendError {
        let code = self.code.as_str();
        let why = |why: &str| format!("{why} ({code})");
        match code {
            "ratelimited" | "rate_limited" | "message_limit_exceeded" => SendError::Later {
                after: Some(Duration::from_secs(30)),
                why: why("rate limited by Slack"),
            },
            "request_timeout" | "service_unavailable" | "team_added_to_org" => SendError::Later {
                after: None,
                why: why("Slack is temporarily unavailable"),
            },
            "internal_error" | "fatal_error" => SendError::Unknown(why("Slack failed internally")),
            "invalid_auth"
            | "not_authed"
            | "token_revoked"
            | "token_expired"
            | "account_inactive"
            | "not_allowed_token_type"
            | "org_login_required"
            | "two_factor_setup_required"
            | "access_denied"
            | "team_access_not_granted" => SendError::Account(why(
                "Slack rejected the token; install the app again and set the new one",
            )),
            "missing_scope" => self.scope(),
            "channel_not_found" => {
                SendError::Unreachable(why("no such chat, or the app has no access to it"))
            }
            "not_in_channel" => {
                SendError::Unreachable(why("the app is not in that channel; invite it there"))
            }
            "is_archived" => SendError::Unreachable(why("that channel is archived")),
            "msg_too_long" | "msg_blocks_too_long" => {
                SendError::Never(why("the message is too long"))
            }
            "no_text" => SendError::Never(why("the message is empty")),
            "message_not_found" => SendError::Never(why("no such message")),
            "cant_update_message" | "edit_window_closed" => {
                SendError::Never(why("that message can no longer be edited"))
            }
            "invalid_name" => SendError::Never(why("the workspace has no such emoji")),
            "user_not_found" | "user_not_visible" | "user_disabled" => {
                SendError::Unreachable(why("no such person in the workspace"))
            }
            _ => SendError::Never(format!("Slack rejected {}: {code}", self.method)),
        }
    }

    /// Without the scope to write, nothing can be sent; other scopes affect single features only.
    fn scope(&self) -> SendError {
        let scope = self.needed.as_deref().unwrap_or("another");
        let why = format!(
            "the app lacks the scope `{scope}` for {}; add it and install the app again",
            self.method
        );
        match self.method {
            "chat.postMessage" | "auth.test" | "apps.connections.open" => SendError::Account(why),
            _ => SendError::Never(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_refusal_has_a_meaning() {
        let meaning = |method, code: &str| {
            let said = SlackRefusal {
                method,
                code: code.to_owned(),
                needed: Some("chat:write".to_owned()),
            };
            let error = said.meaning();
            assert!(
                error.to_string().contains(code) || code == "missing_scope",
                "{error}"
            );
            error
        };
        let post = "chat.postMessage";
        for code in ["ratelimited", "request_timeout", "service_unavailable"] {
            assert!(
                matches!(meaning(post, code), SendError::Later { .. }),
                "{code}"
            );
        }
        for code in [
            "invalid_auth",
            "token_revoked",
            "account_inactive",
            "not_authed",
        ] {
            assert!(
                matches!(meaning(post, code), SendError::Account(_)),
                "{code}"
            );
        }
        for code in ["internal_error", "fatal_error"] {
            assert!(
                matches!(meaning(post, code), SendError::Unknown(_)),
                "{code}"
            );
        }
        for code in ["channel_not_found", "not_in_channel", "is_archived"] {
            let nobody = matches!(meaning(post, code), SendError::Unreachable(_));
            assert!(nobody, "{code}");
        }
        for code in ["msg_too_long", "restricted_action"] {
            assert!(matches!(meaning(post, code), SendError::Never(_)), "{code}");
        }
        let missing = meaning(post, "missing_scope");
        assert!(matches!(&missing, SendError::Account(why) if why.contains("chat:write")));
        let missing = meaning("reactions.add", "missing_scope");
        assert!(matches!(missing, SendError::Never(_)), "texts still go out");
    }

    #[test]
    fn a_word_of_the_far_end_is_kept_short_and_plain() {
        let long = format!("bad\n\u{1b}[31m<b>{}", "x".repeat(500));
        let word = plain(&long);
        assert_eq!(word.len(), 80);
        assert!(word.starts_with("bad31mbxxx"), "{word}");
    }
}
