//! Writes JSON while reading it, value by value, so that none is ever whole in memory.

use std::cell::RefCell;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

/// A value still to be read; it can be written once.
pub(super) struct Copied<D>(RefCell<Option<D>>);

impl<'de, D: Deserializer<'de>> Copied<D> {
    pub(super) fn of(json: D) -> Self {
        Self(RefCell::new(Some(json)))
    }
}

impl<'de, D: Deserializer<'de>> Serialize for Copied<D> {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        let json = self.0.borrow_mut().take();
        let json = json.ok_or_else(|| S::Error::custom("it was written already"))?;
        json.deserialize_any(Into(into)).map_err(S::Error::custom)
    }
}

/// Writes what is visited.
struct Into<S>(S);

fn other<E: de::Error>(error: impl std::fmt::Display) -> E {
    E::custom(error)
}

impl<'de, S: Serializer> Visitor<'de> for Into<S> {
    type Value = S::Ok;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<S::Ok, E> {
        self.0.serialize_bool(value).map_err(other)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<S::Ok, E> {
        self.0.serialize_i64(value).map_err(other)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<S::Ok, E> {
        self.0.serialize_u64(value).map_err(other)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<S::Ok, E> {
        self.0.serialize_f64(value).map_err(other)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<S::Ok, E> {
        self.0.serialize_str(value).map_err(other)
    }

    fn visit_unit<E: de::Error>(self) -> Result<S::Ok, E> {
        self.0.serialize_unit().map_err(other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<S::Ok, A::Error> {
        let mut into = self.0.serialize_seq(None).map_err(other)?;
        while list.next_element_seed(Element(&mut into))?.is_some() {}
        into.end().map_err(other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S::Ok, A::Error> {
        let mut into = self.0.serialize_map(None).map_err(other)?;
        while let Some(name) = map.next_key::<String>()? {
            into.serialize_key(&name).map_err(other)?;
            map.next_value_seed(Member(&mut into))?;
        }
        into.end().map_err(other)
    }
}

struct Element<'a, S>(&'a mut S);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        self.0.serialize_element(&Copied::of(json)).map_err(other)
    }
}

struct Member<'a, S>(&'a mut S);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for Member<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        self.0.serialize_value(&Copied::of(json)).map_err(other)
    }
}
