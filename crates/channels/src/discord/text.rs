//! Converts Discord's text format to Markdown.

use std::collections::HashMap;

use super::directory::ChannelDirectory;

/// Names for the mentions in a text.
pub(super) struct MentionNames<'a> {
    /// Our own id and name.
    pub(super) me: Option<(&'a str, &'a str)>,
    /// Names of people by id.
    pub(super) people: HashMap<&'a str, &'a str>,
    /// Channels.
    pub(super) rooms: &'a ChannelDirectory,
}

/// Replaces ids by names, and removes a mention of us at either end.
pub(super) fn read(text: &str, names: &MentionNames<'_>) -> String {
    let mut text = text.trim();
    if let Some((me, _)) = names.me {
        let marks = [format!("<@{me}>"), format!("<@!{me}>")];
        while let Some(rest) = marks
            .iter()
            .find_map(|mark| text.strip_prefix(mark.as_str()))
        {
            text = rest.trim_start_matches([',', ':']).trim_start();
        }
        while let Some(rest) = marks
            .iter()
            .find_map(|mark| text.strip_suffix(mark.as_str()))
        {
            text = rest.trim_end();
        }
    }
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        all.push_str(&rest[..at]);
        rest = &rest[at..];
        // Mentions are short, so the search is bounded.
        let end = rest.bytes().take(128).position(|byte| byte == b'>');
        let named = end.and_then(|end| Some((name(&rest[1..end], names)?, end + 1)));
        let length = match named {
            Some((name, length)) => {
                all.push_str(&name);
                length
            }
            None => {
                all.push('<');
                1
            }
        };
        rest = &rest[length..];
    }
    all.push_str(rest);
    all
}

/// The text for a mention between `<` and `>`.
fn name(mark: &str, names: &MentionNames<'_>) -> Option<String> {
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(role) = mark.strip_prefix("@&") {
        return is_id(role).then(|| "@role".to_owned());
    }
    if let Some(id) = mark.strip_prefix('@') {
        let id = id.strip_prefix('!').unwrap_or(id);
        let own = names.me.filter(|(me, _)| *me == id).map(|(_, name)| name);
        let name = own.or_else(|| names.people.get(id).copied());
        return is_id(id).then(|| format!("@{}", name.unwrap_or("somebody")));
    }
    if let Some(id) = mark.strip_prefix('#') {
        let room = names.rooms.known(id).and_then(|room| room.name);
        return is_id(id).then(|| format!("#{}", room.unwrap_or_else(|| "channel".to_owned())));
    }
    // `:name:id`, or `a:name:id` if animated.
    let emoji = mark.strip_prefix('a').unwrap_or(mark).strip_prefix(':')?;
    let (name, id) = emoji.split_once(':')?;
    let known = is_id(id)
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    known.then(|| format!(":{name}:"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_become_names_and_the_mention_that_only_calls_us_goes() {
        let rooms = ChannelDirectory::default();
        rooms.learn(&json!({ "id": "5", "type": 0, "name": "general" }));
        let names = MentionNames {
            me: Some(("1", "Hands")),
            people: HashMap::from([("2", "Ada")]),
            rooms: &rooms,
        };
        for (text, expect) in [
            ("<@1> hi", "hi"),
            ("<@!1>, hi", "hi"),
            ("hi <@1>", "hi"),
            (
                "ask <@1> or <@2> or <@3>",
                "ask @Hands or @Ada or @somebody",
            ),
            ("in <#5> and <#6>", "in #general and #channel"),
            ("<:party:77> <a:dance:78> <@&9>", ":party: :dance: @role"),
            ("a < b, <x>, <@x>, <", "a < b, <x>, <@x>, <"),
            ("<@1>", ""),
            ("**bold** <é>", "**bold** <é>"),
        ] {
            assert_eq!(read(text, &names), expect, "{text:?}");
        }
    }
}
