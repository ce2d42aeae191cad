//! The `servers` of a document, in one canonical spelling.
//!
//! The owner accepts an address once, by how it is displayed, and credentials are sent there from
//! then on. So all spellings of one address must compare equal, and none may look like another.

use serde_json::Value;
use url::{Host, Url};

/// The longest address of a server.
const MAX_ADDRESS: usize = 2_000;

/// The first server that `object` (an operation, a path or the document) names. Relative addresses
/// are resolved against `from`, the URL of the document.
pub(super) fn named(object: &Value, from: Option<&Url>) -> Result<Option<String>, String> {
    let Some(first) = object["servers"].get(0) else {
        return Ok(None);
    };
    let said = first["url"]
        .as_str()
        .ok_or("an entry of `servers` has no `url`")?;
    let said = filled(said, &first["variables"])?;
    canonical(&said, from).map(|url| Some(url.into()))
}

/// Substitutes the default values of `{variables}`.
fn filled(said: &str, variables: &Value) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = said;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("the server {said:?} has a `{{` without its `}}`"))?;
        let default = variables[name]["default"].as_str();
        let default = default.ok_or_else(|| {
            format!("the variable `{name}` of the server {said:?} has no default")
        })?;
        out.push_str(before);
        out.push_str(default);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The canonical URL that is accepted, compared and called: scheme, host, port and base path,
/// without a trailing slash.
pub(super) fn canonical(said: &str, from: Option<&Url>) -> Result<Url, String> {
    let shown = || said.chars().take(200).collect::<String>();
    let wrong = |why: &str| format!("the server {:?} {why}", shown());
    if said.len() > MAX_ADDRESS {
        return Err(wrong("is too long for a URL"));
    }
    let parsed = match from {
        Some(from) => from.join(said),
        None => Url::parse(said),
    };
    let mut url = parsed.map_err(|error| match (error, from) {
        (url::ParseError::RelativeUrlWithoutBase, None) => {
            wrong("is relative, but the document is a local file; set `url` next to `openapi`")
        }
        (error, _) => wrong(&format!("is not an address: {error}")),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is not an http or https address"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "contains a user name or password; add a connection with the credentials instead",
        ));
    }
    if let Some(Host::Domain(name)) = url.host() {
        let name = name.strip_suffix('.').unwrap_or(name).to_owned();
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return Err(wrong("has a host name with an empty part"));
        }
        url.set_host(Some(&name))
            .map_err(|error| wrong(&format!("is not an address: {error}")))?;
    }
    url.set_query(None);
    url.set_fragment(None);
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&base);
    Ok(url)
}

