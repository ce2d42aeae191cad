//! Albums: several messages sent as one.
//!
//! Telegram sends each picture of an album as a separate update. Those that arrive together become one
//! event, under the number of the first. The grouping is stored before the event: if the updates come
//! again with a latecomer among them, the event is built from the same ones, and the latecomer becomes
//! an event of its own instead of being lost.

use std::collections::{BTreeMap, HashMap};

use crate::message::{Inbound, InboundEvent, InboundMessage};

use super::read::ParsedUpdate;

/// Updates of albums, by the first of each.
pub(super) type Albums = BTreeMap<i64, Vec<i64>>;

/// Whether the last update may have more of its album behind it.
pub(super) fn is_open(items: &[ParsedUpdate]) -> bool {
    items.last().is_some_and(|last| last.album.is_some())
}

/// The events of these updates, and their albums. Albums in `before` stay as they were.
pub(super) fn gathered(items: Vec<ParsedUpdate>, before: &Albums) -> (Vec<Inbound>, Albums) {
    let mut events: Vec<Inbound> = Vec::new();
    let mut albums = Albums::new();
    // Per album: the first update, and the index of its event.
    let mut begun: HashMap<String, (i64, usize)> = HashMap::new();
    for item in items {
        let Some(album) = item.album else {
            events.extend(item.events);
            continue;
        };
        let known = begun.get(&album).copied();
        let joins = known.filter(|(first, _)| {
            let fixed = before.get(first);
            fixed.is_none_or(|fixed| fixed.contains(&item.update))
        });
        for event in item.events {
            match joins {
                Some((first, at)) => {
                    join(&mut events[at], event);
                    albums.entry(first).or_default().push(item.update);
                }
                None => {
                    begun.insert(album.clone(), (item.update, events.len()));
                    albums.insert(item.update, vec![item.update]);
                    events.push(event);
                }
            }
        }
    }
    (events, albums)
}

/// Adds the content of `more` to `event`.
fn join(event: &mut Inbound, more: Inbound) {
    let (InboundEvent::Message(message), InboundEvent::Message(more)) =
        (&mut event.what, more.what)
    else {
        return;
    };
    let InboundMessage {
        text,
        quoted,
        media,
        location,
        mentioned,
        mentions,
    } = *more;
    let apart = if message.text.is_empty() || text.is_empty() {
        ""
    } else {
        "\n"
    };
    message.text.push_str(apart);
    message.text.push_str(&text);
    message.quoted = message.quoted.take().or(quoted);
    message.media.extend(media);
    message.location = message.location.or(location);
    message.mentioned |= mentioned;
    message.mentions.extend(mentions);
}
