//! OTLP messages in protobuf, written by field number as in `opentelemetry/proto/*/v1`.

use crate::metrics::{Family, Points};
use crate::record::{LogRecord, SpanKind, SpanRecord, Value};

/// The instrumentation scope of everything that is exported.
const SCOPE: &str = "manyhands";
/// The conventions that attributes follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.40.0";
/// Set in a span's flags if the next bit says whether the parent is remote.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// Totals since the start, not differences.
const CUMULATIVE: u64 = 2;

/// A protobuf message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number as u8) | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn number(&mut self, field: u32, number: u64) {
        self.tag(field, 0);
        self.varint(number);
    }

    fn fixed64(&mut self, field: u32, number: u64) {
        self.tag(field, 1);
        self.0.extend(number.to_le_bytes());
    }

    fn fixed32(&mut self, field: u32, number: u32) {
        self.tag(field, 5);
        self.0.extend(number.to_le_bytes());
    }

    fn double(&mut self, field: u32, number: f64) {
        self.fixed64(field, number.to_bits());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn packed(&mut self, field: u32, numbers: impl Iterator<Item = u64>) {
        let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        self.bytes(field, &bytes);
    }

    fn value(&mut self, field: u32, value: &Value, redact: &dyn Fn(&str) -> String) {
        self.message(field, |any| match value {
            Value::Text(text) => any.text(1, &redact(text)),
            Value::Bool(flag) => any.number(2, u64::from(*flag)),
            // Negative numbers are written in two's complement, as protobuf's int64.
            Value::Int(number) => any.number(3, number.cast_unsigned()),
            Value::Double(number) => any.double(4, *number),
            Value::Texts(texts) => any.message(5, |list| {
                for text in texts {
                    list.message(1, |any| any.text(1, &redact(text)));
                }
            }),
        });
    }

    fn attribute(&mut self, field: u32, key: &str, value: &Value, redact: &dyn Fn(&str) -> String) {
        self.message(field, |pair| {
            pair.text(1, key);
            pair.value(2, value, redact);
        });
    }
}

/// What is the same in every request.
pub(crate) struct ExportRequest<'a> {
    /// Attributes of this process.
    pub(crate) resource: &'a [(String, Value)],
    /// Removes secrets from texts.
    pub(crate) redact: &'a dyn Fn(&str) -> String,
}

