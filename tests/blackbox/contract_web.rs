//! The web tools as their spec texts write them: what they share, and `tool::web_fetch`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, tree};
use crate::mcp::{self, Era};
use crate::origin::{Heard, Origin, Reply};
use crate::ssrf::LOOPBACK;

pub const WEB_FETCH: &str = "tool::web_fetch";
pub const URL_FETCH: &str = "url_fetch";
pub const TOOL_SEARCH: &str = "tool::web_search";
pub const WEB_SEARCH: &str = "web_search";

/// A gateway and a server that it may reach.
pub struct Web {
    pub gateway: Gateway,
    pub server: Origin,
    tools: Vec<Value>,
}

impl Web {
    /// With these settings, and loopback allowed.
    pub fn new(settings: &str, answers: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> Self {
        let server = Origin::on([127, 0, 0, 1], answers);
        Self::of(
            Gateway::with_config(&format!("{settings}\n{LOOPBACK}")),
            server,
        )
    }

    pub fn of(gateway: Gateway, server: Origin) -> Self {
        let listed = gateway.get("/api/tools").json();
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        Self {
            gateway,
            server,
            tools,
        }
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    pub fn schema(&self, tool: &str, which: &str) -> &Value {
        let found = self.tools.iter().find(|listed| listed["name"] == tool);
        &found.unwrap_or_else(|| panic!("{tool} is not listed"))[which]
    }

    /// A call that must give a result: it fits the output schema and has exactly these keys.
    #[track_caller]
    pub fn gives(&self, tool: &str, arguments: Value, keys: &[&str]) -> Value {
        let said = self.gateway.call(tool, arguments.clone());
        assert_eq!(said["ok"], true, "{tool} {arguments}: {said}");
        let result = &said["result"];
        let schema = self.schema(tool, "outputSchema");
        let validator = jsonschema::validator_for(schema).expect("a valid output schema");
        let problems = validator.iter_errors(result).map(|e| e.to_string());
        let problems: Vec<String> = problems.collect();
        assert!(problems.is_empty(), "{tool}: {problems:?} in {result}");
        let found = result.as_object().expect("an object").keys();
        let found: BTreeSet<&str> = found.map(String::as_str).collect();
        assert_eq!(found, keys.iter().copied().collect(), "{tool} {arguments}");
        result.clone()
    }

    /// A call that must be refused before anyone is asked: its code, words of its message.
    #[track_caller]
    pub fn refuses(&self, tool: &str, arguments: Value, code: &str, words: &[&str]) -> Value {
        let before = self.server.hits();
        let said = self.fails(tool, arguments.clone(), code, words);
        assert_eq!(self.server.hits(), before, "{arguments} reached the server");
        said
    }

    /// A call that must fail, whoever was asked: nothing was written.
    #[track_caller]
    pub fn fails(&self, tool: &str, arguments: Value, code: &str, words: &[&str]) -> Value {
        let before = self.files();
        let said = self.gateway.call(tool, arguments.clone());
        let seen = (&said["ok"], said["code"].as_str());
        assert_eq!(
            seen,
            (&json!(false), Some(code)),
            "{tool} {arguments}: {said}"
        );
        let error = said["error"].as_str().expect("an error");
        for word in words {
            assert!(
                error.contains(word),
                "{word:?} in {error:?} for {arguments}"
            );
        }
        assert_eq!(self.files(), before, "{tool} {arguments} wrote something");
        said
    }

    /// Every file in the folders of this machine's tools.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = tree(&self.gateway.home.path().join("host"));
        found.retain(|(name, _)| !name.ends_with('/'));
        found
    }

    /// The most memory the gateway has ever held, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.gateway.daemon.pid());
        let status = std::fs::read_to_string(path).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let digits = line.and_then(|line| line.split_whitespace().next());
        digits.and_then(|kib| kib.parse().ok()).expect("a size")
    }
}

