//! `tool::web_search` and `web_search`: one search under two names, with a SearXNG of our own.
//!
//! The addresses of Tavily, Brave and DuckDuckGo cannot be led elsewhere from outside; their
//! answers are covered with recorded ones in `hands::web::search::tests`.

use serde_json::{Value, json};

use crate::contract_web::{TOOL_SEARCH, WEB_SEARCH, Web};
use crate::harness::{Gateway, Home, up};
use crate::origin::{Heard, Origin, Reply};
use crate::ssrf::LOOPBACK;

const TOOL: [&str; 2] = ["results", "provider"];
const UNIFIED: [&str; 3] = ["q", "provider", "results"];

fn json_reply(body: &Value) -> Reply {
    Reply::ok("application/json", body.to_string())
}

/// A SearXNG that answers only what one would be asked, and 30 results to everything else.
fn searxng(heard: &Heard) -> Reply {
    let query = heard.target.strip_prefix("/sub/search?q=");
    let query = query.and_then(|query| query.strip_suffix("&format=json"));
    let fits = heard.method == "GET" && heard.header("accept") == Some("application/json");
    let Some(query) = query.filter(|_| fits) else {
        return Reply::new(400, "application/json", "{\"error\":\"not how one asks\"}");
    };
    match query {
        "nothing" => json_reply(&json!({ "results": [] })),
        "wall" => Reply::ok("text/html", "<html>are you a robot?</html>"),
        "format" => Reply::new(403, "text/html", "<html>Forbidden</html>"),
        "later" => Reply::new(429, "text/plain", "slow down").header("Retry-After", "7"),
        "broken" => Reply::new(500, "text/plain", "broken inside"),
        "garbage" => Reply::ok("application/json", "{\"results\": 5}"),
        "engines" => {
            json_reply(&json!({ "results": [], "unresponsive_engines": [["google", "CAPTCHA"]] }))
        }
        "addressless" => {
            json_reply(&json!({ "results": [{ "title": "a" }, { "url": "ftp://x/" }] }))
        }
        "moved" => Reply::redirect(302, "/sub/search?q=a&format=json"),
        "stall" => Reply::ok("application/json", "{").stalls(),
        "rich" => json_reply(&json!({ "results": [
            { "title": "<b>Bold</b> &amp; more", "url": "https://a.test/x", "content": "line <i>two</i>", "engine": "e" },
            { "title": null, "url": "https://b.test/" },
            { "title": "no address" },
        ] })),
        _ => {
            let result = |n: u32| json!({ "title": format!("Title {n}"), "url": format!("https://{n}.test/"), "content": format!("Text {n} for {query}") });
            json_reply(&json!({ "results": (1..=30).map(result).collect::<Vec<_>>() }))
        }
    }
}

fn search(more: &str) -> Web {
    let server = Origin::on([127, 0, 0, 1], searxng);
    let settings = format!(
        "[tools.web_search]\nsearxng_url = \"{}\"\n{more}\n{LOOPBACK}",
        server.url("/sub")
    );
    Web::of(Gateway::with_config(&settings), server)
}

#[test]
fn results_come_with_title_address_text_and_provider() {
    let web = search("");
    let tool = web.gives(TOOL_SEARCH, json!({ "query": "rust async & co" }), &TOOL);
    let unified = web.gives(WEB_SEARCH, json!({ "q": "rust async & co" }), &UNIFIED);
    assert_eq!(
        (&tool["provider"], &unified["provider"]),
        (&json!("searxng"), &json!("searxng"))
    );
    assert_eq!(unified["q"], "rust async & co");
    assert_eq!(
        tool["results"], unified["results"],
        "one search under two names"
    );
    let first = json!({ "title": "Title 1", "url": "https://1.test/", "content": "Text 1 for rust+async+%26+co" });
    assert_eq!(tool["results"][0], first);
    let rich = web.gives(TOOL_SEARCH, json!({ "query": "rich" }), &TOOL);
    let expect = json!([
        { "title": "Bold & more", "url": "https://a.test/x", "content": "line two" },
        { "title": "https://b.test/", "url": "https://b.test/", "content": "" },
    ]);
    assert_eq!(
        rich["results"], expect,
        "text without markup, and what has no address is left out"
    );
    let nothing = web.gives(TOOL_SEARCH, json!({ "query": "nothing" }), &TOOL);
    assert_eq!(nothing["results"], json!([]), "nothing found is no error");
    let named = json!({ "query": "x", "provider": "searxng" });
    assert_eq!(web.gives(TOOL_SEARCH, named, &TOOL)["provider"], "searxng");
}

