//! Finding tools: how often the right one is among the first five, and how fast.
//!
//! `DATA=../shared/data` names the sets, `VECTORS=target/vectors` the word vectors.
//! Weights were fitted on every other query. The other half is no clean test: which of several fits to keep, the table of
//! relatives and the list of words of asking were chosen with answers to both halves in sight.

use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use manyhands_core::SystemClock;
use manyhands_discovery::{Hit, Index, IndexEntry, ItemKind, Query, SearchOutcome};
use serde_json::{Value, json};

use crate::stats::{line, spread};

/// The sets, each with the goal for Recall@5.
const SETS: [(&str, f64); 4] = [
    ("metatool-single", 0.80),
    ("metatool-multi", 0.75),
    ("seal-tools", 0.85),
    ("stabletoolbench", 0.70),
];

struct Question {
    text: String,
    right: HashSet<String>,
}

/// Prints every figure of finding.
pub fn discovery() -> Result<(), Box<dyn Error>> {
    let data = PathBuf::from(std::env::var("DATA").unwrap_or_else(|_| "../shared/data".into()))
        .join("discovery");
    let vectors =
        PathBuf::from(std::env::var("VECTORS").unwrap_or_else(|_| "target/vectors".into()));
    if !data.is_dir() {
        line(
            "discovery: set DATA to the folder of the sets",
            "skipped",
            "",
        );
        return Ok(());
    }
    let mut sets = Vec::new();
    let mut all = Vec::new();
    for (set, goal) in SETS {
        let (tools, questions) = load(&data.join(set))?;
        // Both of the first two sets have the same tools.
        if set != "metatool-multi" {
            all.extend(tools.iter().cloned());
        }
        sets.push((set, goal, tools, questions));
    }
    let asked: Vec<&Question> = sets
        .iter()
        .flat_map(|(.., questions)| questions.iter().step_by(7))
        .collect();
    // Speed before quality: memory is measured while the process is still small.
    for size in [200, 4_000, 20_000] {
        speed(&grown(&all, size), &asked, &vectors)?;
    }
    for (set, goal, tools, questions) in &sets {
        quality(set, *goal, tools, questions, &vectors);
    }
    Ok(())
}

fn load(folder: &Path) -> Result<(Vec<IndexEntry>, Vec<Question>), Box<dyn Error>> {
    let mut tools = Vec::new();
    for row in std::fs::read_to_string(folder.join("tools.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(row)?;
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let properties = row["inputSchema"]["properties"].as_object();
        tools.push(IndexEntry {
            key: text("name"),
            kind: ItemKind::Tool,
            name: text("name"),
            server: text("server"),
            title: String::new(),
            description: text("description"),
            parameters: properties
                .into_iter()
                .flatten()
                .map(|(name, about)| {
                    let about = about["description"].as_str().unwrap_or_default();
                    (name.clone(), about.to_owned())
                })
                .collect(),
            tags: Vec::new(),
        });
    }
    let mut questions = Vec::new();
    for row in std::fs::read_to_string(folder.join("queries.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(row)?;
        let right = row["relevant"].as_array().into_iter().flatten();
        questions.push(Question {
            text: row["query"].as_str().unwrap_or_default().to_owned(),
            right: right.filter_map(Value::as_str).map(str::to_owned).collect(),
        });
    }
    Ok((tools, questions))
}

fn index(tools: &[IndexEntry], vectors: Option<&Path>) -> Index {
    let index = Index::new(
        Arc::new(SystemClock::default()),
        vectors.map(Path::to_owned),
    );
    index.upsert("bench", tools.to_vec());
    index
}

fn search(index: &Index, text: &str, limit: usize) -> SearchOutcome {
    index.search(&Query {
        text,
        kinds: None,
        limit,
        allowed: &|_| true,
    })
}

fn quality(set: &str, goal: f64, tools: &[IndexEntry], questions: &[Question], vectors: &Path) {
    let words = index(tools, None);
    let both = index(tools, Some(vectors));
    let mut of_words = Halves::default();
    let mut of_vectors = Halves::default();
    let mut of_both = Halves::default();
    let mut sure = 0.0;
    let mut awake = false;
    for (at, question) in questions.iter().enumerate() {
        of_words.add(
            at,
            question,
            &names(&search(&words, &question.text, 10).hits),
        );
        let answer = search(&both, &question.text, 10);
        awake = answer.vectors;
        sure += f64::from(answer.hits.first().map_or(0.0, |hit| hit.confidence));
        of_both.add(at, question, &names(&answer.hits));
        // Those nearest by vectors, out of the hundred best by everything.
        let mut near = search(&both, &question.text, 100).hits;
        near.sort_by_key(|hit| hit.why.vector_rank.unwrap_or(usize::MAX));
        near.truncate(10);
        of_vectors.add(at, question, &names(&near));
    }
    line(
        &format!("{set}: words alone, Recall@5 / nDCG@10"),
        &of_words.said(),
        "",
    );
    if !awake {
        line(
            &format!("{set}: no vectors in {}", vectors.display()),
            "words only",
            "",
        );
        return;
    }
    line(&format!("{set}: vectors alone"), &of_vectors.said(), "");
    line(
        &format!("{set}: both"),
        &of_both.said(),
        &format!("at least {goal:.2}"),
    );
    line(
        &format!("{set}: both, the half fitted on / the other half"),
        &of_both.halves(),
        "",
    );
    let sure = sure / questions.len() as f64;
    line(
        &format!("{set}: confidence of the first / how often right"),
        &format!("{sure:.2} / {:.2}", of_both.first()),
        "",
    );
}

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.entry.name.as_str()).collect()
}

