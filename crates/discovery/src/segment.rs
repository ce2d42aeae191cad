//! The parsed entries of one owner.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, RwLock};

use crate::entry::IndexEntry;
use crate::lexicon::Lexicon;
use crate::stem::stem;
use crate::thesaurus;
use crate::tokens::{is_number, parts, tokenize, weight};
use crate::vectors::{QuantisedVector, WIDTH, WordVectors};

/// BM25F parameters of a field: weight, length normalisation, typical length, maximum words.
struct FieldParams {
    weight: f32,
    length_matters: f32,
    usual: f32,
    limit: usize,
}

const NAME: FieldParams = field(3.0, 0.3, 2.5, 32);
const SERVER: FieldParams = field(2.0, 0.3, 2.0, 16);
const TITLE: FieldParams = field(1.5, 0.3, 3.0, 32);
const TAGS: FieldParams = field(1.0, 0.5, 4.0, 32);
const DESCRIPTION: FieldParams = field(1.0, 0.5, 14.0, 256);
const PARAMETER_NAMES: FieldParams = field(0.5, 0.7, 4.0, 64);
const PARAMETER_TEXT: FieldParams = field(0.3, 0.7, 25.0, 256);

const fn field(weight: f32, length_matters: f32, usual: f32, limit: usize) -> FieldParams {
    FieldParams {
        weight,
        length_matters,
        usual,
        limit,
    }
}

/// Maximum text length in bytes.
const MAX_TEXT: usize = 8 << 10;

/// Maximum parameters per entry.
const MAX_PARAMETERS: usize = 64;

/// A parsed entry.
pub struct Doc {
    /// Each term with its weighted frequency.
    pub frequencies: Box<[(u32, f32)]>,
    /// The word forms of name, server and title, then those of the description, each once.
    pub forms: Box<[u32]>,
    /// How many of them belong to the name.
    pub named: usize,
}

/// The vectors of a segment's entries, row by row.
pub struct Rows {
    /// The quantised values.
    pub bytes: Vec<i8>,
    /// The scale of each row.
    pub scales: Vec<f32>,
}

/// The entries of one owner.
pub struct Segment {
    /// The entries.
    pub entries: Vec<Arc<IndexEntry>>,
    /// The parsed entries.
    pub docs: Vec<Doc>,
    rows: Mutex<Option<Arc<Rows>>>,
}

/// The words of an entry by field.
struct Read {
    fields: Vec<(&'static FieldParams, Vec<String>)>,
}

impl Segment {
    /// Parses entries; the lexicon is locked only while words are interned.
    pub fn new(entries: Vec<Arc<IndexEntry>>, lexicon: &RwLock<Lexicon>) -> Self {
        let read: Vec<Vec<Stemmed>> = entries
            .iter()
            .map(|entry| stemmed(&Read::of(entry)))
            .collect();
        // All entries are parsed before the lock: searches read the lexicon.
        let mut lexicon = lexicon
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let docs = read.iter().map(|words| doc(words, &mut lexicon)).collect();
        drop(lexicon);
        Self {
            entries,
            docs,
            rows: Mutex::new(None),
        }
    }

    /// The vectors of its entries, computed on first use.
    pub fn rows(
        &self,
        model: &WordVectors,
        known: &mut HashMap<String, QuantisedVector>,
    ) -> Arc<Rows> {
        let mut rows = self
            .rows
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(rows) = &*rows {
            return Arc::clone(rows);
        }
        let mut made = Rows {
            bytes: Vec::with_capacity(self.entries.len() * WIDTH),
            scales: Vec::with_capacity(self.entries.len()),
        };
        for entry in &self.entries {
            let mut sum = [0.0; WIDTH];
            for (field, words) in &Read::of(entry).fields {
                // Parameter names say little about what a tool is for.
                if field.weight < DESCRIPTION.weight {
                    continue;
                }
                for word in words {
                    let weight = match is_number(word) {
                        true => 0.0,
                        false => weight(word, &stem(word)),
                    };
                    if weight == 0.0 {
                        continue;
                    }
                    if !known.contains_key(word) {
                        known.insert(word.clone(), QuantisedVector::of(&model.word(word)));
                    }
                    let small = &known[word];
                    let unit = weight * small.scale * small.length;
                    for (into, byte) in sum.iter_mut().zip(&small.bytes) {
                        *into += unit * f32::from(*byte);
                    }
                }
            }
            let small = QuantisedVector::of(&sum);
            // Quantised values fit into a byte.
            made.bytes
                .extend(small.bytes.iter().map(|number| *number as i8));
            made.scales.push(small.scale);
        }
        let made = Arc::new(made);
        *rows = Some(Arc::clone(&made));
        made
    }