#[test]
fn the_number_of_results_has_a_default_and_a_cap() {
    let count = |web: &Web, max: Option<u32>| {
        let (mut tool, mut unified) = (json!({ "query": "x" }), json!({ "q": "x" }));
        if let Some(max) = max {
            (tool["maxResults"], unified["max_results"]) = (json!(max), json!(max));
        }
        let results = |said: Value| said["results"].as_array().map(Vec::len);
        let both = [
            results(web.gives(TOOL_SEARCH, tool, &TOOL)),
            results(web.gives(WEB_SEARCH, unified, &UNIFIED)),
        ];
        assert_eq!(both[0], both[1]);
        both[0].expect("results")
    };
    let web = search("");
    for (max, expect) in [(None, 5), (Some(1), 1), (Some(7), 7), (Some(20), 20)] {
        assert_eq!(count(&web, max), expect, "{max:?}");
    }
    let (tool, unified) = (
        [&TOOL[..], &["lowered"]].concat(),
        [&UNIFIED[..], &["lowered"]].concat(),
    );
    let many = web.gives(
        TOOL_SEARCH,
        json!({ "query": "x", "maxResults": 50 }),
        &tool,
    );
    assert_eq!(many["results"].as_array().map(Vec::len), Some(20));
    assert_eq!(
        many["lowered"][0],
        json!({ "parameter": "maxResults", "requested": 50, "used": 20, "limit": "the most a search returns" })
    );
    let many = web.gives(WEB_SEARCH, json!({ "q": "x", "max_results": 21 }), &unified);
    assert_eq!(many["results"].as_array().map(Vec::len), Some(20));
    for max in [json!(0), json!(-1), json!(1.5), json!("3")] {
        let tool = json!({ "query": "x", "maxResults": max });
        web.refuses(TOOL_SEARCH, tool, "invalid_arguments", &["maxResults"]);
        let unified = json!({ "q": "x", "max_results": max });
        web.refuses(WEB_SEARCH, unified, "invalid_arguments", &["max_results"]);
    }
    let fewer = search("max_results = 2");
    assert_eq!(count(&fewer, None), 2, "the setting");
}

#[test]
fn an_invalid_query_is_refused_by_name() {
    let web = search("");
    for (tool, parameter) in [(TOOL_SEARCH, "query"), (WEB_SEARCH, "q")] {
        for blank in ["", "   ", "\t\n"] {
            web.refuses(
                tool,
                json!({ parameter: blank }),
                "invalid_arguments",
                &[parameter],
            );
        }
        let long = json!({ parameter: "x".repeat(2001) });
        web.refuses(tool, long, "invalid_arguments", &[parameter]);
    }
    let with = |provider: &str| json!({ "query": "x", "provider": provider });
    for provider in ["google", "", "searxng2"] {
        let words = ["provider", "tavily, brave, searxng or duckduckgo"];
        web.refuses(TOOL_SEARCH, with(provider), "invalid_arguments", &words);
    }
    for provider in ["tavily", "brave"] {
        let setting = format!("tools.web_search.{provider}_api_key");
        let words = ["provider", "is not configured", &setting];
        web.refuses(TOOL_SEARCH, with(provider), "invalid_arguments", &words);
    }
    let other = json!({ "q": "x", "provider": "searxng" });
    web.refuses(
        WEB_SEARCH,
        other,
        "invalid_arguments",
        &["provider", "is not a parameter"],
    );
    web.gives(TOOL_SEARCH, json!({ "query": "x" }), &TOOL);
    let without = Web::of(Gateway::start(), Origin::on([127, 0, 0, 1], searxng));
    let words = ["searxng is not configured", "tools.web_search.searxng_url"];
    without.refuses(TOOL_SEARCH, with("searxng"), "invalid_arguments", &words);
}