/// Recall, gain and hits at the first place, for even and odd questions.
#[derive(Default)]
struct Halves {
    count: [f64; 2],
    recall: [f64; 2],
    gain: [f64; 2],
    first: [f64; 2],
}

impl Halves {
    fn add(&mut self, at: usize, question: &Question, found: &[&str]) {
        let half = at % 2;
        let right = |name: &&str| question.right.contains(*name);
        let wanted = question.right.len().max(1);
        let in_five: HashSet<&str> = found.iter().take(5).copied().filter(right).collect();
        let worth = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let gain: f64 = (0..found.len())
            .filter(|at| right(&found[*at]))
            .map(worth)
            .sum();
        let ideal: f64 = (0..wanted.min(10)).map(worth).sum();
        self.count[half] += 1.0;
        self.recall[half] += in_five.len() as f64 / wanted as f64;
        self.gain[half] += gain / ideal;
        self.first[half] += f64::from(u8::from(found.first().is_some_and(right)));
    }

    fn mean(&self, of: &[f64; 2]) -> f64 {
        (of[0] + of[1]) / (self.count[0] + self.count[1])
    }

    fn said(&self) -> String {
        format!(
            "{:.3} / {:.3}",
            self.mean(&self.recall),
            self.mean(&self.gain)
        )
    }

    fn halves(&self) -> String {
        let share = |half: usize| self.recall[half] / self.count[half];
        format!("{:.3} / {:.3}", share(0), share(1))
    }

    fn first(&self) -> f64 {
        self.mean(&self.first)
    }
}

/// As many tools as wanted: the first ones, or the same again on other servers.
fn grown(tools: &[IndexEntry], size: usize) -> Vec<IndexEntry> {
    (0..size)
        .map(|at| {
            let mut tool = tools[at % tools.len()].clone();
            if at >= tools.len() {
                let round = at / tools.len();
                tool.server = format!("{} mirror{round}", tool.server);
                tool.key = format!("{}#{round}", tool.key);
            }
            tool
        })
        .collect()
}

fn speed(tools: &[IndexEntry], asked: &[&Question], vectors: &Path) -> Result<(), Box<dyn Error>> {
    let size = tools.len();
    let before = memory()?;
    let started = Instant::now();
    let index = Index::new(Arc::new(SystemClock::default()), Some(vectors.to_owned()));
    for (server, shelf) in tools.chunks(25).enumerate() {
        index.upsert(&format!("server{server}"), shelf.to_vec());
    }
    let read = started.elapsed();
    let started = Instant::now();
    search(&index, "send an email", 5);
    let first = started.elapsed();
    line(
        &format!("{size} tools: index"),
        &format!("{:.2} s", read.as_secs_f64()),
        "5 s at 10,000",
    );
    line(
        &format!("{size} tools: first search, vectors read"),
        &format!("{:.2} s", first.as_secs_f64()),
        "",
    );
    let mut context = 0;
    let mut times = Vec::new();
    for question in asked.iter().chain(asked) {
        let started = Instant::now();
        let answer = search(&index, &question.text, 5);
        times.push(started.elapsed());
        context += tokens(
            answer.hits.iter().map(|hit| &*hit.entry),
            Some(&answer.hits),
        );
    }
    spread(&format!("{size} tools: one search"), times, "5000.0 us");
    line(
        &format!("{size} tools: memory, awake"),
        &format!("{:.1} MB", memory()? - before),
        "",
    );
    index.unload_vectors();
    line(
        &format!("{size} tools: memory, vectors unloaded"),
        &format!("{:.1} MB", memory()? - before),
        "",
    );
    let listed = tokens(tools.iter(), None);
    let told = context / (asked.len() * 2).max(1);
    line(
        &format!("{size} tools: tokens, five hits against all listed"),
        &format!("{told} / {listed}"),
        "",
    );
    Ok(())
}

/// What entries cost as JSON in a model's context, at four letters a token.
fn tokens<'a>(entries: impl Iterator<Item = &'a IndexEntry>, hits: Option<&[Hit]>) -> usize {
    let rows: Vec<Value> = entries
        .enumerate()
        .map(|(at, entry)| match hits {
            Some(hits) => json!({"name": entry.name, "server": entry.server, "type": entry.kind, "description": entry.description.chars().take(160).collect::<String>(), "confidence": hits[at].confidence}),
            None => json!({"name": entry.name, "description": entry.description, "inputSchema": {"type": "object", "properties": entry.parameters.iter().map(|(name, about)| (name.clone(), json!({"type": "string", "description": about}))).collect::<serde_json::Map<_, _>>()}}),
        })
        .collect();
    Value::from(rows).to_string().len() / 4
}

/// What this process holds, in megabytes.
fn memory() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let row = status.lines().find(|row| row.starts_with("VmRSS:"));
    let kilobytes = row
        .and_then(|row| row.split_whitespace().nth(1))
        .ok_or("no VmRSS")?;
    Ok(kilobytes.parse::<f64>()? / 1024.0)
}