    /// Drops the vectors.
    pub fn forget_rows(&self) {
        *self
            .rows
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }
}

/// The beginning of a text, cut at a character boundary.
pub fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

impl Read {
    fn of(entry: &IndexEntry) -> Self {
        let description = tokenize(cut(&entry.description, MAX_TEXT), DESCRIPTION.limit);
        let own: HashSet<&str> = description
            .iter()
            .filter(|word| word.len() >= 3)
            .map(String::as_str)
            .collect();
        let known = |word: &str| own.contains(word) || thesaurus::knows(word);
        // `keywordexplorer` is indexed as itself and as `keyword explorer`.
        let whole = |text: &str, limit: usize| {
            let mut out = Vec::new();
            for word in tokenize(cut(text, 512), limit) {
                let split: Vec<String> = parts(&word, &known)
                    .into_iter()
                    .map(str::to_owned)
                    .collect();
                out.push(word);
                out.extend(split);
            }
            out.truncate(limit);
            out
        };
        let name = whole(without_server(&entry.name, &entry.server), NAME.limit);
        let server = whole(&entry.server, SERVER.limit);
        let mut title = whole(&entry.title, TITLE.limit);
        // A repeated title would count the same words twice.
        if title == name {
            title.clear();
        }
        let mut tags = Vec::new();
        for tag in entry.tags.iter().take(TAGS.limit) {
            tags.extend(tokenize(
                cut(tag, 128),
                TAGS.limit - tags.len().min(TAGS.limit),
            ));
        }
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for (name, text) in entry.parameters.iter().take(MAX_PARAMETERS) {
            names.extend(tokenize(
                cut(name, 128),
                PARAMETER_NAMES.limit - names.len().min(PARAMETER_NAMES.limit),
            ));
            texts.extend(tokenize(
                cut(text, 1024),
                PARAMETER_TEXT.limit - texts.len().min(PARAMETER_TEXT.limit),
            ));
        }
        Self {
            fields: vec![
                (&NAME, name),
                (&SERVER, server),
                (&TITLE, title),
                (&TAGS, tags),
                (&DESCRIPTION, description),
                (&PARAMETER_NAMES, names),
                (&PARAMETER_TEXT, texts),
            ],
        }
    }
}

/// The name without the server's prefix: `gmail_search` of `gmail` becomes `search`.
fn without_server<'a>(name: &'a str, server: &str) -> &'a str {
    let own = name
        .strip_prefix(server)
        .filter(|_| !server.is_empty())
        .map(|rest| rest.trim_start_matches(|c: char| !c.is_alphanumeric()));
    match own {
        Some(rest) if !rest.is_empty() => rest,
        _ => name,
    }
}

/// A word with its stem, weight and field.
struct Stemmed {
    stem: String,
    surface: String,
    weight: f32,
    frequency: f32,
    place: FieldKind,
}

#[derive(Clone, Copy, PartialEq)]
enum FieldKind {
    Name,
    Text,
    Parameter,
}

fn stemmed(read: &Read) -> Vec<Stemmed> {
    let mut out = Vec::new();
    for (field, words) in &read.fields {
        let length = words.len() as f32 / field.usual;
        let frequency = field.weight / (1.0 - field.length_matters + field.length_matters * length);
        let place = match () {
            _ if field.weight > DESCRIPTION.weight => FieldKind::Name,
            _ if field.weight == DESCRIPTION.weight => FieldKind::Text,
            _ => FieldKind::Parameter,
        };
        for word in words {
            let stem = stem(word);
            let weight = weight(word, &stem);
            out.push(Stemmed {
                weight,
                stem,
                surface: word.clone(),
                frequency,
                place,
            });
        }
    }
    out
}

fn doc(words: &[Stemmed], lexicon: &mut Lexicon) -> Doc {
    let mut frequencies: Vec<(u32, f32)> = Vec::new();
    let mut at: HashMap<u32, usize> = HashMap::new();
    let mut forms: Vec<u32> = Vec::new();
    let mut known: HashSet<u32> = HashSet::new();
    let mut named = 0;
    // A name that consists of stop words, such as `find`, must still be found.
    let only_stops = words
        .iter()
        .all(|word| word.place == FieldKind::Parameter || word.weight == 0.0);
    for word in words {
        let Some((term, form)) = lexicon.intern(&word.stem, &word.surface, word.weight) else {
            continue;
        };
        match at.get(&term) {
            Some(&index) => frequencies[index].1 += word.frequency,
            None => {
                at.insert(term, frequencies.len());
                frequencies.push((term, word.frequency));
            }
        }
        let has_weight = word.weight > 0.0 || only_stops;
        if word.place != FieldKind::Parameter && has_weight && known.insert(form) {
            forms.push(form);
        }
        if word.place == FieldKind::Name {
            named = forms.len();
        }
    }
    Doc {
        frequencies: frequencies.into(),
        forms: forms.into(),
        named,
    }
}
