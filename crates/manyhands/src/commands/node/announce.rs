//! What a node in the foreground says about its connection.

use std::fmt;
use std::io::IsTerminal;
use std::sync::Mutex;

use manyhands_core::NodeId;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::ground::Ground;
use crate::lending::Lending;
use crate::output::{self, Failure};

/// What is written to the log unless the environment says otherwise: the lines of the node
/// itself are said in words already.
const QUIET: &str = "warn,manyhands_node=off";

/// Says from here on how the connection of the node is, and writes the log.
pub fn listen(id: &NodeId, url: &str, lending: &Lending, ground: &Ground) -> Result<(), Failure> {
    let filter = ground.log_filter().unwrap_or_else(|| QUIET.to_owned());
    let wrong = |e| Failure(format!("the log level {filter:?} is wrong: {e}"));
    let filter = EnvFilter::try_new(&filter).map_err(wrong)?;
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter);
    let announcer = Announcer {
        news: Mutex::new(News {
            id: id.to_string(),
            url: url.to_owned(),
            lending: lending.to_string(),
            connection: Connection::New,
        }),
    };
    let all = tracing_subscriber::registry().with(log).with(announcer);
    all.try_init()
        .map_err(|e| Failure(format!("the log cannot be written: {e}")))
}

/// Turns what the node writes about its connection into lines for a person.
struct Announcer {
    news: Mutex<News>,
}

impl<S: Subscriber> Layer<S> for Announcer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "manyhands_node" {
            return;
        }
        let mut seen = Seen::default();
        event.record(&mut seen);
        let mut news = self.news.lock().expect("no panic while held");
        if let Some(line) = news.line(&seen) {
            output::say(line);
        }
    }
}

struct News {
    id: String,
    url: String,
    lending: String,
    connection: Connection,
}

#[derive(PartialEq)]
enum Connection {
    /// There was none yet.
    New,
    /// There was none yet, for this reason.
    Unreached(String),
    /// It stands.
    Up,
    /// It broke.
    Lost,
}

impl News {
    /// What there is to say; the same is not said twice.
    fn line(&mut self, seen: &Seen) -> Option<String> {
        let (id, url) = (&self.id, &self.url);
        match seen.message.as_str() {
            "connected" => {
                let again = self.connection == Connection::Lost;
                self.connection = Connection::Up;
                Some(match again {
                    true => format!("{id} is connected again to {url}"),
                    false => format!("{id} is connected to {url} ({})", self.lending),
                })
            }
            "no connection to the gateway" => {
                let why = seen.about("why");
                let (next, line) = match &self.connection {
                    Connection::Up => (
                        Connection::Lost,
                        format!("{id} lost its connection to {url}: {why}; dialing again"),
                    ),
                    Connection::Lost => return None,
                    Connection::New | Connection::Unreached(_) => (
                        Connection::Unreached(why.clone()),
                        format!("{id} does not reach {url}: {why}; dialing again"),
                    ),
                };
                let changed = self.connection != next;
                self.connection = next;
                changed.then_some(line)
            }
            "this node has another name at the gateway" => Some(format!(
                "{id} is called {} at the gateway",
                seen.about("name")
            )),
            _ => None,
        }
    }
}

/// One line of the node's log.
#[derive(Default)]
struct Seen {
    message: String,
    about: Value,
}

impl Seen {
    fn about(&self, key: &str) -> String {
        self.about[key].as_str().unwrap_or_default().to_owned()
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "about" => self.about = serde_json::from_str(&format!("{value:?}")).unwrap_or_default(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(message: &str, about: Value) -> Seen {
        Seen {
            message: message.to_owned(),
            about,
        }
    }

    #[test]
    fn every_change_of_the_connection_is_one_line() {
        let mut news = News {
            id: "laptop".to_owned(),
            url: "http://a:1".to_owned(),
            lending: "workspace /x, sandbox off".to_owned(),
            connection: Connection::New,
        };
        let lost = |why: &str| seen("no connection to the gateway", json!({ "why": why }));
        let up = || seen("connected", json!({}));
        for (told, line) in [
            (
                lost("refused"),
                Some("laptop does not reach http://a:1: refused; dialing again"),
            ),
            (lost("refused"), None),
            (
                lost("no answer"),
                Some("laptop does not reach http://a:1: no answer; dialing again"),
            ),
            (
                up(),
                Some("laptop is connected to http://a:1 (workspace /x, sandbox off)"),
            ),
            (
                lost("it went"),
                Some("laptop lost its connection to http://a:1: it went; dialing again"),
            ),
            (lost("refused"), None),
            (up(), Some("laptop is connected again to http://a:1")),
            (seen("call", json!({})), None),
            (
                seen(
                    "this node has another name at the gateway",
                    json!({ "name": "desk" }),
                ),
                Some("laptop is called desk at the gateway"),
            ),
        ] {
            assert_eq!(news.line(&told).as_deref(), line);
        }
    }
}