#[test]
fn a_bot_wall_or_unknown_page_is_an_error_not_an_empty_list() {
    let web = search("timeout = 1");
    let table: [(&str, &str, &[&str]); 9] = [
        (
            "wall",
            "unavailable",
            &["searxng blocked the search", "web page"],
        ),
        ("format", "unavailable", &["403", "search.formats"]),
        ("engines", "unavailable", &["google said CAPTCHA"]),
        (
            "later",
            "rate_limited",
            &["searxng allows no more searches"],
        ),
        (
            "broken",
            "failed",
            &["searxng answered 500", "broken inside"],
        ),
        ("garbage", "failed", &["form that is not understood"]),
        ("addressless", "failed", &["have no addresses"]),
        ("moved", "failed", &["redirected"]),
        ("stall", "failed", &["searxng", "within 1 seconds"]),
    ];
    for (query, code, words) in table {
        let code = match query {
            // Whether it is a failure or a deadline, it says that the time ran out.
            "stall" => web.gateway.call(TOOL_SEARCH, json!({ "query": query }))["code"].clone(),
            _ => json!(code),
        };
        let code = code.as_str().expect("a code");
        let said = web.fails(TOOL_SEARCH, json!({ "query": query }), code, words);
        if query == "later" {
            assert_eq!(said["retryAfterMs"], 7_000, "{said}");
        }
        web.fails(WEB_SEARCH, json!({ "q": query }), code, words);
    }
    web.gives(TOOL_SEARCH, json!({ "query": "well" }), &TOOL);
}

#[test]
fn a_private_provider_needs_the_owners_permission() {
    let server = Origin::on([127, 0, 0, 1], searxng);
    let settings = format!(
        "tools.web_search.searxng_url = \"{}\"\n",
        server.url("/sub")
    );
    let web = Web::of(Gateway::with_config(&settings), server);
    for (tool, arguments) in [
        (TOOL_SEARCH, json!({ "query": "x" })),
        (WEB_SEARCH, json!({ "q": "x" })),
    ] {
        let said = web.gateway.call(tool, arguments);
        assert_eq!(said["ok"], false, "{said}");
        let error = said["error"].as_str().expect("an error");
        assert!(
            error.contains("searxng") && error.contains("`egress.allow_private`"),
            "{error}"
        );
    }
    assert_eq!(web.server.hits(), 0);
}

#[test]
fn the_next_configured_engine_answers_where_the_first_does_not() {
    for (variable, provider) in [("TAVILY_API_KEY", "tavily"), ("BRAVE_API_KEY", "brave")] {
        let server = Origin::on([127, 0, 0, 1], searxng);
        let place = format!(
            "tools.web_search.searxng_url = \"{}\"\n{LOOPBACK}",
            server.url("/sub")
        );
        let home = Home::new().with_config(&place);
        let mut command = up(&home);
        command.env(variable, "key-of-the-environment");
        let web = Web::of(Gateway::from(home, command), server);
        for (tool, arguments) in [
            (TOOL_SEARCH, json!({ "query": "x" })),
            (WEB_SEARCH, json!({ "q": "x" })),
        ] {
            // There is no network here, and where there is one the key is wrong.
            let said = web.gateway.call(tool, arguments);
            assert_eq!(said["result"]["provider"], "searxng", "{said}");
        }
        assert_eq!(web.server.hits(), 2);
        // Named, it is used alone.
        let named = json!({ "query": "x", "provider": provider });
        let said = web.gateway.call(TOOL_SEARCH, named);
        let error = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
        assert!(error.starts_with(provider), "{error}");
        assert!(!error.contains("key-of-the-environment"), "{error}");
        // Where none answers, each says why.
        let said = web.gateway.call(WEB_SEARCH, json!({ "q": "wall" }));
        let error = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
        for engine in [provider, "searxng"] {
            assert!(error.contains(engine), "{engine} in {error}");
        }
        assert_eq!(web.server.hits(), 3, "nobody else is asked instead");
        let named = json!({ "query": "x", "provider": "SearXNG" });
        assert_eq!(web.gives(TOOL_SEARCH, named, &TOOL)["provider"], "searxng");
    }
    let home = Home::new();
    let mut command = up(&home);
    command.env("TAVILY_API_KEY", "");
    let empty = Gateway::from(home, command);
    let said = empty.call(TOOL_SEARCH, json!({ "query": "x", "provider": "tavily" }));
    assert_eq!(
        said["code"], "invalid_arguments",
        "an empty key is none: {said}"
    );
}
