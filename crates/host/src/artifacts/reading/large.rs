//! Values of a JSON file too large for memory: it is read once from front to back, and only the
//! selected parts are held.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use manyhands_core::{ErrorCode, ToolError};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq as _, Serializer as _};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json_path::JsonPath;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::copy::Copied;
use super::json::{Indices, JsonAsk, MOST, no_list, not_json};
use super::path::{self, KeyStep};
use super::window::Window;
use super::{TextPart, TextRange, TextSource};

/// The total cost of queries, over all values they are tried on.
const MAX_COST: u64 = 200_000_000;

/// A page of the result. `prefix` is the text already read from `source`.
pub(super) async fn read(
    ask: JsonAsk,
    prefix: String,
    mut source: TextSource,
    page: TextRange,
    place: OwnedSemaphorePermit,
) -> Result<TextPart, ToolError> {
    let plan = StreamPlan::of(&ask)?;
    // A short channel: the reader waits for the parser, so memory stays flat for any file size.
    let (give, taken) = mpsc::channel(4);
    let job = tokio::task::spawn_blocking(move || {
        let part = JsonStream::new(ask, plan, page).run(taken);
        // The permit is freed by the job itself, which may outlive the caller.
        drop(place);
        part
    });
    let mut piece = Some(prefix);
    // Dropping the channel ends the reader early once enough was read, and dropping this future
    // ends the job.
    while let Some(text) = piece {
        if give.send(text.into_bytes()).await.is_err() {
            break;
        }
        piece = source.text().await?;
    }
    drop(give);
    job.await.map_err(|e| ToolError::internal(e.to_string()))?
}

/// A query in two parts: steps that can be followed while reading, and the rest, applied to what they lead to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    path_steps: Vec<PathStep>,
    rest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    To(KeyStep),
    /// Every member or element.
    Each,
}

impl Query {
    pub(super) fn is_singular(&self) -> bool {
        self.rest.is_empty()
            && self
                .path_steps
                .iter()
                .all(|step| matches!(step, PathStep::To(_)))
    }
}

/// Splits a valid query; `None` for a text that is not a query.
pub(super) fn split(query: &str) -> Option<Query> {
    let mut rest = query.trim().strip_prefix('$')?;
    let mut path_steps = Vec::new();
    loop {
        let after = rest.trim_start();
        let step = segment(after);
        let Some((step, behind)) = step else {
            return Some(Query {
                path_steps,
                rest: after.to_owned(),
            });
        };
        path_steps.push(step);
        rest = behind;
    }
}

/// The first segment, if it is one name, one index or a wildcard, and what follows it.
fn segment(text: &str) -> Option<(PathStep, &str)> {
    if let Some(after) = text.strip_prefix('.') {
        if let Some(behind) = after.strip_prefix('*') {
            return Some((PathStep::Each, behind));
        }
        let ends = |c: char| !(c.is_alphanumeric() || c == '_' || !c.is_ascii());
        let (name, behind) = after.split_at(after.find(ends).unwrap_or(after.len()));
        return (!name.is_empty()).then(|| (PathStep::To(KeyStep::Name(name.to_owned())), behind));
    }
    let inner = text.strip_prefix('[')?.trim_start();
    if let Some(behind) = inner.strip_prefix('*') {
        return Some((PathStep::Each, behind.trim_start().strip_prefix(']')?));
    }
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        // Names with escapes are left to the query library.
        let (name, behind) = inner[1..].split_once(quote)?;
        let behind = behind.trim_start().strip_prefix(']')?;
        return (!name.contains('\\'))
            .then(|| (PathStep::To(KeyStep::Name(name.to_owned())), behind));
    }
    let (number, behind) = inner.split_once(']')?;
    let number = number.trim().parse().ok().filter(|number| *number >= 0)?;
    Some((PathStep::To(KeyStep::Index(number)), behind))
}

/// What to do while reading.
struct StreamPlan {
    path_steps: Vec<PathStep>,
    /// A query for each value that the steps lead to.
    rest: Option<RemainderQuery>,
    /// Whether the result is a list of all matches, rather than one value.
    many: bool,
}

struct RemainderQuery {
    text: String,
    query: JsonPath,
    /// Whether it can be tried on each member or element alone, because it refers to nothing else.
    each: bool,
}

