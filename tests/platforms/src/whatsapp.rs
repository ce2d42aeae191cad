//! A WhatsApp Cloud API that checks what it is told.

mod checks;
pub(crate) mod form;
mod webhook;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Journal;
use crate::hub::{self, Asked, Fault, Faults, Platform, Told};

/// The version that it speaks.
const VERSION: &str = "v23.0";

/// A WhatsApp on loopback. Clones are the same.
#[derive(Clone)]
pub struct WhatsApp {
    inner: Arc<Inner>,
    /// Where it is: both its interface and its files.
    pub url: String,
}

struct Inner {
    token: String,
    secret: String,
    journal: Journal,
    faults: Faults,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    url: String,
    /// Files that were put up, and files that people sent.
    files: HashMap<String, File>,
    /// People who have not written for a day.
    silent: HashSet<String>,
    /// What arrived, in order.
    arrived: Vec<Value>,
    read: Vec<String>,
}

#[derive(Clone)]
struct File {
    mime: String,
    bytes: Bytes,
    /// Where it is said to be, if not here.
    elsewhere: Option<String>,
}

impl WhatsApp {
    /// The id of our number.
    pub const PHONE: &'static str = "106540352242922";
    /// Our number.
    pub const NUMBER: &'static str = "15550783881";

    /// Starts one that takes this token and signs with this secret.
    pub async fn start(token: &str, secret: &str) -> Self {
        let inner = Arc::new(Inner {
            token: token.to_owned(),
            secret: secret.to_owned(),
            journal: Journal::default(),
            faults: Faults::default(),
            state: Mutex::default(),
        });
        let url = hub::listen(inner.clone()).await;
        inner.state().url.clone_from(&url);
        Self { inner, url }
    }

    /// Every request.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// The next request whose path ends so goes wrong.
    pub fn fail(&self, path: &str, fault: Fault) {
        self.inner.faults.plan(path, fault);
    }

    /// The next request whose path ends so goes well, whatever is planned after it.
    pub fn pass(&self, path: &str) {
        self.inner.faults.plan(path, Fault::None);
    }

    /// What arrived, in order, as it was sent.
    pub fn arrived(&self) -> Vec<Value> {
        self.inner.state().arrived.clone()
    }

    /// Messages that were marked as read.
    pub fn read(&self) -> Vec<String> {
        self.inner.state().read.clone()
    }

    /// Somebody has not written for more than a day.
    pub fn fall_silent(&self, who: &str) {
        self.inner.state().silent.insert(who.to_owned());
    }

    /// Somebody sent a file.
    pub fn keep_file(&self, id: &str, mime: &str, bytes: impl Into<Bytes>) {
        let file = File {
            mime: mime.to_owned(),
            bytes: bytes.into(),
            elsewhere: None,
        };
        self.inner.state().files.insert(id.to_owned(), file);
    }

    /// A file is said to be at another place.
    pub fn move_file(&self, id: &str, url: &str) {
        if let Some(file) = self.inner.state().files.get_mut(id) {
            file.elsewhere = Some(url.to_owned());
        }
    }

    /// The bytes of a file that was put up, with its type.
    pub fn file(&self, id: &str) -> Option<(String, Bytes)> {
        let state = self.inner.state();
        let file = state.files.get(id)?;
        Some((file.mime.clone(), file.bytes.clone()))
    }

    /// An error as the platform writes it.
    pub fn error(code: i64, message: &str, details: &str) -> String {
        let mut error = json!({
            "message": format!("(#{code}) {message}"),
            "type": "OAuthException",
            "code": code,
            "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam",
        });
        if !details.is_empty() {
            error["error_data"] = json!({"messaging_product": "whatsapp", "details": details});
        }
        json!({"error": error}).to_string()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, path: &[&str], asked: &Asked) -> Told {
        let state = self.state();
        match path {
            [VERSION, WhatsApp::PHONE] => Told::json(
                200,
                &json!({
                    "id": WhatsApp::PHONE,
                    "display_phone_number": "+1 555-078-3881",
                    "verified_name": "Manyhands",
                }),
            ),
            [VERSION, id] => match state.files.get(*id) {
                Some(file) => {
                    let here = format!("{}/whatsapp_business/attachments/?mid={id}", state.url);
                    Told::json(
                        200,
                        &json!({
                            "messaging_product": "whatsapp",
                            "url": file.elsewhere.clone().unwrap_or(here),
                            "mime_type": file.mime,
                            "sha256": "0",
                            "file_size": file.bytes.len().to_string(),
                            "id": id,
                        }),
                    )
                }
                None => refusal(400, 100, "Object with this ID does not exist", ""),
            },
            ["whatsapp_business", "attachments", ""] => {
                let id = asked.query.trim_start_matches("mid=");
                match state.files.get(id) {
                    Some(file) => Told {
                        content_type: file.mime.clone(),
                        body: file.bytes.clone(),
                        ..Told::json(200, &Value::Null)
                    },
                    None => refusal(404, 100, "Not found", ""),
                }
            }
            _ => refusal(400, 2500, "Unknown path components", ""),
        }
    }

