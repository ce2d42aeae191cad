//! Albums: several messages that somebody sent as one.
//!
//! Telegram tells each picture of an album by an update of its own. Those that come together become
//! one event, under the number of the first. Which ones these were is noted before the event is
//! kept: should they come again with a latecomer among them, the event is made of the same ones,
//! and the latecomer is an event of its own instead of being lost.

use std::collections::{BTreeMap, HashMap};

use crate::words::{Heard, Inbound, Message};

use super::read::Item;

/// The updates of albums by the first of each.
pub(super) type Albums = BTreeMap<i64, Vec<i64>>;

/// Whether the last of these may have more of its album behind it.
pub(super) fn is_open(items: &[Item]) -> bool {
    items.last().is_some_and(|last| last.album.is_some())
}

/// The events of these updates, and the albums among them. Albums of `before` stay as they were.
pub(super) fn gathered(items: Vec<Item>, before: &Albums) -> (Vec<Inbound>, Albums) {
    let mut events: Vec<Inbound> = Vec::new();
    let mut albums = Albums::new();
    // Per album: the first update, and where its event stands.
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

/// Adds what `more` says to `event`.
fn join(event: &mut Inbound, more: Inbound) {
    let (Heard::Message(message), Heard::Message(more)) = (&mut event.what, more.what) else {
        return;
    };
    let Message {
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