impl ExportRequest<'_> {
    /// A request with one resource and one scope. The three signals differ only in what their scope contains.
    fn request(&self, fill: impl FnOnce(&mut Message)) -> Vec<u8> {
        let as_is = |text: &str| text.to_owned();
        let mut request = Message::default();
        request.message(1, |of_resource| {
            of_resource.message(1, |resource| {
                for (key, value) in self.resource {
                    resource.attribute(1, key, value, &as_is);
                }
            });
            of_resource.message(2, |of_scope| {
                of_scope.message(1, |scope| {
                    scope.text(1, SCOPE);
                    scope.text(2, env!("CARGO_PKG_VERSION"));
                });
                fill(of_scope);
                of_scope.text(3, SCHEMA);
            });
        });
        request.0
    }

    /// An `ExportTraceServiceRequest`.
    pub(crate) fn traces(&self, spans: &[SpanRecord]) -> Vec<u8> {
        self.request(|scope| {
            for span in spans {
                scope.message(2, |message| self.span(message, span));
            }
        })
    }

    fn span(&self, message: &mut Message, span: &SpanRecord) {
        message.bytes(1, &span.trace);
        message.bytes(2, &span.span);
        if let Some(state) = &span.state {
            message.text(3, state);
        }
        let mut flags = 1 | HAS_IS_REMOTE;
        if let Some(parent) = span.parent {
            message.bytes(4, &parent.span);
            flags |= if parent.remote { IS_REMOTE } else { 0 };
        }
        message.text(5, &(self.redact)(&span.name));
        message.number(
            6,
            match span.kind {
                SpanKind::Internal => 1,
                SpanKind::Server => 2,
                SpanKind::Client => 3,
            },
        );
        message.fixed64(7, span.began);
        message.fixed64(8, span.ended);
        for (key, value) in &span.attributes {
            message.attribute(9, key, value, self.redact);
        }
        if span.failed {
            message.message(15, |status| status.number(3, 2));
        }
        message.fixed32(16, flags);
    }

    /// An `ExportLogsServiceRequest`.
    pub(crate) fn logs(&self, records: &[LogRecord]) -> Vec<u8> {
        self.request(|scope| {
            for record in records {
                scope.message(2, |message| self.log(message, record));
            }
        })
    }

    fn log(&self, message: &mut Message, record: &LogRecord) {
        let (severity, word) = match record.level {
            tracing::Level::ERROR => (17, "ERROR"),
            tracing::Level::WARN => (13, "WARN"),
            tracing::Level::INFO => (9, "INFO"),
            tracing::Level::DEBUG => (5, "DEBUG"),
            tracing::Level::TRACE => (1, "TRACE"),
        };
        message.fixed64(1, record.at);
        message.number(2, severity);
        message.text(3, word);
        message.message(5, |body| body.text(1, &(self.redact)(&record.body)));
        for (key, value) in &record.attributes {
            message.attribute(6, key, value, self.redact);
        }
        if let Some((trace, span, sampled)) = &record.context {
            message.fixed32(8, u32::from(*sampled));
            message.bytes(9, trace);
            message.bytes(10, span);
        }
        message.fixed64(11, record.at);
        if let Some(event) = &record.event {
            message.text(12, event);
        }
    }

    /// An `ExportMetricsServiceRequest`; the numbers were counted from `began` to `now`.
    pub(crate) fn metrics(&self, families: &[Family], began: u64, now: u64) -> Vec<u8> {
        self.request(|scope| {
            for family in families {
                scope.message(2, |metric| {
                    metric.text(1, &family.name);
                    if !family.description.is_empty() {
                        metric.text(2, &family.description);
                    }
                    self.points(metric, family, began, now);
                });
            }
        })
    }

    fn points(&self, metric: &mut Message, family: &Family, began: u64, now: u64) {
        let labels = |point: &mut Message, field, labels: &[(String, String)]| {
            for (key, value) in labels {
                let value = Value::Text(value.clone());
                point.attribute(field, key, &value, self.redact);
            }
        };
        match &family.points {
            Points::Gauge(points) => metric.message(5, |gauge| {
                for point in points {
                    gauge.message(1, |message| {
                        message.fixed64(3, now);
                        message.double(4, point.value);
                        labels(message, 7, &point.labels);
                    });
                }
            }),
            Points::Counter(points) => metric.message(7, |sum| {
                for point in points {
                    sum.message(1, |message| {
                        message.fixed64(2, began);
                        message.fixed64(3, now);
                        message.double(4, point.value);
                        labels(message, 7, &point.labels);
                    });
                }
                sum.number(2, CUMULATIVE);
                sum.number(3, 1);
            }),
            Points::Histogram(points) => metric.message(9, |histogram| {
                for point in points {
                    histogram.message(1, |message| {
                        message.fixed64(2, began);
                        message.fixed64(3, now);
                        message.fixed64(4, point.count);
                        message.double(5, point.sum);
                        message.packed(6, point.counts.iter().copied());
                        message.packed(7, point.bounds.iter().map(|bound| bound.to_bits()));
                        labels(message, 9, &point.labels);
                    });
                }
                histogram.number(2, CUMULATIVE);
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_protobuf_defines_them() {
        let mut message = Message::default();
        message.number(1, 150);
        assert_eq!(message.0, [0x08, 0x96, 0x01]);
        let mut message = Message::default();
        message.text(2, "testing");
        assert_eq!(
            message.0,
            [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']
        );
        let mut message = Message::default();
        message.value(1, &Value::Int(-1), &|text| text.to_owned());
        assert_eq!(
            message.0,
            [
                0x0a, 11, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01
            ]
        );
    }
}