/// `size` bytes of `x` in gzip: a literal, then copies of it, 258 at a time. Some 160 to one.
pub fn bomb(size: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut bits, mut held) = (0_u64, 0_u32);
    let mut put = |value: u64, count: u32| {
        bits |= value << held;
        held += count;
        while held >= 8 {
            bytes.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            held -= 8;
        }
    };
    put(0b011, 3); // the last block, with the fixed codes
    put(0b0001_0101, 8); // an x
    for _ in 0..size / 258 {
        put(0b1010_0011, 8); // copy 258 bytes
        put(0, 5); // from one byte back
    }
    put(0, 16); // the end
    bytes
}

/// `body` in gzip, stored as it is.
pub fn gzip(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("a small body");
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(body);
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1;
            crc = (crc >> 1) ^ (carry * 0xedb8_8320);
        }
    }
    bytes.extend((!crc).to_le_bytes());
    bytes.extend(u32::from(length).to_le_bytes());
    bytes
}

#[test]
fn the_schemas_match_the_spec() {
    let web = Web::new("", |_| Reply::text("x"));
    let table: [(&str, &[&str], &str); 4] = [
        (WEB_FETCH, &["maxSize", "url"], "url"),
        (
            URL_FETCH,
            &[
                "auth_profile",
                "body",
                "download_path",
                "headers",
                "max_bytes",
                "method",
                "raw",
                "timeout_seconds",
                "url",
            ],
            "url",
        ),
        (TOOL_SEARCH, &["maxResults", "provider", "query"], "query"),
        (WEB_SEARCH, &["max_results", "q"], "q"),
    ];
    for (tool, parameters, required) in table {
        let schema = web.schema(tool, "inputSchema");
        jsonschema::meta::validate(schema).expect("a valid schema");
        jsonschema::meta::validate(web.schema(tool, "outputSchema")).expect("a valid schema");
        let known = schema["properties"].as_object().expect("parameters");
        let mut names: Vec<&str> = known.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, parameters, "{tool}");
        assert_eq!(schema["required"], json!([required]), "{tool}");
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        for (name, parameter) in known {
            let text = parameter["description"].as_str().unwrap_or_default();
            assert!(text.len() > 10, "{tool} {name} is described");
        }
        let needed = format!("{required}: is required");
        web.refuses(tool, json!({}), "invalid_arguments", &[&needed]);
        web.refuses(
            tool,
            json!({ required: web.url("/"), "unheardOf": 1 }),
            "invalid_arguments",
            &["unheardOf", "is not a parameter"],
        );
        // `body` takes any value, and is the only one.
        for name in parameters.iter().filter(|name| **name != "body") {
            for value in [json!([[]]), json!({ "a": [] })] {
                let mut arguments = json!({ required: web.url("/") });
                arguments[name] = value;
                let said = web.refuses(tool, arguments, "invalid_arguments", &[name]);
                let named = said["problems"][0]["parameter"].as_str().expect("a name");
                assert!(named.starts_with(name), "{tool} {name}: {said}");
            }
        }
        web.refuses(
            tool,
            json!({ required: "" }),
            "invalid_arguments",
            &[required],
        );
    }
    web.gives(WEB_FETCH, json!({ "url": web.url("/") }), &TEXT);
}

