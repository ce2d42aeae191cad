//! Values of a JSON file that is too large to be held: it is read once from front to back, and only what is selected is looked at.

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
use super::path::{self, Step};
use super::window::Window;
use super::{Page, Part, Source};

/// What queries may cost in all, over the values they are tried on.
const MAX_COST: u64 = 200_000_000;

/// A page of the answer. `begun` is the text that was read of `source` already.
pub(super) async fn read(
    ask: JsonAsk,
    begun: String,
    mut source: Source,
    page: Page,
    place: OwnedSemaphorePermit,
) -> Result<Part, ToolError> {
    let plan = Plan::of(&ask)?;
    let (give, taken) = mpsc::channel(4);
    let job = tokio::task::spawn_blocking(move || {
        let part = Reading::new(ask, plan, page).run(taken);
        drop(place);
        part
    });
    let mut piece = Some(begun);
    // Ends early when enough was read, and the job does when this is dropped.
    while let Some(text) = piece {
        if give.send(text.into_bytes()).await.is_err() {
            break;
        }
        piece = source.text().await?;
    }
    drop(give);
    job.await.map_err(|e| ToolError::internal(e.to_string()))?
}

/// A query in two parts: a way that can be followed while reading, and the rest for what it leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    way: Vec<Way>,
    rest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    To(Step),
    /// Every member or element.
    Each,
}

impl Query {
    pub(super) fn is_singular(&self) -> bool {
        self.rest.is_empty() && self.way.iter().all(|way| matches!(way, Way::To(_)))
    }
}

/// Splits a query that is known to be valid; `None` for what is no query.
pub(super) fn split(query: &str) -> Option<Query> {
    let mut rest = query.trim().strip_prefix('$')?;
    let mut way = Vec::new();
    loop {
        let after = rest.trim_start();
        let step = segment(after);
        let Some((step, behind)) = step else {
            return Some(Query {
                way,
                rest: after.to_owned(),
            });
        };
        way.push(step);
        rest = behind;
    }
}

/// The first segment, where it is one name, one index or everything; and what is behind it.
fn segment(text: &str) -> Option<(Way, &str)> {
    if let Some(after) = text.strip_prefix('.') {
        if let Some(behind) = after.strip_prefix('*') {
            return Some((Way::Each, behind));
        }
        let ends = |c: char| !(c.is_alphanumeric() || c == '_' || !c.is_ascii());
        let (name, behind) = after.split_at(after.find(ends).unwrap_or(after.len()));
        return (!name.is_empty()).then(|| (Way::To(Step::Name(name.to_owned())), behind));
    }
    let inner = text.strip_prefix('[')?.trim_start();
    if let Some(behind) = inner.strip_prefix('*') {
        return Some((Way::Each, behind.trim_start().strip_prefix(']')?));
    }
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        // Names with escapes are left to the rest.
        let (name, behind) = inner[1..].split_once(quote)?;
        let behind = behind.trim_start().strip_prefix(']')?;
        return (!name.contains('\\')).then(|| (Way::To(Step::Name(name.to_owned())), behind));
    }
    let (number, behind) = inner.split_once(']')?;
    let number = number.trim().parse().ok().filter(|number| *number >= 0)?;
    Some((Way::To(Step::Index(number)), behind))
}

/// What is done while reading.
struct Plan {
    way: Vec<Way>,
    /// A query for each value at the end of the way.
    rest: Option<Rest>,
    /// The answer is a list of all that fits, rather than the one value.
    many: bool,
}

struct Rest {
    text: String,
    query: JsonPath,
    /// It is tried on each member or element alone, since it looks at nothing else.
    each: bool,
}

impl Plan {
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
                .any(|step| matches!(step, Step::Index(index) if *index < 0))
            {
                return path::wrong(format!(
                    "counts from the end of a list, which files of more than {MOST} bytes are not held for; count from its start"
                ));
            }
            return Ok(Self {
                way: steps.into_iter().map(Way::To).collect(),
                rest: None,
                many: false,
            });
        }
        path::parse(path)?;
        let Some(Query { mut way, rest }) = split(path) else {
            return path::wrong("is not a JSONPath query".to_owned());
        };
        // `$` within a filter looks at the whole file.
        let each = rest.starts_with("[?") && !rest.contains('$');
        if each {
            way.push(Way::Each);
        }
        let rest = match rest.is_empty() {
            true => None,
            false => {
                let text = format!("${rest}");
                let query = path::parse(&text)?;
                Some(Rest { text, query, each })
            }
        };
        Ok(Self {
            way,
            rest,
            many: !(ask.indices.is_some() && ask.is_singular()),
        })
    }
}

/// What stops the reading although nothing is wrong.
const ENOUGH: &str = "enough was read";

/// The bytes of the file as a reader, which counts what one value takes.
struct Pieces {
    from: mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    room: Room,
}

/// How many bytes a value that is being held may still have.
#[derive(Clone)]
struct Room(Rc<Cell<Option<usize>>>);

