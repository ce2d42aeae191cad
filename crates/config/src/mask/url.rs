//! Masks secrets in URLs: credentials, parameters, and secret paths.

use super::text::{is_placeholder, is_random, is_soft, is_token};
use super::{MASK, is_client_id, is_secret_key};

/// Services whose URL is itself the secret: everything after this part of the path is masked.
const WEBHOOKS: [(&str, &str); 8] = [
    ("hooks.slack.com", "/services/"),
    ("hooks.slack.com", "/workflows/"),
    ("hooks.slack.com", "/triggers/"),
    ("discord.com", "/webhooks/"),
    ("discordapp.com", "/webhooks/"),
    ("webhook.office.com", "/webhookb2/"),
    ("hooks.zapier.com", "/hooks/"),
    ("api.telegram.org", "/bot"),
];

/// Parameters that carry a secret under a name too common elsewhere.
const PARAMETERS: [&str; 4] = ["code", "sas", "session", "sid"];

/// Masks the URLs in a word; `None` if there are none.
pub(super) fn mask_urls(word: &str) -> Option<String> {
    let at = word.find("://")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let scheme = word[..at].trim_end_matches(legal).len();
    if scheme == at {
        return None;
    }
    let url = &word[scheme..];
    let end = url
        .find(['"', '\'', '<', '>', '`', ','])
        .unwrap_or(url.len());
    let (url, rest) = url.split_at(end);
    let rest = mask_urls(rest).unwrap_or_else(|| rest.to_owned());
    // The prefix, such as `--url=`, is kept as it is.
    Some(format!("{}{}{rest}", &word[..scheme], mask_url(url)))
}

fn mask_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    // Browsers treat a backslash like a slash, so it ends the authority as well.
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    // The last `@` separates the host: a password may contain others.
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) if is_placeholder(login) => (format!("{login}@"), host),
        Some((_, host)) => (format!("{MASK}@"), host),
        None => (String::new(), authority),
    };
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (rest, None),
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let mut shown = format!("{scheme}://{login}{host}{}", mask_path(host, path));
    for (mark, part) in [('?', query), ('#', fragment)] {
        if let Some(part) = part {
            shown.push(mark);
            shown.push_str(&mask_query(part));
        }
    }
    shown
}

fn mask_path(host: &str, path: &str) -> String {
    let host = host
        .split(':')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let webhook = WEBHOOKS.iter().find_map(|(of, part)| {
        let same = host == *of || host.ends_with(&format!(".{of}"));
        let at = path.find(part).filter(|_| same)?;
        Some(at + part.len()).filter(|end| *end < path.len())
    });
    if let Some(end) = webhook {
        return format!("{}{MASK}", &path[..end]);
    }
    let segments = path.split('/').map(|segment| {
        let secret = is_token(segment) || is_random(segment);
        if secret && !is_placeholder(segment) {
            MASK
        } else {
            segment
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn mask_query(query: &str) -> String {
    let pairs = query.split('&').map(|pair| {
        let Some((name, value)) = pair.split_once('=') else {
            let secret = is_token(pair) || is_random(pair);
            return if secret {
                MASK.to_owned()
            } else {
                pair.to_owned()
            };
        };
        let named = is_secret_key(name)
            || is_soft(name)
            || PARAMETERS.iter().any(|one| name.eq_ignore_ascii_case(one));
        let secret = named || is_token(value) || is_random(value);
        let secret = secret && !is_client_id(name);
        match secret && !value.is_empty() && !is_placeholder(value) {
            true => format!("{name}={MASK}"),
            false => pair.to_owned(),
        }
    });
    pairs.collect::<Vec<_>>().join("&")
}