#[test]
fn switches_disable_and_enable_tools_at_once() {
    let web = Web::new("", |_| Reply::text("x"));
    let gateway = &web.gateway;
    let switches: [(&str, &[&str]); 3] = [
        ("tools.web_fetch.enabled", &[WEB_FETCH]),
        ("tools.url_fetch.enabled", &[URL_FETCH]),
        ("tools.web_search.enabled", &[TOOL_SEARCH, WEB_SEARCH]),
    ];
    let listed = || -> Vec<String> {
        let said = gateway.get("/api/tools").json();
        let tools = said["result"]["tools"].as_array().expect("tools").clone();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let over_mcp = || -> Vec<String> {
        let tools = mcp::list(gateway, Era::Stateless, &gateway.owner);
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let all = listed();
    for (setting, tools) in switches {
        gateway.cli(&["config", "set", setting, "false"]).ok();
        assert_eq!(listed().len(), all.len() - tools.len(), "at once");
        for tool in tools {
            assert!(!listed().contains(&(*tool).to_owned()), "{tool}");
            assert!(!over_mcp().contains(&tool.replace("::", "__")), "{tool}");
            let arguments = json!({ "url": web.url("/"), "query": "x", "q": "x" });
            web.refuses(tool, arguments, "unavailable", &[tool]);
        }
        gateway.cli(&["config", "set", setting, "true"]).ok();
        assert_eq!(listed(), all, "at once");
    }
    web.gives(WEB_FETCH, json!({ "url": web.url("/") }), &TEXT);
}

/// What a text gives; a page adds its title and links, a cut the full size.
const TEXT: [&str; 5] = ["url", "status", "contentType", "content", "truncated"];
const CUT: [&str; 7] = [
    "url",
    "status",
    "contentType",
    "content",
    "truncated",
    "artifactId",
    "fullSize",
];
const PAGE: [&str; 7] = [
    "url",
    "status",
    "contentType",
    "content",
    "truncated",
    "title",
    "links",
];

const HTML: &str = "<!doctype html><html><head><title>  The   Title </title>\
    <style>p { color: red }</style><script>alert('script')</script></head><body>\
    <nav><a href=\"/nav\">Menu</a></nav><article><h1>Heading</h1>\
    <p>First paragraph with a <a href=\"sub/page.html#part\">relative link</a> and \
    <a href=\"https://example.com/abs\">an absolute one</a>.</p><ul><li>one</li><li>two</li></ul>\
    <p hidden>unseen</p><a href=\"javascript:alert(1)\">bad</a></article></body></html>";

#[test]
fn web_fetch_makes_a_page_readable() {
    let web = Web::new("", |heard| match heard.target.as_str() {
        "/old/" => Reply::redirect(301, "/docs/"),
        "/json" => Reply::ok("application/json", "{\"a\": [1,  2]}"),
        "/bare" => Reply::ok("", "<html><body>no type</body></html>"),
        "/png" => Reply::ok("image/png", vec![0x89, b'P', 0, 1, 2]),
        "/missing" => Reply::new(404, "text/plain", "not here"),
        "/broken" => Reply::new(500, "text/plain", "broken"),
        "/empty" => Reply::new(204, "", ""),
        _ => Reply::ok("text/html; charset=utf-8", HTML),
    });
    let page = web.gives(WEB_FETCH, json!({ "url": web.url("/old/") }), &PAGE);
    assert_eq!(page["url"], web.url("/docs/"), "where it ended");
    assert_eq!(page["status"], 200);
    assert_eq!(page["contentType"], "text/html; charset=utf-8");
    assert_eq!(page["title"], "The Title");
    assert_eq!(page["truncated"], false);
    let content = page["content"].as_str().expect("a text");
    for there in ["Heading", "First paragraph", "relative link", "one", "two"] {
        assert!(content.contains(there), "{there} in {content}");
    }
    for gone in ["<p>", "color: red", "alert", "unseen"] {
        assert!(!content.contains(gone), "{gone} in {content}");
    }
    let links = page["links"].as_array().expect("links");
    let find = |url: &str| links.iter().find(|link| link["url"] == url);
    let relative = find(&web.url("/docs/sub/page.html")).expect("made absolute");
    assert_eq!(
        relative,
        &json!({ "text": "relative link", "url": web.url("/docs/sub/page.html") })
    );
    assert!(find("https://example.com/abs").is_some(), "{links:?}");
    assert!(links.iter().all(|link| {
        link["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("http"))
    }));

    let json = web.gives(WEB_FETCH, json!({ "url": web.url("/json") }), &TEXT);
    assert_eq!(json["content"], "{\"a\": [1,  2]}", "as it came");
    let bare = web.gives(WEB_FETCH, json!({ "url": web.url("/bare") }), &TEXT);
    assert_eq!(
        (&bare["contentType"], &bare["content"]),
        (&json!(""), &json!("no type"))
    );
    let png = web.gives(WEB_FETCH, json!({ "url": web.url("/png") }), &TEXT);
    assert_eq!(png["content"], "binary content, 5 bytes, image/png");
    for (path, status, content) in [
        ("/missing", 404, "not here"),
        ("/broken", 500, "broken"),
        ("/empty", 204, ""),
    ] {
        let said = web.gives(WEB_FETCH, json!({ "url": web.url(path) }), &TEXT);
        assert_eq!(
            (&said["status"], &said["content"]),
            (&json!(status), &json!(content))
        );
    }
    let heard = web.server.last();
    assert_eq!(heard.method, "GET");
    let agent = heard.header("user-agent").expect("a name");
    assert!(agent.starts_with("manyhands/"), "{agent}");
}

#[test]
fn web_fetch_cuts_visibly_and_never_past_the_limits() {
    let sized = |heard: &Heard| {
        let (kind, size) = heard.target[1..].split_once('/').expect("kind and size");
        let size: usize = size.parse().expect("a size");
        match kind {
            "said" => Reply::text("x".repeat(size)),
            "accents" => Reply::text("é".repeat(size)),
            _ => Reply::text("x".repeat(size)).unsaid(),
        }
    };
    let web = Web::new("", sized);
    let fetch = |path: &str, max: Option<u64>, keys: &[&str]| {
        let mut arguments = json!({ "url": web.url(path) });
        if let Some(max) = max {
            arguments["maxSize"] = json!(max);
        }
        let page = web.gives(WEB_FETCH, arguments, keys);
        let length = page["content"].as_str().map(str::len).expect("a text");
        assert_eq!(page["truncated"], keys != TEXT, "{path}");
        (length, page["fullSize"].as_u64())
    };
    assert_eq!(fetch("/said/1000", None, &TEXT), (1000, None));
    assert_eq!(fetch("/said/1000", Some(1000), &TEXT), (1000, None));
    assert_eq!(fetch("/said/1000", Some(999), &CUT), (999, Some(1000)));
    assert_eq!(fetch("/said/1000", Some(1), &CUT), (1, Some(1000)));
    assert_eq!(
        fetch("/accents/1000", Some(7), &CUT),
        (6, Some(2000)),
        "no half characters"
    );
    assert_eq!(fetch("/said/100000", None, &TEXT), (100_000, None));
    assert_eq!(
        fetch("/said/100001", None, &CUT),
        (100_000, Some(100_001)),
        "100 KB at most"
    );
    assert_eq!(
        fetch("/said/100001", Some(200_000), &CUT),
        (100_000, Some(100_001))
    );
    // A size that nobody said is known only when all of it was read: 500000 bytes and a little past the cut.
    let unsaid = ["url", "status", "contentType", "content", "truncated"];
    assert_eq!(
        fetch("/unsaid/500000", None, &CUT),
        (100_000, Some(500_000))
    );
    let lowered = [&unsaid[..], &["lowered"]].concat();
    for (max, keys) in [
        (500_000, &unsaid[..]),
        (600_000, &lowered),
        (1_u64 << 60, &lowered),
    ] {
        let arguments = json!({ "url": web.url("/unsaid/510000"), "maxSize": max });
        let page = web.gives(WEB_FETCH, arguments, keys);
        assert_eq!(page["truncated"], true, "{max:?} does not raise the limit");
        if max > 500_000 {
            let said = json!([{
                "parameter": "maxSize", "requested": max, "used": 500_000, "limit": "tools.web_fetch.max_bytes",
            }]);
            assert_eq!(page["lowered"], said);
        }
    }
    // Without a wish of the caller the rest is read too, and stored.
    let page = web.gives(WEB_FETCH, json!({ "url": web.url("/unsaid/510000") }), &CUT);
    assert_eq!(page["fullSize"], 510_000);
    let id = page["artifactId"].as_str().expect("an id");
    let whole = web.gateway.cli(&["artifact", id]).ok();
    assert_eq!(whole.stdout, "x".repeat(510_000));
    for max in [json!(0), json!(-1), json!(1.5), json!("10")] {
        let arguments = json!({ "url": web.url("/said/10"), "maxSize": max });
        web.refuses(WEB_FETCH, arguments, "invalid_arguments", &["maxSize"]);
    }
    let small = Web::new("tools.web_fetch.max_bytes = 1000", sized);
    let lowered = [&CUT[..], &["lowered"]].concat();
    for (max, length, keys) in [
        (5000, 1000, &lowered[..]),
        (1000, 1000, &CUT),
        (10, 10, &CUT),
    ] {
        let arguments = json!({ "url": small.url("/said/2000"), "maxSize": max });
        let page = small.gives(WEB_FETCH, arguments, keys);
        assert_eq!(page["content"].as_str().map(str::len), Some(length));
        assert_eq!(page["fullSize"], 2000);
    }
}

#[test]
fn web_fetch_reads_every_encoding_and_bounds_it() {
    let web = Web::new("", |heard| match heard.target.as_str() {
        "/latin" => Reply::ok("text/plain; charset=ISO-8859-1", *b"caf\xe9"),
        "/meta" => Reply::ok("text/html", *b"<meta charset=koi8-r><p>\xd2\xd5\xd3</p>"),
        "/bom" => Reply::ok("text/plain", *b"\xff\xfec\0a\0f\0\xe9\0"),
        "/guess" => Reply::ok("text/plain", "naïve café".as_bytes()),
        "/broken" => Reply::ok("text/plain; charset=utf-8", *b"ok \xff\xfe ok"),
        "/gzip" => Reply::text(gzip("packed é".as_bytes())).header("Content-Encoding", "gzip"),
        "/not-gzip" => Reply::text("plain").header("Content-Encoding", "gzip"),
        _ => Reply::text(bomb(300_000_000)).header("Content-Encoding", "gzip"),
    });
    for (path, content) in [
        ("/latin", "café"),
        ("/meta", "рус"),
        ("/bom", "café"),
        ("/guess", "naïve café"),
        ("/broken", "ok \u{fffd}\u{fffd} ok"),
        ("/gzip", "packed é"),
    ] {
        let page = web.gives(WEB_FETCH, json!({ "url": web.url(path) }), &TEXT);
        assert_eq!(page["content"], content, "{path}");
    }
    web.fails(
        WEB_FETCH,
        json!({ "url": web.url("/not-gzip") }),
        "failed",
        &["/not-gzip"],
    );
    let before = web.peak_memory();
    let keys = [&TEXT[..], &["artifactId"]].concat();
    let page = web.gives(WEB_FETCH, json!({ "url": web.url("/bomb") }), &keys);
    assert_eq!(page["truncated"], true, "bounded after decompression");
    assert_eq!(page["content"].as_str().map(str::len), Some(100_000));
    let grown = web.peak_memory() - before;
    assert!(grown < 64 * 1024, "300 MB took {grown} KiB");
}

#[test]
fn web_fetch_explains_failures() {
    let web = Web::new("tools.web_fetch.timeout = 1", |heard| {
        match heard.target.as_str() {
            "/stall" => Reply::text("begun").stalls(),
            "/break" => Reply::text("begun").breaks_off(),
            _ => Reply::text("well"),
        }
    });
    let fetch = |path: &str| json!({ "url": web.url(path) });
    web.fails(
        WEB_FETCH,
        fetch("/stall"),
        "deadline_exceeded",
        &["/stall", "1 seconds"],
    );
    web.fails(WEB_FETCH, fetch("/break"), "failed", &["/break"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|was| was.local_addr());
    let gone = format!("http://{}/", closed.expect("an address"));
    web.refuses(
        WEB_FETCH,
        json!({ "url": gone }),
        "failed",
        &["cannot connect"],
    );
    for url in [
        "example.com",
        "ftp://example.com/",
        "http://me:pw@example.com/",
    ] {
        let said = web.refuses(
            WEB_FETCH,
            json!({ "url": url }),
            "invalid_arguments",
            &["url"],
        );
        assert!(!said.to_string().contains("pw@"), "{said}");
    }
    web.gives(WEB_FETCH, fetch("/"), &TEXT);
}
