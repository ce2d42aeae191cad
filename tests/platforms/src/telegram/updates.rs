//! Updates: asked for, or brought to a webhook.

use std::time::Duration;

use serde_json::{Value, json};

use crate::hub::{self, Asked, Told};

use super::form::{self, Form};
use super::{Inner, State, Telegram, answers};

/// What comes when nothing is said of kinds.
const NOT_BY_DEFAULT: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

impl Telegram {
    /// Something happens. Without a number of its own the update gets the next one; it is given.
    pub fn deliver(&self, mut update: Value) -> i64 {
        let number = {
            let mut state = self.inner.state();
            let number = update["update_id"].as_i64().unwrap_or(state.next_update);
            state.next_update = number + 1;
            update["update_id"] = json!(number);
            state.learn(&update);
            state.updates.push_back(update);
            number
        };
        self.inner.news.send_modify(|news| *news += 1);
        number
    }

    /// How many updates Telegram still keeps.
    pub fn pending(&self) -> usize {
        self.inner.state().updates.len()
    }

    /// The webhook that is set, as it was asked for.
    pub fn webhook(&self) -> Option<Value> {
        self.inner.state().webhook.clone()
    }

    /// Somebody else sets a webhook for the bot.
    pub fn take_over(&self, url: &str) {
        self.inner.state().webhook = Some(json!({ "url": url }));
    }

    /// Telegram could not bring something to the webhook.
    pub fn fail_webhook(&self, why: &str) {
        self.inner.state().webhook_error = Some((1_800_000_000, why.to_owned()));
    }

    /// What Telegram would post of an update: headers and body.
    pub fn posted(&self, update: &Value) -> (Vec<(&'static str, String)>, Vec<u8>) {
        let webhook = self.webhook().unwrap_or_default();
        let secret = webhook["secret_token"].as_str();
        let header = secret.map(|secret| ("X-Telegram-Bot-Api-Secret-Token", secret.to_owned()));
        (
            header.into_iter().collect(),
            update.to_string().into_bytes(),
        )
    }

    /// Brings what waits to the webhook, in order, and stops at the first that is not taken. Gives
    /// the statuses with which it was answered.
    pub async fn bring(&self) -> std::io::Result<Vec<u16>> {
        let mut statuses = Vec::new();
        loop {
            let (url, update) = {
                let state = self.inner.state();
                let url = state.webhook.as_ref().and_then(|set| set["url"].as_str());
                let Some(url) = url.map(str::to_owned) else {
                    return Err(std::io::Error::other("no webhook is set"));
                };
                let Some(update) = state.updates.front().cloned() else {
                    return Ok(statuses);
                };
                (url, update)
            };
            let (headers, body) = self.posted(&update);
            let (status, _) = hub::post(&url, &headers, &body).await?;
            statuses.push(status);
            let mut state = self.inner.state();
            if !(200..300).contains(&status) {
                let why = format!("Wrong response from the webhook: {status}");
                state.webhook_error = Some((1_700_000_000 + i64::from(status), why));
                return Ok(statuses);
            }
            state.updates.pop_front();
        }
    }
}

impl State {
    /// Chats, topics, messages and presses that an update names are there from now on.
    fn learn(&mut self, update: &Value) {
        let press = &update["callback_query"];
        if let Some(id) = press["id"].as_str() {
            self.queries.insert(id.to_owned());
        }
        let all = [
            &update["message"],
            &update["channel_post"],
            &press["message"],
        ];
        for message in all {
            let chat = &message["chat"];
            let (Some(id), Some(kind)) = (chat["id"].as_i64(), chat["type"].as_str()) else {
                continue;
            };
            self.chats.insert(id, kind.to_owned());
            if let Some(number) = message["message_id"].as_i64() {
                self.next_message = self.next_message.max(number + 1);
                let there = self.messages.entry((id, number));
                there.or_insert_with(|| message.clone());
            }
            if message["is_topic_message"] == true
                && let Some(topic) = message["message_thread_id"].as_i64()
            {
                self.topics.insert((id, topic));
            }
        }
    }

    fn wanted(&self, update: &Value) -> bool {
        match self.allowed.as_deref() {
            Some(kinds) if !kinds.is_empty() => {
                kinds.iter().any(|kind| !update[kind.as_str()].is_null())
            }
            _ => !NOT_BY_DEFAULT.iter().any(|kind| !update[*kind].is_null()),
        }
    }
}

impl Inner {
    /// Holds a long poll until there is something, its time is over, or another takes its place.
    pub(super) async fn wait(&self, asked: &Asked) -> Option<Told> {
        if !asked.path.ends_with("/getUpdates") || !asked.path.contains(Telegram::TOKEN) {
            return None;
        }
        let mut form = form::read(asked).ok()?;
        let known = super::published::fields("getUpdates")?;
        form::check("getUpdates", &mut form, known).ok()?;
        let held = form
            .fields
            .get("timeout")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        let until = tokio::time::Instant::now() + Duration::from_secs(held.min(50));
        let mut news = self.news.subscribe();
        let mine = {
            let mut state = self.state();
            state.poll += 1;
            state.settle(&form);
            state.poll
        };
        self.news.send_modify(|news| *news += 1);
        loop {
            {
                let state = self.state();
                if state.poll != mine {
                    let why = "Conflict: terminated by other getUpdates request; \
                        make sure that only one bot instance is running";
                    return Some(answers::refused(409, why));
                }
                if state.webhook.is_some() || !state.updates.is_empty() {
                    return None;
                }
            }
            tokio::select! {
                changed = news.changed() => changed.ok()?,
                () = tokio::time::sleep_until(until) => return None,
            }
        }
    }

    pub(super) fn get_updates(&self, form: &Form) -> Told {
        let mut state = self.state();
        if state.webhook.is_some() {
            let why = "Conflict: can't use getUpdates method while webhook is active; \
                use deleteWebhook to delete the webhook first";
            return answers::refused(409, why);
        }
        let limit = form
            .fields
            .get("limit")
            .and_then(Value::as_u64)
            .unwrap_or(100);
        if !(1..=100).contains(&limit) {
            return answers::refused(400, "Bad Request: limit must be 1 to 100");
        }
        state.settle(form);
        let limit = usize::try_from(limit).unwrap_or(100);
        let all: Vec<&Value> = state.updates.iter().take(limit).collect();
        answers::done(&json!(all))
    }
}

impl State {
    /// Forgets what is confirmed, and learns which kinds are wanted.
    fn settle(&mut self, form: &Form) {
        if let Some(kinds) = form.fields.get("allowed_updates").and_then(Value::as_array) {
            let kinds = kinds.iter().filter_map(Value::as_str).map(str::to_owned);
            self.allowed = Some(kinds.collect());
        }
        if let Some(offset) = form.fields.get("offset").and_then(Value::as_i64) {
            match offset {
                0.. => self
                    .updates
                    .retain(|update| update["update_id"].as_i64() >= Some(offset)),
                _ => {
                    let back = usize::try_from(-offset).unwrap_or(0);
                    let over = self.updates.len().saturating_sub(back);
                    self.updates.drain(..over);
                }
            }
        }
        let kept: Vec<bool> = self
            .updates
            .iter()
            .map(|update| self.wanted(update))
            .collect();
        let mut kept = kept.into_iter();
        self.updates.retain(|_| kept.next().unwrap_or(true));
    }
}
