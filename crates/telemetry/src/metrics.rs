//! Reads metrics from the text that `/metrics` serves: the exported series are the served ones, by construction.

use std::collections::BTreeMap;

/// A metric with all its series.
#[derive(Debug, PartialEq)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) points: Points,
}

/// The series of a metric.
#[derive(Debug, PartialEq)]
pub(crate) enum Points {
    Gauge(Vec<Point>),
    Counter(Vec<Point>),
    Histogram(Vec<Distribution>),
}

/// One number.
#[derive(Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// One histogram.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Distribution {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) bounds: Vec<f64>,
    /// How many values fell between two bounds; one more than there are bounds.
    pub(crate) counts: Vec<u64>,
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

/// The metrics in `text`. Lines that are not understood are left out.
pub(crate) fn read(text: &str) -> Vec<Family> {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line);
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    families: Vec<Family>,
    descriptions: BTreeMap<String, String>,
    /// Name and type of the metric whose samples follow.
    open: Option<(String, String)>,
    samples: Vec<Sample>,
}

struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(help) = line.strip_prefix("# HELP ") {
            if let Some((name, text)) = help.split_once(' ') {
                self.descriptions.insert(name.to_owned(), text.to_owned());
            }
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            self.close();
            let open = kind.split_once(' ');
            self.open = open.map(|(name, kind)| (name.to_owned(), kind.trim().to_owned()));
        } else if !line.starts_with('#') {
            self.samples.extend(sample(line));
        }
    }

    fn close(&mut self) {
        let samples = std::mem::take(&mut self.samples);
        let Some((name, kind)) = self.open.take() else {
            return;
        };
        let simple = |samples: Vec<Sample>| {
            let points = samples.into_iter().map(|sample| Point {
                labels: sample.labels,
                value: sample.value,
            });
            points.collect()
        };
        let points = match kind.as_str() {
            "counter" => Points::Counter(simple(samples)),
            "gauge" => Points::Gauge(simple(samples)),
            "histogram" => Points::Histogram(distributions(&name, samples)),
            _ => return,
        };
        self.families.push(Family {
            description: self.descriptions.remove(&name).unwrap_or_default(),
            name,
            points,
        });
    }

    fn finish(mut self) -> Vec<Family> {
        self.close();
        self.families
    }
}

/// `name{label="value",...} 1.5`
fn sample(line: &str) -> Option<Sample> {
    let (head, value) = line.trim_end().rsplit_once(' ')?;
    let (name, labels) = match head.split_once('{') {
        Some((name, rest)) => (name, labels(rest)?),
        None => (head, Vec::new()),
    };
    Some(Sample {
        name: name.to_owned(),
        labels,
        // NaN stands for what does not exist any more.
        value: value.parse().ok().filter(|value: &f64| !value.is_nan())?,
    })
}

/// `a="1",b="x\"y"}`
fn labels(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(',');
        if rest.starts_with('}') {
            return Some(found);
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut signs = after.char_indices();
        let end = loop {
            match signs.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(match signs.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, sign) => value.push(sign),
            }
        };
        found.push((name.to_owned(), value));
        rest = &after[end..];
    }
}

fn distributions(name: &str, samples: Vec<Sample>) -> Vec<Distribution> {
    let mut all: Vec<Distribution> = Vec::new();
    for mut sample in samples {
        let part = sample
            .name
            .strip_prefix(name)
            .unwrap_or_default()
            .to_owned();
        let bound = sample.labels.iter().position(|(label, _)| label == "le");
        let bound = bound.map(|at| sample.labels.remove(at).1);
        let known = all.iter().position(|one| one.labels == sample.labels);
        let at = known.unwrap_or_else(|| {
            all.push(Distribution {
                labels: sample.labels,
                ..Distribution::default()
            });
            all.len() - 1
        });
        let one = &mut all[at];
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count, written without a fraction"
        )]
        let count = sample.value as u64;
        match (part.as_str(), bound.as_deref()) {
            ("_bucket", Some("+Inf")) => one.counts.push(count),
            ("_bucket", Some(bound)) => {
                one.bounds.extend(bound.parse::<f64>());
                one.counts.push(count);
            }
            ("_count", None) => one.count = count,
            ("_sum", None) => one.sum = sample.value,
            _ => {}
        }
    }
    for one in &mut all {
        // Prometheus counts everything up to a bound, OTLP what lies between two.
        for at in (1..one.counts.len()).rev() {
            one.counts[at] = one.counts[at].saturating_sub(one.counts[at - 1]);
        }
    }
    all.retain(|one| one.counts.len() == one.bounds.len() + 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn counters_and_gauges_are_read_with_their_labels() {
        let text = "# HELP calls Calls by tool.\n# TYPE calls counter\ncalls{tool=\"a b\",why=\"x\\\"y\\\\\\n\"} 3\ncalls{tool=\"c\"} 1\n\n# TYPE free gauge\nfree 1.5e9\n";
        let counter = Family {
            name: "calls".to_owned(),
            description: "Calls by tool.".to_owned(),
            points: Points::Counter(vec![
                Point {
                    labels: vec![pair("tool", "a b"), pair("why", "x\"y\\\n")],
                    value: 3.0,
                },
                Point {
                    labels: vec![pair("tool", "c")],
                    value: 1.0,
                },
            ]),
        };
        let gauge = Family {
            name: "free".to_owned(),
            description: String::new(),
            points: Points::Gauge(vec![Point {
                labels: Vec::new(),
                value: 1.5e9,
            }]),
        };
        assert_eq!(read(text), [counter, gauge]);
    }

    #[test]
    fn buckets_become_counts_between_bounds() {
        let text = "# TYPE ms histogram\nms_bucket{tool=\"a\",le=\"1\"} 2\nms_bucket{tool=\"a\",le=\"10\"} 5\nms_bucket{tool=\"a\",le=\"+Inf\"} 6\nms_sum{tool=\"a\"} 33.5\nms_count{tool=\"a\"} 6\n";
        let expected = Distribution {
            labels: vec![pair("tool", "a")],
            bounds: vec![1.0, 10.0],
            counts: vec![2, 3, 1],
            count: 6,
            sum: 33.5,
        };
        let families = read(text);
        assert_eq!(families[0].points, Points::Histogram(vec![expected]));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        for text in ["", "nonsense", "# TYPE a summary\na 1\n", "a{b=\"c 1\n"] {
            assert_eq!(read(text), [], "{text}");
        }
    }
}
