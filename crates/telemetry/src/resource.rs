//! What identifies this process in exported data.

use percent_encoding::percent_decode_str;

use crate::record::Value;

/// The process that exports.
#[derive(Debug, Clone)]
pub struct Process {
    /// The default of `OTEL_SERVICE_NAME`.
    pub service: &'static str,
    /// Name of the machine.
    pub host: String,
    /// Name of the node, if it is one.
    pub node: Option<String>,
}

/// Comma-separated `key=value` pairs with percent-encoded values, as in `OTEL_RESOURCE_ATTRIBUTES` and
/// `OTEL_EXPORTER_OTLP_HEADERS`.
pub(crate) fn pairs(variable: &str, text: &str) -> Result<Vec<(String, String)>, String> {
    let entries = text.split(',').map(str::trim);
    entries
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let pair = entry.split_once('=');
            let pair = pair.filter(|(key, _)| !key.trim().is_empty());
            // The entry is not quoted: it may be a credential.
            let (key, value) =
                pair.ok_or_else(|| format!("{variable}: each entry must be KEY=VALUE"))?;
            let value = percent_decode_str(value.trim()).decode_utf8();
            let value =
                value.map_err(|_| format!("{variable}: the value of {key} is not UTF-8"))?;
            Ok((key.trim().to_owned(), value.into_owned()))
        })
        .collect()
}

/// The attributes of the resource. Those the user sets win.
pub(crate) fn attributes(
    process: &Process,
    instance: String,
    service: Option<&str>,
    given: &[(String, String)],
) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut set = |key: &str, value: &str| {
        match all.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = Value::from(value),
            None => all.push((key.to_owned(), Value::from(value))),
        };
    };
    set("service.name", process.service);
    set("service.version", env!("CARGO_PKG_VERSION"));
    set("service.instance.id", &instance);
    set("host.name", &process.host);
    if let Some(node) = &process.node {
        set("manyhands.node.id", node);
    }
    set("telemetry.sdk.name", "manyhands");
    set("telemetry.sdk.language", "rust");
    set("telemetry.sdk.version", env!("CARGO_PKG_VERSION"));
    for (key, value) in given {
        set(key, value);
    }
    // The specification gives the variable of its own precedence over the list.
    if let Some(service) = service {
        set("service.name", service);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_and_wrong_ones_named_without_their_values() {
        let read = |text| pairs("OTEL_RESOURCE_ATTRIBUTES", text);
        let expected = vec![
            ("a".to_owned(), "1 2".to_owned()),
            ("b".to_owned(), "x=y".to_owned()),
        ];
        assert_eq!(read(" a = 1%202 , b=x=y,").unwrap(), expected);
        assert_eq!(read("").unwrap(), []);
        let error = read("a=1,s3cret").unwrap_err();
        assert!(error.contains("OTEL_RESOURCE_ATTRIBUTES") && !error.contains("s3cret"));
    }

    #[test]
    fn what_the_user_sets_wins() {
        let process = Process {
            service: "manyhands",
            host: "desk".to_owned(),
            node: None,
        };
        let given = [
            ("service.name".to_owned(), "listed".to_owned()),
            ("host.name".to_owned(), "other".to_owned()),
        ];
        let name = |service| {
            let all = attributes(&process, "1".to_owned(), service, &given);
            let of = |key: &str| all.iter().find(|(known, _)| known == key).cloned();
            (of("service.name").unwrap().1, of("host.name").unwrap().1)
        };
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(name(None), (text("listed"), text("other")));
        assert_eq!(name(Some("named")).0, text("named"));
    }
}