/// The URL used to judge an address without a lookup: names of this machine count as loopback,
/// whatever a resolver says.
pub(super) fn judged(url: &Url) -> Url {
    let mut url = url.clone();
    let local = matches!(url.host(), Some(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost"));
    if local {
        let _ = url.set_ip_host([127, 0, 0, 1].into()); // never fails for http URLs
    }
    url
}

/// Checks that a path of the document stays below the base path of its server.
pub(super) fn checked_path(path: &str) -> Result<(), String> {
    let shown: String = path.chars().take(200).collect();
    if !path.starts_with('/') {
        return Err(format!("the path {shown:?} does not begin with `/`"));
    }
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    let dots = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    // The URL parser treats a backslash as a slash and drops tabs and newlines, so either could
    // smuggle in another path.
    let odd = plain.contains(['\t', '\n', '\r']);
    match odd || plain.split(['/', '\\']).any(dots) {
        true => Err(format!("the path {shown:?} leads out of its server")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What an address comes to; nothing where it is refused.
    fn place(said: &str, from: Option<&str>) -> Option<String> {
        let from = from.map(|from| Url::parse(from).unwrap());
        canonical(said, from.as_ref()).ok().map(Into::into)
    }

    #[test]
    fn every_spelling_of_a_place_comes_out_the_same() {
        for (said, expect) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("https://api.example/v1/", "https://api.example/v1"),
            ("HTTPS://API.Example/v1", "https://api.example/v1"),
            ("https://api.example:443/v1", "https://api.example/v1"),
            ("https://api.example./v1", "https://api.example/v1"),
            ("https://api.example/v1?x=1#y", "https://api.example/v1"),
            ("https:\\\\api.example\\v1", "https://api.example/v1"),
            (" https://api.example/v1\n", "https://api.example/v1"),
            ("https://api.exa\tmple/v1", "https://api.example/v1"),
            ("https://api.example/a/../v1", "https://api.example/v1"),
            ("https://api.example/a/%2e%2e/v1", "https://api.example/v1"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://аpi.example/", "https://xn--pi-6kc.example/"),
            ("https://api。example/", "https://api.example/"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://0177.0.0.1/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://①②⑦.0.0.1/", "http://127.0.0.1/"),
            ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
            ("http://[::ffff:7f00:1]/", "http://[::ffff:7f00:1]/"),
            (
                "https://good.example\\@evil.example/",
                "https://good.example/@evil.example",
            ),
            (
                "https://good.example/@evil.example",
                "https://good.example/@evil.example",
            ),
        ] {
            assert_eq!(place(said, None).as_deref(), Some(expect), "{said:?}");
        }
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for said in [
            "",
            "/v1",
            "api.example/v1",
            "//api.example/v1",
            "ftp://api.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "ws://api.example/",
            "data:text/plain,x",
            "https://",
            "https://me@api.example/",
            "https://me:pw@api.example/",
            "https://good.example@evil.example/",
            "https://good.example:pw@evil.example/",
            "https://api..example/",
            "https://api.example../",
            "https://./",
            "http://256.0.0.1/",
            "http://[::1/",
            "http://1.2.3.4.5/",
            "https://a b.example/",
            "https://api.example:99999/",
        ] {
            assert_eq!(place(said, None), None, "{said:?}");
        }
        assert_eq!(
            place(&format!("https://a.example/{}", "x".repeat(3_000)), None),
            None
        );
    }

    #[test]
    fn relative_addresses_are_relative_to_the_document() {
        let from = Some("https://docs.example/v2/openapi.json");
        for (said, expect) in [
            ("/", "https://docs.example/"),
            ("/api", "https://docs.example/api"),
            ("api", "https://docs.example/v2/api"),
            ("../api", "https://docs.example/api"),
            ("//other.example/v1", "https://other.example/v1"),
            ("https://api.example/v1", "https://api.example/v1"),
        ] {
            assert_eq!(place(said, from).as_deref(), Some(expect), "{said:?}");
        }
    }

    #[test]
    fn variables_have_their_defaults_and_are_judged_after_that() {
        let server = |url: &str, variables: Value| {
            let object = json!({ "servers": [{ "url": url, "variables": variables }] });
            named(&object, None)
        };
        let default = |text: &str| json!({ "default": text });
        let good = server(
            "{scheme}://{host}.example:{port}/{base}",
            json!({ "scheme": default("https"), "host": default("API"), "port": default("443"), "base": default("v1") }),
        );
        assert_eq!(good.unwrap().as_deref(), Some("https://api.example/v1"));
        // A default is put in once: what it holds is not filled in again.
        let once = server(
            "https://a.example/{a}",
            json!({ "a": default("{b}"), "b": default("x") }),
        );
        assert_eq!(once.unwrap().as_deref(), Some("https://a.example/%7Bb%7D"));
        for (url, variables) in [
            ("https://{host}/", json!({})),
            (
                "https://{host}/",
                json!({ "host": { "enum": ["a.example"] } }),
            ),
            ("https://{host/", json!({ "host": default("a.example") })),
            (
                "https://{who}@a.example/",
                json!({ "who": default("me:pw") }),
            ),
            (
                "{scheme}://a.example/",
                json!({ "scheme": default("file") }),
            ),
        ] {
            assert!(server(url, variables.clone()).is_err(), "{url} {variables}");
        }
        assert_eq!(named(&json!({}), None), Ok(None));
        assert_eq!(named(&json!({ "servers": [] }), None), Ok(None));
        assert!(named(&json!({ "servers": [{}] }), None).is_err());
    }

    #[test]
    fn paths_stay_below_their_server() {
        for path in [
            "/",
            "/pets",
            "/pets/{id}",
            "/a.b/..c/d..",
            "/x?next=../y",
            "/p/%2F",
        ] {
            assert_eq!(checked_path(path), Ok(()), "{path}");
        }
        for path in [
            "",
            "pets",
            "@evil.example/",
            "https://evil.example/",
            "/../admin",
            "/a/../b",
            "/a/..",
            "/%2e%2e/admin",
            "/%2E./admin",
            "/.%2e\\admin",
            "/a\\..\\b",
            "/./a",
            "/.\t./a",
        ] {
            assert!(checked_path(path).is_err(), "{path}");
        }
    }
}