impl StreamPlan {
    fn of(ask: &JsonAsk) -> Result<Self, ToolError> {
        let path = ask.path.as_deref().unwrap_or_default();
        path::check_length(path)?;
        if !path::is_query(path) {
            let steps = match &ask.path {
                Some(path) => path::steps_of(path)?,
                None => Vec::new(),
            };
            if steps
                .iter()
                .any(|step| matches!(step, KeyStep::Index(index) if *index < 0))
            {
                return path::wrong(format!(
                    "counts from the end of a list, which files of more than {MOST} bytes are not held for; count from its start"
                ));
            }
            return Ok(Self {
                path_steps: steps.into_iter().map(PathStep::To).collect(),
                rest: None,
                many: false,
            });
        }
        path::parse(path)?;
        let Some(Query {
            mut path_steps,
            rest,
        }) = split(path)
        else {
            return path::wrong("is not a JSONPath query".to_owned());
        };
        // `$` within a filter refers to the whole file, which is never in memory.
        let each = rest.starts_with("[?") && !rest.contains('$');
        if each {
            path_steps.push(PathStep::Each);
        }
        let rest = match rest.is_empty() {
            true => None,
            false => {
                let text = format!("${rest}");
                let query = path::parse(&text)?;
                Some(RemainderQuery { text, query, each })
            }
        };
        Ok(Self {
            path_steps,
            rest,
            many: !(ask.indices.is_some() && ask.is_singular()),
        })
    }
}

/// Marks the error that stops reading early although nothing is wrong.
const ENOUGH: &str = "enough was read";

/// The bytes of the file as a reader that counts the size of the current value.
struct PieceReader {
    from: mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    room: ValueBudget,
}

/// How many more bytes the value being held may have.
#[derive(Clone)]
struct ValueBudget(Rc<Cell<Option<usize>>>);

impl Read for PieceReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.from.blocking_recv() {
                Some(piece) => (self.piece, self.at) = (piece, 0),
                None => return Ok(0),
            }
        }
        let count = into.len().min(self.piece.len() - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        // Only counted while a value is being held; skipped parts of the file may be of any size.
        if let Some(left) = self.room.0.get() {
            let left = left.checked_sub(count).ok_or(io::ErrorKind::FileTooLarge)?;
            self.room.0.set(Some(left));
        }
        Ok(count)
    }
}

type Writer<'a> = serde_json::Serializer<&'a mut Window, PrettyFormatter<'static>>;
type ListWriter<'a, 'w> = serde_json::ser::Compound<'a, &'w mut Window, PrettyFormatter<'static>>;

/// One pass over one file.
struct JsonStream {
    ask: JsonAsk,
    plan: StreamPlan,
    page: TextRange,
    room: ValueBudget,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The error, such as a path without a match.
    refused: Option<ToolError>,
    cost: u64,
    /// The number of matches or elements.
    count: usize,
    /// Those selected by index.
    kept: BTreeMap<usize, Value>,
    kept_bytes: usize,
}

impl JsonStream {
    fn new(ask: JsonAsk, plan: StreamPlan, page: TextRange) -> Self {
        Self {
            ask,
            plan,
            page,
            room: ValueBudget(Rc::default()),
            state: RefCell::default(),
        }
    }

    fn run(self, from: mpsc::Receiver<Vec<u8>>) -> Result<TextPart, ToolError> {
        let pieces = PieceReader {
            from,
            piece: Vec::new(),
            at: 0,
            room: self.room.clone(),
        };
        let reader = BufReader::with_capacity(64 * 1024, pieces);
        let mut json = serde_json::Deserializer::from_reader(reader);
        let mut window = Window::new(self.page);
        let done = match (&self.ask.indices, self.plan.many) {
            (Some(_), _) => self.follow(&mut json, &mut Sink::Kept),
            (None, false) => {
                let mut writer = pretty(&mut window);
                self.follow(&mut json, &mut Sink::One(&mut writer))
            }
            (None, true) => {
                let mut writer = pretty(&mut window);
                let list = writer.serialize_seq(None);
                list.and_then(|mut list| {
                    self.follow(&mut json, &mut Sink::List(&mut list))?;
                    list.end()
                })
            }
        };
        let state = self.state.into_inner();
        // A refusal travels through serde as a custom error; the real one is stored beside it.
        if let Some(refused) = state.refused {
            return Err(refused);
        }
        if let Err(error) = done {
            let expected = window.is_full() || error.to_string().starts_with(ENOUGH);
            // A write error of a full window is how serialization is stopped early, and no error.
            if error.io_error_kind() == Some(io::ErrorKind::FileTooLarge) {
                return Err(too_large());
            }
            if !expected {
                return Err(not_json(&error));
            }
        }
        let Some(indices) = &self.ask.indices else {
            return window.finish();
        };
        let found = indices.of(state.count, |place| state.kept.get(&place))?;
        let written = found.serialize(&mut pretty(&mut window));
        match written {
            Err(error) if !window.is_full() => Err(ToolError::internal(error.to_string())),
            _ => window.finish(),
        }
    }