    fn upload(&self, asked: &Asked) -> Told {
        let fields = match form::parts(asked) {
            Some(parts) => parts,
            None => return refusal(400, 100, "Invalid parameter", "The form cannot be read"),
        };
        let field = |name: &str| fields.iter().find(|part| part.name == name);
        let value = |name: &str| field(name).map(|part| part.body.clone());
        if value("messaging_product").as_deref() != Some(b"whatsapp") {
            return refusal(400, 100, "The parameter messaging_product is required.", "");
        }
        let Some(file) = field("file").filter(|part| part.file.is_some()) else {
            return refusal(400, 100, "The parameter file is required.", "");
        };
        let said = value("type").map(|kind| String::from_utf8_lossy(&kind).into_owned());
        if said.as_deref() != Some(&*file.mime) {
            return refusal(400, 100, "The parameter type is required.", "");
        }
        let Some(most) = checks::largest(&file.mime) else {
            let words = "Param file must be a file with one of the following types: audio/aac, \
                         application/pdf, image/jpeg, …";
            return refusal(400, 100, words, "");
        };
        if file.body.len() > most {
            return refusal(400, 131_053, "Media upload error", "The file is too large");
        }
        let mut state = self.state();
        state.next += 1;
        let id = (4_490_709_327_384_000 + state.next).to_string();
        let kept = File {
            mime: file.mime.clone(),
            bytes: file.body.clone(),
            elsewhere: None,
        };
        state.files.insert(id.clone(), kept);
        Told::json(200, &json!({"id": id}))
    }

    fn send(&self, body: &Value) -> Told {
        if body["messaging_product"] != "whatsapp" {
            return refusal(400, 100, "The parameter messaging_product is required.", "");
        }
        if !body["status"].is_null() {
            return match checks::read(body) {
                Ok(message) => {
                    self.state().read.push(message);
                    Told::json(200, &json!({"success": true}))
                }
                Err(problem) => problem,
            };
        }
        let mut state = self.state();
        let known = |id: &str| state.files.contains_key(id);
        if let Err(problem) = checks::message(body, &known) {
            return problem;
        }
        let to = body["to"].as_str().unwrap_or_default();
        if state.silent.contains(to) && body["type"] != "template" {
            let details = "Message failed to send because more than 24 hours have passed since \
                           the customer last replied to this number.";
            return refusal(400, 131_047, "Re-engagement message", details);
        }
        state.next += 1;
        let id = format!("wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI{:04}", state.next);
        state.arrived.push(body.clone());
        Told::json(
            200,
            &json!({
                "messaging_product": "whatsapp",
                "contacts": [{"input": to, "wa_id": to}],
                "messages": [{"id": id}],
            }),
        )
    }
}

impl Platform for Inner {
    const NAME: &'static str = "whatsapp";

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn named(&self, path: &str) -> String {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match parts[..] {
            [VERSION, WhatsApp::PHONE] => "/{Version}/{Phone-Number-ID}".to_owned(),
            [VERSION, WhatsApp::PHONE, what] => format!("/{{Version}}/{{Phone-Number-ID}}/{what}"),
            [VERSION, _] => "/{Version}/{Media-ID}".to_owned(),
            _ => "/{Version}/{Media-URL}".to_owned(),
        }
    }

    fn fields(&self, asked: &Asked) -> Value {
        match form::parts(asked) {
            Some(parts) => form::fields(&parts),
            None => asked.json().unwrap_or_default(),
        }
    }

    fn answer(&self, asked: &Asked) -> Told {
        if asked.bearer() != self.token {
            return refusal(
                401,
                190,
                "Invalid OAuth access token - Cannot parse access token",
                "",
            );
        }
        let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
        match (asked.method.as_str(), &parts[..]) {
            ("GET", path) => self.get(path, asked),
            ("POST", [VERSION, WhatsApp::PHONE, "media"]) => self.upload(asked),
            ("POST", [VERSION, WhatsApp::PHONE, "messages"]) => {
                if !asked.header("content-type").starts_with("application/json") {
                    return refusal(400, 100, "The body is not JSON", "");
                }
                match asked.json().filter(Value::is_object) {
                    Some(body) => self.send(&body),
                    None => refusal(400, 100, "The body is not JSON", ""),
                }
            }
            _ => refusal(400, 100, "Unsupported post request", ""),
        }
    }
}

/// A refusal as the platform writes it.
fn refusal(status: u16, code: i64, message: &str, details: &str) -> Told {
    Told {
        body: Bytes::from(WhatsApp::error(code, message, details)),
        ..Told::json(status, &Value::Null)
    }
}
