//! Reports the connection state of a node in the foreground.

use std::fmt;
use std::io::IsTerminal;
use std::sync::Mutex;

use manyhands_core::NodeId;
use manyhands_telemetry::log_layer;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::context::CliContext;
use crate::sharing::Sharing;
use manyhands_terminal::output::{self, Failure};

/// Default log filter: the node's own log is off, because it is reported in readable form here.
const DEFAULT_FILTER: &str = "warn,manyhands_node=off";

/// Installs the log subscriber, which also prints connection changes.
pub fn listen(id: &NodeId, url: &str, sharing: &Sharing, ctx: &CliContext) -> Result<(), Failure> {
    let exported = ctx.log_filter().unwrap_or_else(|| "info".to_owned());
    let filter = ctx
        .log_filter()
        .unwrap_or_else(|| DEFAULT_FILTER.to_owned());
    let wrong = |e| Failure(format!("invalid log filter {filter:?}: {e}"));
    let exported = log_layer()
        .map(|layer| EnvFilter::try_new(&exported).map(|filter| layer.with_filter(filter)))
        .transpose()
        .map_err(wrong)?;
    let filter = EnvFilter::try_new(&filter).map_err(wrong)?;
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter);
    let announcer = Announcer {
        report: Mutex::new(ConnectionReport {
            id: id.to_string(),
            url: url.to_owned(),
            sharing: sharing.to_string(),
            connection: Connection::New,
        }),
    };
    let all = tracing_subscriber::registry()
        .with(log)
        .with(exported)
        .with(announcer);
    all.try_init()
        .map_err(|e| Failure(format!("cannot set up the log: {e}")))
}

/// Prints the node's connection events for the user.
struct Announcer {
    report: Mutex<ConnectionReport>,
}

impl<S: Subscriber> Layer<S> for Announcer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "manyhands_node" {
            return;
        }
        let mut record = LogRecord::default();
        event.record(&mut record);
        let mut report = self.report.lock().expect("no panic while held");
        if let Some(line) = report.line(&record) {
            output::print_line(line);
        }
    }
}

struct ConnectionReport {
    id: String,
    url: String,
    sharing: String,
    connection: Connection,
}

#[derive(PartialEq)]
enum Connection {
    /// Not connected yet.
    New,
    /// Not connected yet, for this reason.
    Unreached(String),
    /// Connected.
    Up,
    /// Lost.
    Lost,
}

impl ConnectionReport {
    /// Returns the line to print; repeated failures are reported once.
    fn line(&mut self, record: &LogRecord) -> Option<String> {
        let (id, url) = (&self.id, &self.url);
        match record.event.as_str() {
            "gateway_connected" => {
                let again = self.connection == Connection::Lost;
                self.connection = Connection::Up;
                Some(match again {
                    true => format!("{id} reconnected to {url}"),
                    false => format!("{id} connected to {url} ({})", self.sharing),
                })
            }
            "gateway_disconnected" => {
                let why = record.about("why");
                let (next, line) = match &self.connection {
                    Connection::Up => (
                        Connection::Lost,
                        format!("{id} lost its connection to {url}: {why}; reconnecting"),
                    ),
                    Connection::Lost => return None,
                    Connection::New | Connection::Unreached(_) => (
                        Connection::Unreached(why.clone()),
                        format!("{id} cannot reach {url}: {why}; retrying"),
                    ),
                };
                let changed = self.connection != next;
                self.connection = next;
                changed.then_some(line)
            }
            "node_renamed" => Some(format!(
                "{id} is named {} on the gateway",
                record.about("name")
            )),
            _ => None,
        }
    }
}

/// Fields of one log record.
#[derive(Default)]
struct LogRecord {
    /// Stable name of the event.
    event: String,
    about: Value,
}

impl LogRecord {
    fn about(&self, key: &str) -> String {
        self.about[key].as_str().unwrap_or_default().to_owned()
    }
}

impl Visit for LogRecord {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "event" {
            value.clone_into(&mut self.event);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Logged with `%`, so its debug form is the JSON text itself.
        if field.name() == "about" {
            self.about = serde_json::from_str(&format!("{value:?}")).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(event: &str, about: Value) -> LogRecord {
        LogRecord {
            event: event.to_owned(),
            about,
        }
    }

    #[test]
    fn every_change_of_the_connection_is_one_line() {
        let mut report = ConnectionReport {
            id: "laptop".to_owned(),
            url: "http://a:1".to_owned(),
            sharing: "workspace /x, sandbox off".to_owned(),
            connection: Connection::New,
        };
        let lost = |why: &str| record("gateway_disconnected", json!({ "why": why }));
        let up = || record("gateway_connected", json!({}));
        for (record, line) in [
            (
                lost("refused"),
                Some("laptop cannot reach http://a:1: refused; retrying"),
            ),
            (lost("refused"), None),
            (
                lost("no answer"),
                Some("laptop cannot reach http://a:1: no answer; retrying"),
            ),
            (
                up(),
                Some("laptop connected to http://a:1 (workspace /x, sandbox off)"),
            ),
            (
                lost("it went"),
                Some("laptop lost its connection to http://a:1: it went; reconnecting"),
            ),
            (lost("refused"), None),
            (up(), Some("laptop reconnected to http://a:1")),
            (record("tool_call_finished", json!({})), None),
            (
                record("node_renamed", json!({ "name": "desk" })),
                Some("laptop is named desk on the gateway"),
            ),
        ] {
            assert_eq!(report.line(&record).as_deref(), line);
        }
    }
}