impl Read for Pieces {
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
        if let Some(left) = self.room.0.get() {
            let left = left.checked_sub(count).ok_or(io::ErrorKind::FileTooLarge)?;
            self.room.0.set(Some(left));
        }
        Ok(count)
    }
}

type Writer<'a> = serde_json::Serializer<&'a mut Window, PrettyFormatter<'static>>;
type ListWriter<'a, 'w> = serde_json::ser::Compound<'a, &'w mut Window, PrettyFormatter<'static>>;

/// One reading of one file.
struct Reading {
    ask: JsonAsk,
    plan: Plan,
    page: Page,
    room: Room,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// What led to nothing, or another refusal.
    refused: Option<ToolError>,
    cost: u64,
    /// How many values fitted, or elements there were.
    count: usize,
    /// Those of them that are asked for by their indices.
    kept: BTreeMap<usize, Value>,
    kept_bytes: usize,
}

impl Reading {
    fn new(ask: JsonAsk, plan: Plan, page: Page) -> Self {
        Self {
            ask,
            plan,
            page,
            room: Room(Rc::default()),
            state: RefCell::default(),
        }
    }

    fn run(self, from: mpsc::Receiver<Vec<u8>>) -> Result<Part, ToolError> {
        let pieces = Pieces {
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
        if let Some(refused) = state.refused {
            return Err(refused);
        }
        if let Err(error) = done {
            let expected = window.is_full() || error.to_string().starts_with(ENOUGH);
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
        let walk = Walk {
            reading: self,
            way: &self.plan.way,
            done: String::new(),
            sink,
        };
        let walked = walk.deserialize(&mut *json);
        // A path that led to nothing is what there is to say, whatever comes behind.
        if self.state.borrow().refused.is_some() {
            return Ok(());
        }
        match walked {
            // Enough was read, but the list has to be closed.
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
        .hint("name more of the way, such as data.items[0], or use array_indices for some elements of a list")
}

/// Where what was selected goes.
enum Sink<'s, 'a, 'w> {
    /// It is written as it is.
    One(&'s mut Writer<'w>),
    /// It is written into a list.
    List(&'s mut ListWriter<'a, 'w>),
    /// It is counted, and kept where its index is asked for.
    Kept,
}

/// One step on the way.
struct Walk<'r, 's, 'k, 'a, 'w> {
    reading: &'r Reading,
    way: &'r [Way],
    /// The way that was followed.
    done: String,
    sink: &'s mut Sink<'k, 'a, 'w>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.way.is_empty() {
            true => self.arrive(json),
            false => json.deserialize_any(self),
        }
    }
}

impl Walk<'_, '_, '_, '_, '_> {
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
            if spent > MAX_COST {
                let message = "would look at too many values of this file";
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
                Err(de::Error::custom(ENOUGH))
            }
            Sink::List(list) => {
                list.serialize_element(&Copied::of(json))
                    .map_err(de::Error::custom)?;
                match reading.plan.way.iter().all(|way| matches!(way, Way::To(_))) {
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
        match (&self.way[0], self.reading.plan.many) {
            (Way::To(step), false) => {
                Err(self.reading.refuse(path::absent(step, &self.done, there)))
            }
            _ => Ok(()), // a query that fits nothing
        }
    }
}

/// Hands on one value that a query fits.
fn give<E: de::Error>(
    reading: &Reading,
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

impl<'de> Visitor<'de> for Walk<'_, '_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut found, mut names) = (false, Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let takes = match &self.way[0] {
                Way::Each => true,
                Way::To(Step::Name(wanted)) => *wanted == name,
                Way::To(Step::Index(_)) => false,
            };
            if !takes {
                map.next_value::<IgnoredAny>()?;
                if names.len() < 20 {
                    names.push(name);
                }
                continue;
            }
            found = true;
            map.next_value_seed(Walk {
                reading: self.reading,
                way: &self.way[1..],
                done: after(&self.way[0], &self.done),
                sink: &mut *self.sink,
            })?;
        }
        match found {
            true => Ok(()),
            false => self.nothing(&path::has(names.iter().map(String::as_str))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let wanted = match &self.way[0] {
            Way::Each => None,
            // In a query, a name is never an element.
            Way::To(Step::Name(_)) if self.reading.plan.many => Some(None),
            Way::To(step) => Some(step.index().and_then(|index| usize::try_from(index).ok())),
        };
        let (mut found, mut place) = (wanted.is_none(), 0_usize);
        loop {
            let takes = wanted.is_none_or(|wanted| wanted == Some(place));
            let more = match takes {
                true => {
                    let walk = Walk {
                        reading: self.reading,
                        way: &self.way[1..],
                        done: after(&self.way[0], &self.done),
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

fn after(way: &Way, done: &str) -> String {
    match way {
        Way::To(step) => step.after(done),
        Way::Each => done.to_owned(),
    }
}

/// The elements of the list that a path selected, as far as they are asked for.
struct Elements<'r> {
    reading: &'r Reading,
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
                let held = list.next_element_seed(Held(reading))?;
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

/// One value that is held in memory.
struct Held<'r>(&'r Reading);

impl<'de> DeserializeSeed<'de> for Held<'_> {
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
