//! What arrived at a fake.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

/// One request as it arrived.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// The platform.
    pub platform: &'static str,
    /// `GET`, `POST`, …
    pub method: String,
    /// Its path as the published description names it, with parameters and tokens left out
    /// (`/sendMessage`, `/v2/bot/message/push`).
    pub path: String,
    /// The type of the body.
    pub content_type: String,
    /// The body as JSON: an object of fields; of a file its name, type and size.
    pub body: Value,
    /// The status with which it was answered.
    pub status: u16,
}

/// Every request that arrived, in order. Clones are the same.
#[derive(Clone)]
pub struct Journal {
    all: Arc<Mutex<Vec<Recorded>>>,
    count: watch::Sender<usize>,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            all: Arc::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl Journal {
    /// Keeps one. Where `MANYHANDS_JOURNAL` names a file, it is written there too, a line each, to
    /// be held against the published description.
    pub fn keep(&self, one: Recorded) {
        Self::write(&one);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(one);
        let count = all.len();
        drop(all);
        self.count.send_replace(count);
    }

    /// Writes what a fake tells a webhook to the file, so that others can read it too; it did not
    /// arrive here, and is not kept.
    pub fn told(platform: &'static str, secret: &str, signature: &str, body: &str) {
        Self::write(&Recorded {
            platform,
            method: "WEBHOOK".to_owned(),
            path: "/".to_owned(),
            content_type: "application/json".to_owned(),
            body: serde_json::json!({"raw": body, "signature": signature, "secret": secret}),
            status: 200,
        });
    }

    fn write(one: &Recorded) {
        if let Ok(path) = std::env::var("MANYHANDS_JOURNAL")
            && let Ok(line) = serde_json::to_string(one)
            && let Ok(mut file) = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path)
        {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// All that arrived until now.
    pub fn all(&self) -> Vec<Recorded> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    /// Those that went to `path`.
    pub fn at(&self, path: &str) -> Vec<Recorded> {
        let all = self.all().into_iter();
        all.filter(|one| one.path == path).collect()
    }

    /// Waits until what arrived fits, and gives all of it.
    pub async fn until(&self, fits: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        let mut count = self.count.subscribe();
        loop {
            let all = self.all();
            if fits(&all) {
                return all;
            }
            if count.changed().await.is_err() {
                return all;
            }
        }
    }
}