    fn follow<R: Read>(
        &self,
        json: &mut serde_json::Deserializer<serde_json::de::IoRead<R>>,
        sink: &mut Sink<'_, '_, '_>,
    ) -> serde_json::Result<()> {
        let walk = ValueWalk {
            reading: self,
            path_steps: &self.plan.path_steps,
            done: String::new(),
            sink,
        };
        let walked = walk.deserialize(&mut *json);
        // A path without a match is the result, whatever error follows it.
        if self.state.borrow().refused.is_some() {
            return Ok(());
        }
        match walked {
            // Enough was read, but the list still has to be closed.
            Err(error) if self.plan.many && error.to_string().starts_with(ENOUGH) => Ok(()),
            other => {
                other?;
                json.end()
            }
        }
    }

    /// Reads one value into memory.
    fn hold<'de, D: Deserializer<'de>>(&self, json: D) -> Result<Value, D::Error> {
        self.room.0.set(Some(MOST));
        let value = de::Deserialize::deserialize(json);
        let left = self.room.0.replace(None);
        self.state.borrow_mut().kept_bytes = MOST - left.unwrap_or(0);
        value
    }

    fn refuse<E: de::Error>(&self, error: ToolError) -> E {
        self.state.borrow_mut().refused.get_or_insert(error);
        E::custom(ENOUGH)
    }
}

fn pretty(window: &mut Window) -> Writer<'_> {
    serde_json::Serializer::with_formatter(window, PrettyFormatter::new())
}

fn too_large() -> ToolError {
    let message = format!("json_path selects a value of more than {MOST} bytes");
    ToolError::new(ErrorCode::TooLarge, message)
        .hint("name more of the path, such as data.items[0], or use array_indices for some elements of a list")
}

/// Where selected values go.
enum Sink<'s, 'a, 'w> {
    /// Written as it is.
    One(&'s mut Writer<'w>),
    /// Written into a list.
    List(&'s mut ListWriter<'a, 'w>),
    /// Counted, and held if its index is selected.
    Kept,
}

/// One step of the path.
struct ValueWalk<'r, 's, 'k, 'a, 'w> {
    reading: &'r JsonStream,
    path_steps: &'r [PathStep],
    /// The path followed so far.
    done: String,
    sink: &'s mut Sink<'k, 'a, 'w>,
}

impl<'de> DeserializeSeed<'de> for ValueWalk<'_, '_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.path_steps.is_empty() {
            true => self.arrive(json),
            false => json.deserialize_any(self),
        }
    }
}

impl ValueWalk<'_, '_, '_, '_, '_> {
    fn arrive<'de, D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        let reading = self.reading;
        if let Some(rest) = &reading.plan.rest {
            let mut value = reading.hold(json)?;
            if rest.each {
                value = Value::Array(vec![value]);
            }
            let cost = path::cost(&rest.text, &value).map_err(|e| reading.refuse(e))?;
            let spent = reading.state.borrow().cost + cost;
            reading.state.borrow_mut().cost = spent;
            // Bounds the sum over all values: each one alone may be cheap.
            if spent > MAX_COST {
                let message = "would visit too many values of this file";
                return Err(reading.refuse(ToolError::parameter("json_path", message)));
            }
            for found in rest.query.query(&value).all() {
                give(reading, self.sink, found)?;
            }
            return Ok(());
        }
        match self.sink {
            Sink::One(writer) => {
                Copied::of(json)
                    .serialize(&mut **writer)
                    .map_err(de::Error::custom)?;
                // The one match is written, so nothing that follows in the file matters.
                Err(de::Error::custom(ENOUGH))
            }
            Sink::List(list) => {
                list.serialize_element(&Copied::of(json))
                    .map_err(de::Error::custom)?;
                match reading
                    .plan
                    .path_steps
                    .iter()
                    .all(|step| matches!(step, PathStep::To(_)))
                {
                    true => Err(de::Error::custom(ENOUGH)),
                    false => Ok(()),
                }
            }
            Sink::Kept if reading.plan.many => {
                let value = reading.hold(json)?;
                give(reading, self.sink, &value)
            }
            Sink::Kept => match &reading.ask.indices {
                Some(indices) => json.deserialize_any(Elements { reading, indices }),
                None => Ok(()),
            },
        }
    }

    fn nothing<E: de::Error>(&self, there: &str) -> Result<(), E> {
        match (&self.path_steps[0], self.reading.plan.many) {
            (PathStep::To(step), false) => {
                Err(self.reading.refuse(path::absent(step, &self.done, there)))
            }
            _ => Ok(()), // a query without a match
        }
    }
}

