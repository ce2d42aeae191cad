//! URLs, encodings and ids for scripts: `web.js` on top of Rust crates.
#![allow(unsafe_code)] // an array's bytes belong to the engine; they are copied in one place

use std::cell::RefCell;
use std::collections::HashMap;

use encoding_rs::{Decoder, DecoderResult, Encoding};
use manyhands_core::{Entropy as _, OsEntropy};
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, TypedArray};
use url::{Url, form_urlencoded, quirks};

use super::engine::options;

const SOURCE: &str = include_str!("web.js");

/// Maximum number of decoders with unfinished streams.
const MAX_STREAMS: usize = 1_000;

/// The globals defined by `web.js`, by name.
pub(super) fn globals<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let created: Function = ctx.eval_with_options(SOURCE, options("prelude"))?;
    created.call((natives(ctx)?,))
}

fn natives<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    let parse = |url: String, base: Option<String>| parse(&url, base.as_deref());
    natives.set("parseUrl", Function::new(ctx.clone(), parse)?)?;
    let change = |url: String, part: String, value: String| {
        change(&url, &part, &value).map(|url| parts(&url))
    };
    natives.set("changeUrl", Function::new(ctx.clone(), change)?)?;
    let parse_form = |query: String| -> Vec<Vec<String>> {
        let pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .map(|(name, value)| vec![name.into_owned(), value.into_owned()])
            .collect()
    };
    natives.set("parseForm", Function::new(ctx.clone(), parse_form)?)?;
    let write_form = |pairs: Vec<Vec<String>>| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for pair in &pairs {
            if let [name, value] = &pair[..] {
                query.append_pair(name, value);
            }
        }
        query.finish()
    };
    natives.set("writeForm", Function::new(ctx.clone(), write_form)?)?;
    // Copied into the engine's memory, which is metered.
    let utf8 = |ctx: Ctx<'js>, text: String| ArrayBuffer::new_copy(ctx, text.as_bytes());
    natives.set("utf8", Function::new(ctx.clone(), utf8)?)?;
    let name = |label: String| {
        Encoding::for_label_no_replacement(label.as_bytes())
            .map(|encoding| encoding.name().to_ascii_lowercase())
    };
    natives.set("encodingName", Function::new(ctx.clone(), name)?)?;
    let streams = DecoderStreams::default();
    let decode = move |ctx: Ctx<'js>,
                       id: u32,
                       name: String,
                       bytes: TypedArray<'js, u8>,
                       fatal: bool,
                       keep_bom: bool,
                       more: bool| {
        // SAFETY: the engine does not run while the bytes are copied.
        let bytes = unsafe { bytes.as_bytes() }.unwrap_or_default().to_vec();
        let decoder = streams.take(id, &name, keep_bom);
        let decoder = decoder.ok_or_else(|| {
            let message = "TextDecoder: too many unfinished streams";
            Exception::throw_range(&ctx, message)
        })?;
        Ok::<_, rquickjs::Error>(streams.decode(id, decoder, &bytes, fatal, more))
    };
    natives.set("decode", Function::new(ctx.clone(), decode)?)?;
    natives.set("uuid", Function::new(ctx.clone(), uuid)?)?;
    Ok(natives)
}

fn parse(url: &str, base: Option<&str>) -> Option<Vec<String>> {
    let parsed = match base {
        Some(base) => Url::parse(base).and_then(|base| base.join(url)),
        None => Url::parse(url),
    };
    parsed.ok().map(|url| parts(&url))
}

/// In the order of `PARTS` in `web.js`.
fn parts(url: &Url) -> Vec<String> {
    vec![
        quirks::href(url).to_owned(),
        quirks::origin(url),
        quirks::protocol(url).to_owned(),
        quirks::username(url).to_owned(),
        quirks::password(url).to_owned(),
        quirks::host(url).to_owned(),
        quirks::hostname(url).to_owned(),
        quirks::port(url).to_owned(),
        quirks::pathname(url).to_owned(),
        quirks::search(url).to_owned(),
        quirks::hash(url).to_owned(),
    ]
}

/// Returns the URL with one part changed; `None` if that is not possible.
fn change(url: &str, part: &str, value: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    match part {
        "href" => quirks::set_href(&mut url, value).ok()?,
        "protocol" => quirks::set_protocol(&mut url, value).ok()?,
        "username" => quirks::set_username(&mut url, value).ok()?,
        "password" => quirks::set_password(&mut url, value).ok()?,
        "host" => quirks::set_host(&mut url, value).ok()?,
        "hostname" => quirks::set_hostname(&mut url, value).ok()?,
        "port" => quirks::set_port(&mut url, value).ok()?,
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => return None,
    }
    Some(url)
}

/// Decoders with unfinished streams.
#[derive(Default)]
struct DecoderStreams(RefCell<HashMap<u32, Decoder>>);

impl DecoderStreams {
    fn take(&self, id: u32, name: &str, keep_bom: bool) -> Option<Decoder> {
        let mut waiting = self.0.borrow_mut();
        // A stream continues with the decoder that holds its incomplete character.
        if let Some(decoder) = waiting.remove(&id) {
            return Some(decoder);
        }
        let encoding = Encoding::for_label(name.as_bytes())?;
        let fits = waiting.len() < MAX_STREAMS;
        fits.then(|| match keep_bom {
            true => encoding.new_decoder_without_bom_handling(),
            false => encoding.new_decoder_with_bom_removal(),
        })
    }

    /// Returns the text; `None` if the data is invalid and `fatal` is set.
    fn decode(
        &self,
        id: u32,
        mut decoder: Decoder,
        bytes: &[u8],
        fatal: bool,
        more: bool,
    ) -> Option<String> {
        let mut text = String::new();
        let mut rest = bytes;
        loop {
            text.reserve(rest.len() + 16);
            let (done, read) = if fatal {
                let (result, read) =
                    decoder.decode_to_string_without_replacement(rest, &mut text, !more);
                if matches!(result, DecoderResult::Malformed(..)) {
                    return None;
                }
                (result == DecoderResult::InputEmpty, read)
            } else {
                let (result, read, _) = decoder.decode_to_string(rest, &mut text, !more);
                (result == encoding_rs::CoderResult::InputEmpty, read)
            };
            rest = &rest[read..];
            if done {
                break;
            }
        }
        if more {
            self.0.borrow_mut().insert(id, decoder);
        }
        Some(text)
    }
}

/// A random UUID (version 4).
fn uuid() -> String {
    let mut bytes = [0; 16];
    OsEntropy.fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}