/// Passes on one match.
fn give<E: de::Error>(
    reading: &JsonStream,
    sink: &mut Sink<'_, '_, '_>,
    value: &Value,
) -> Result<(), E> {
    match (sink, &reading.ask.indices) {
        (Sink::List(list), _) => list.serialize_element(value).map_err(E::custom),
        (Sink::One(writer), _) => value.serialize(&mut **writer).map_err(E::custom),
        (Sink::Kept, Some(indices)) => {
            let mut state = reading.state.borrow_mut();
            let place = state.count;
            state.count += 1;
            if indices.takes(place) {
                state.kept.insert(place, value.clone());
            }
            match place >= indices.last() {
                true => Err(E::custom(ENOUGH)),
                false => Ok(()),
            }
        }
        (Sink::Kept, None) => Ok(()),
    }
}

impl<'de> Visitor<'de> for ValueWalk<'_, '_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut found, mut names) = (false, Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let takes = match &self.path_steps[0] {
                PathStep::Each => true,
                PathStep::To(KeyStep::Name(wanted)) => *wanted == name,
                PathStep::To(KeyStep::Index(_)) => false,
            };
            if !takes {
                map.next_value::<IgnoredAny>()?;
                if names.len() < 20 {
                    names.push(name);
                }
                continue;
            }
            found = true;
            map.next_value_seed(ValueWalk {
                reading: self.reading,
                path_steps: &self.path_steps[1..],
                done: after(&self.path_steps[0], &self.done),
                sink: &mut *self.sink,
            })?;
        }
        match found {
            true => Ok(()),
            false => self.nothing(&path::has(names.iter().map(String::as_str))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let wanted = match &self.path_steps[0] {
            PathStep::Each => None,
            // In a query, a name never denotes an element.
            PathStep::To(KeyStep::Name(_)) if self.reading.plan.many => Some(None),
            PathStep::To(step) => Some(step.index().and_then(|index| usize::try_from(index).ok())),
        };
        let (mut found, mut place) = (wanted.is_none(), 0_usize);
        loop {
            let takes = wanted.is_none_or(|wanted| wanted == Some(place));
            let more = match takes {
                true => {
                    let walk = ValueWalk {
                        reading: self.reading,
                        path_steps: &self.path_steps[1..],
                        done: after(&self.path_steps[0], &self.done),
                        sink: &mut *self.sink,
                    };
                    let more = list.next_element_seed(walk)?.is_some();
                    found |= more;
                    more
                }
                false => list.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
            place += 1;
        }
        match found {
            true => Ok(()),
            false => self.nothing(&format!("is a list of {place}")),
        }
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.nothing("is a text")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.nothing(&format!("is {value}"))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.nothing(&format!("is {value}"))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.nothing(&format!("is {value}"))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.nothing(&format!("is {value}"))
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.nothing("is null")
    }
}

fn after(path_steps: &PathStep, done: &str) -> String {
    match path_steps {
        PathStep::To(step) => step.after(done),
        PathStep::Each => done.to_owned(),
    }
}

/// The selected elements of the list at the path.
struct Elements<'r> {
    reading: &'r JsonStream,
    indices: &'r Indices,
}

impl Elements<'_> {
    fn no_list<E: de::Error>(self, found: &Value) -> Result<(), E> {
        let path = self.reading.ask.path.as_deref();
        Err(self.reading.refuse(no_list(path, found)))
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { reading, indices } = self;
        let (mut place, mut bytes) = (0, 0);
        loop {
            let more = if indices.takes(place) {
                let held = list.next_element_seed(HeldValue(reading))?;
                let mut state = reading.state.borrow_mut();
                bytes += state.kept_bytes;
                if bytes > MOST {
                    drop(state);
                    return Err(reading.refuse(too_many()));
                }
                held.map(|value| state.kept.insert(place, value)).is_some()
            } else {
                list.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                break;
            }
            place += 1;
            reading.state.borrow_mut().count = place;
            if place > indices.last() {
                return Err(de::Error::custom(ENOUGH));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.no_list(&Value::Object(serde_json::Map::new()))
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.no_list(&Value::String(String::new()))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.no_list(&Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.no_list(&value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.no_list(&value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.no_list(&value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.no_list(&Value::Null)
    }
}

/// One value held in memory.
struct HeldValue<'r>(&'r JsonStream);

impl<'de> DeserializeSeed<'de> for HeldValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        self.0.hold(json)
    }
}

fn too_many() -> ToolError {
    let message = format!("the elements come to more than {MOST} bytes");
    ToolError::new(ErrorCode::TooLarge, format!("array_indices: {message}"))
        .hint("ask for fewer elements at a time")
}
