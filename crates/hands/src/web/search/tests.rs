use serde_json::{Value, json};

use super::super::fake::{FakeServer, ReceivedRequest, answer, form, guarded, ok, open, redirect};
use super::*;

fn client_of(provider: ProviderName, egress: Arc<Egress>) -> SearchClient {
    SearchClient {
        provider,
        egress,
        timeout: Duration::from_secs(10),
    }
}

/// Each provider at `server`, with the key `right`.
fn at(name: ProviderName, server: &FakeServer, egress: Arc<Egress>) -> Searchers {
    let client_of = client_of(name, egress);
    let key = Secret::new("right");
    let base = server.url("");
    let provider: Box<dyn SearchProvider> = match name {
        ProviderName::Tavily => Box::new(Tavily::new(client_of, &base, key).unwrap()),
        ProviderName::Brave => Box::new(Brave::new(client_of, &base, key).unwrap()),
        ProviderName::SearXng => Box::new(SearXng::new(client_of, &server.url("/sx")).unwrap()),
        ProviderName::DuckDuckGo => {
            Box::new(DuckDuckGo::new(client_of, &server.url("/html/")).unwrap())
        }
    };
    Searchers::of(vec![provider])
}

async fn search(name: ProviderName, server: &FakeServer) -> Result<Vec<Hit>, SearchError> {
    let found = at(name, server, open())
        .search("rust & c++", 3, None)
        .await?;
    assert_eq!(found.provider, name);
    Ok(found.hits)
}

async fn told(name: ProviderName, reply: Vec<u8>) -> Result<Vec<Hit>, SearchError> {
    search(name, &FakeServer::answering(reply).await).await
}

fn hit(n: usize) -> Hit {
    Hit {
        title: format!("Title & {n}"),
        url: format!("https://example.com/{n}?a=b&c=d"),
        content: format!("About <{n}>"),
    }
}

fn refuse(why: &str) -> Vec<u8> {
    answer(400, "", why)
}

/// Strict as the platform: whatever its documentation does not allow is a 400.
fn tavily(heard: &ReceivedRequest) -> Vec<u8> {
    if (heard.method.as_str(), heard.target.as_str()) != ("POST", "/search") {
        return refuse("endpoint");
    }
    if heard.header("authorization") != "Bearer right" {
        return answer(
            401,
            "content-type: application/json\r\n",
            r#"{"detail":{"error":"Unauthorized: missing or invalid API key."}}"#,
        );
    }
    let Ok(Value::Object(body)) = serde_json::from_str(&heard.body) else {
        return refuse("body");
    };
    let known = ["query", "max_results", "search_depth"];
    let count = body.get("max_results").and_then(Value::as_u64);
    if heard.header("content-type") != "application/json"
        || body.keys().any(|key| !known.contains(&key.as_str()))
        || body.get("query") != Some(&json!("rust & c++"))
        || count.is_none_or(|count| count > 20)
    {
        return refuse("shape");
    }
    let results: Vec<Value> = (1..=count.unwrap_or(0))
        .map(|n| json!({"title": format!("Title &amp; {n}"), "url": format!("https://example.com/{n}?a=b&c=d"), "content": format!("About &lt;{n}&gt;"), "score": 0.9, "raw_content": null}))
        .collect();
    let body = json!({"query": "rust & c++", "answer": null, "images": [], "results": results, "response_time": "1.1", "request_id": "x"});
    ok("application/json", body.to_string())
}

fn brave(heard: &ReceivedRequest) -> Vec<u8> {
    let query = heard.query();
    if heard.method != "GET" || !heard.target.starts_with("/res/v1/web/search?") {
        return refuse("endpoint");
    }
    if heard.header("x-subscription-token") != "right" {
        return answer(
            422,
            "",
            r#"{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","status":422}}"#,
        );
    }
    let known = ["q", "count", "result_filter", "text_decorations"];
    let count: usize = query["count"].parse().unwrap();
    if heard.header("accept") != "application/json"
        || query.keys().any(|key| !known.contains(&key.as_str()))
        || query["q"] != "rust & c++"
        || count > 20
    {
        return refuse("shape");
    }
    let results: Vec<Value> = (1..=count)
        .map(|n| json!({"title": format!("Title &amp; {n}"), "url": format!("https://example.com/{n}?a=b&c=d"), "description": format!("About <strong>&lt;{n}&gt;</strong>"), "type": "search_result"}))
        .collect();
    let body = json!({"type": "search", "query": {"original": "rust & c++"}, "web": {"type": "search", "results": results}});
    ok("application/json", body.to_string())
}

fn searxng(heard: &ReceivedRequest) -> Vec<u8> {
    let query = heard.query();
    if heard.method != "GET" || !heard.target.starts_with("/sx/search?") {
        return refuse("endpoint");
    }
    if query["q"] != "rust & c++" || query["format"] != "json" || query.len() != 2 {
        return refuse("shape");
    }
    let results: Vec<Value> = (1..=30)
        .map(|n| json!({"title": format!("Title &amp; {n}"), "url": format!("https://example.com/{n}?a=b&c=d"), "content": format!("About &lt;{n}&gt;"), "engine": "x", "score": 1.0}))
        .collect();
    let body = json!({"query": "rust & c++", "number_of_results": 0, "results": results, "answers": [], "unresponsive_engines": [["google", "CAPTCHA"]]});
    ok("application/json", body.to_string())
}

fn ddg_page(results: &str) -> String {
    format!(
        "<!DOCTYPE html><html><head><title>rust at DuckDuckGo</title></head><body class=body--html>
        <form id=search_form_homepage action=/html/ method=post><input name=q></form>
        <div class=serp__results><div id=links class=results>{results}</div></div></body></html>"
    )
}

fn ddg_result(n: usize) -> String {
    format!("<div class='result results_links results_links_deep web-result '><div class='links_main links_deep result__body'>
        <h2 class=result__title><a rel=nofollow class=result__a href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2F{n}%3Fa%3Db%26c%3Dd&amp;rut=ff'>Title &amp; {n}</a></h2>
        <a class=result__url href=x> example.com </a>
        <a class=result__snippet href='//duckduckgo.com/l/?uddg=x'>About <b>&lt;{n}&gt;</b></a></div></div>")
}

fn duckduckgo(heard: &ReceivedRequest) -> Vec<u8> {
    if (heard.method.as_str(), heard.target.as_str()) != ("POST", "/html/") {
        return refuse("endpoint");
    }
    let form = form(&heard.body);
    if heard.header("content-type") != "application/x-www-form-urlencoded"
        || form["q"] != "rust & c++"
    {
        return refuse("shape");
    }
    let advert = "<div class='result results_links result--ad'><h2 class=result__title><a class=result__a href='https://duckduckgo.com/y.js?ad_domain=a.b'>Buy</a></h2><a class=result__snippet>now</a></div>";
    let results: String = (1..=30).map(ddg_result).collect();
    ok(
        "text/html; charset=UTF-8",
        ddg_page(&format!("{advert}{results}")),
    )
}

fn fake(name: ProviderName) -> fn(&ReceivedRequest) -> Vec<u8> {
    match name {
        ProviderName::Tavily => tavily,
        ProviderName::Brave => brave,
        ProviderName::SearXng => searxng,
        ProviderName::DuckDuckGo => duckduckgo,
    }
}

#[tokio::test]
async fn every_provider_gives_titles_addresses_and_snippets() {
    for name in ProviderName::ALL {
        let server = FakeServer::start(fake(name)).await;
        let hits = search(name, &server).await.unwrap();
        assert_eq!(hits, [hit(1), hit(2), hit(3)], "{name}");
    }
}

#[tokio::test]
async fn nobody_gets_more_than_twenty() {
    for name in ProviderName::ALL {
        let server = FakeServer::start(fake(name)).await;
        let searchers = at(name, &server, open());
        let found = searchers.search("rust & c++", 1000, None).await.unwrap();
        assert_eq!(found.hits.len(), MAX_RESULTS, "{name}");
        let found = searchers.search(" rust & c++\n", 0, None).await.unwrap();
        assert_eq!(found.hits.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn nothing_found_is_an_empty_list() {
    let json = |text: &str| ok("application/json", text);
    for (name, reply) in [
        (ProviderName::Tavily, json(r#"{"query":"x","results":[]}"#)),
        (ProviderName::Brave, json(r#"{"type":"search","query":{}}"#)),
        (
            ProviderName::Brave,
            json(r#"{"type":"search","web":{"results":[]}}"#),
        ),
        (
            ProviderName::SearXng,
            json(r#"{"results":[],"unresponsive_engines":[]}"#),
        ),
        (
            ProviderName::DuckDuckGo,
            ok(
                "text/html",
                ddg_page("<div class=no-results>No results.</div>"),
            ),
        ),
        (
            ProviderName::DuckDuckGo,
            ok(
                "text/html",
                ddg_page(
                    "<div class='result results_links_deep result--no-result'><span>No results found</span></div>",
                ),
            ),
        ),
    ] {
        assert_eq!(told(name, reply).await.unwrap(), [], "{name}");
    }
}

#[tokio::test]
async fn a_wall_is_not_an_empty_list() {
    let wall = "<html><body><form id=challenge-form action='//duckduckgo.com/anomaly.js?sv=html'><div class=anomaly-modal__title>Unfortunately, bots use DuckDuckGo too.</div></form></body></html>";
    let page = "<!DOCTYPE html><title>Just a moment...</title>";
    for (name, reply) in [
        (ProviderName::DuckDuckGo, ok("text/html", wall)),
        (ProviderName::DuckDuckGo, answer(202, "", wall)),
        (ProviderName::DuckDuckGo, answer(403, "", "")),
        (
            ProviderName::DuckDuckGo,
            ok("text/html", "<div class=g-recaptcha></div>"),
        ),
        (ProviderName::Tavily, ok("text/html", page)),
        (ProviderName::Brave, answer(503, "", page)),
        (ProviderName::SearXng, ok("text/html", page)),
        (ProviderName::SearXng, answer(403, "", "<h1>Forbidden</h1>")),
        (
            ProviderName::SearXng,
            ok(
                "application/json",
                r#"{"results":[],"unresponsive_engines":[["google","CAPTCHA"]]}"#,
            ),
        ),
    ] {
        let text = String::from_utf8(reply.clone()).unwrap();
        let error = told(name, reply).await.unwrap_err();
        assert!(
            matches!(error, SearchError::Blocked { provider, .. } if provider == name),
            "{text}: {error}"
        );
    }
}

#[tokio::test]
async fn a_changed_layout_is_not_an_empty_list() {
    let json = |text: &str| ok("application/json", text);
    let html = |text: &str| ok("text/html", ddg_page(text));
    let bare = "<div class=result><a class=result__a href='https://a.b/'>T</a></div>".repeat(2);
    for (name, reply) in [
        (ProviderName::Tavily, json(r#"{"data":[]}"#)),
        (ProviderName::Tavily, json("[]")),
        (ProviderName::Tavily, json("")),
        (
            ProviderName::Tavily,
            json(r#"{"results":[{"title":"x","link":"https://a.b"}]}"#),
        ),
        (ProviderName::Brave, json(r#"{"type":"other"}"#)),
        (ProviderName::Brave, json(r#"{"web":{}}"#)),
        (ProviderName::SearXng, json(r#"{"query":"x"}"#)),
        (ProviderName::DuckDuckGo, html("")),
        (
            ProviderName::DuckDuckGo,
            html("<div class=result><a class=title href=/x>T</a></div>"),
        ),
        (
            ProviderName::DuckDuckGo,
            html("<div class=new-result><a href=/x>T</a></div>"),
        ),
        (ProviderName::DuckDuckGo, html(&bare)),
        (ProviderName::DuckDuckGo, ok("text/plain", "")),
        (
            ProviderName::Brave,
            redirect(302, "https://elsewhere.example/"),
        ),
    ] {
        let text = String::from_utf8(reply.clone()).unwrap();
        let error = told(name, reply).await.unwrap_err();
        assert!(
            matches!(error, SearchError::Layout { provider, .. } if provider == name),
            "{text}: {error}"
        );
    }
}

#[tokio::test]
async fn a_refused_key_names_its_setting_and_not_itself() {
    for name in [ProviderName::Tavily, ProviderName::Brave] {
        let server = FakeServer::start(fake(name)).await;
        let client_of = client_of(name, open());
        let key = Secret::new("wrong-canary");
        let provider: Box<dyn SearchProvider> = match name {
            ProviderName::Tavily => Box::new(Tavily::new(client_of, &server.url(""), key).unwrap()),
            _ => Box::new(Brave::new(client_of, &server.url("/"), key).unwrap()),
        };
        let error = provider.search("rust & c++", 3).await.unwrap_err();
        assert!(matches!(error, SearchError::Key { .. }), "{error}");
        let text = format!("{error} {error:?}");
        assert!(
            text.contains(name.setting()) && !text.contains("canary"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_rate_limit_says_when_to_come_back() {
    let date =
        "date: Sun, 15 Nov 2026 10:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 10:01:30 GMT\r\n";
    for (headers, expect) in [
        ("retry-after: 7\r\n", Some(7)),
        (date, Some(90)),
        ("x-ratelimit-reset: 1, 419704\r\n", Some(1)),
        ("retry-after: soon\r\n", None),
        ("", None),
    ] {
        for name in ProviderName::ALL {
            let error = told(name, answer(429, headers, "slow down"))
                .await
                .unwrap_err();
            let SearchError::RateLimited { retry_after, .. } = error else {
                panic!("{name}: {error}");
            };
            assert_eq!(retry_after, expect.map(Duration::from_secs), "{headers}");
        }
    }
    let plan = answer(432, "", r#"{"detail":{"error":"plan limit"}}"#);
    let error = told(ProviderName::Tavily, plan).await.unwrap_err();
    assert!(matches!(error, SearchError::RateLimited { .. }), "{error}");
    let error = told(ProviderName::Tavily, answer(500, "", "oops"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, SearchError::Status { status: 500, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_private_server_is_out_of_reach_unless_allowed() {
    for name in ProviderName::ALL {
        let server = FakeServer::start(fake(name)).await;
        let refused = at(name, &server, guarded())
            .search("rust & c++", 3, None)
            .await;
        let private = |error: &EgressError| matches!(error, EgressError::Private { .. });
        assert!(
            matches!(&refused, Err(SearchError::Egress { error, .. }) if private(error)),
            "{name}"
        );
        assert!(server.received().is_empty());
        assert!(search(name, &server).await.is_ok());
    }
}

#[test]
fn the_best_configured_provider_is_chosen() {
    let key = || Some(Secret::new("k"));
    let url = || Some("http://searx.lan:8888".to_owned());
    for (tavily_api_key, brave_api_key, searxng_url, expect) in [
        (key(), key(), url(), ProviderName::Tavily),
        (None, key(), url(), ProviderName::Brave),
        (None, None, url(), ProviderName::SearXng),
        (None, None, None, ProviderName::DuckDuckGo),
    ] {
        let settings = SearchSettings {
            tavily_api_key,
            brave_api_key,
            searxng_url,
            timeout: None,
        };
        let searchers = Searchers::configured(settings, guarded()).unwrap();
        assert_eq!(searchers.choose(None).unwrap().name(), expect);
        let named = searchers.choose(Some("DuckDuckGo")).unwrap();
        assert_eq!(named.name(), ProviderName::DuckDuckGo);
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_an_error_that_helps() {
    let searchers = Searchers::configured(SearchSettings::default(), guarded()).unwrap();
    for name in [
        ProviderName::Tavily,
        ProviderName::Brave,
        ProviderName::SearXng,
    ] {
        let error = searchers
            .search("x", 3, Some(name.as_str()))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(name.setting()), "{error}");
    }
    let error = searchers.search("x", 3, Some("google")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("google is not a search provider"),
        "{error}"
    );
    let error = searchers.search("  ", 3, None).await.unwrap_err();
    assert!(matches!(error, SearchError::EmptyQuery));
    for bad in ["searx.lan", "ftp://searx.lan", ""] {
        let settings = SearchSettings {
            searxng_url: Some(bad.to_owned()),
            ..SearchSettings::default()
        };
        let error = Searchers::configured(settings, guarded()).err().unwrap();
        assert!(
            error.to_string().contains("tools.web_search.searxng_url"),
            "{error}"
        );
    }
}

/// One provider at each server, in the order they are preferred.
fn several(servers: &[(ProviderName, &FakeServer)]) -> Searchers {
    let each = servers
        .iter()
        .flat_map(|(name, server)| at(*name, server, open()).providers);
    Searchers::of(each.collect())
}

#[tokio::test]
async fn the_next_engine_answers_where_the_first_fails() {
    use ProviderName::{DuckDuckGo, SearXng, Tavily};
    let wall = FakeServer::answering(ok("text/html", "<html>are you a robot?</html>")).await;
    let broken = FakeServer::answering(answer(500, "", "broken inside")).await;
    let good = FakeServer::start(searxng).await;
    let both = several(&[(Tavily, &broken), (DuckDuckGo, &wall), (SearXng, &good)]);
    let found = both.search("rust & c++", 1, None).await.unwrap();
    assert_eq!((found.provider, found.hits), (SearXng, vec![hit(1)]));
    // Named, an engine is used alone.
    let alone = both.search("rust & c++", 1, Some("tavily")).await;
    let said = alone.unwrap_err().to_string();
    assert!(said.contains("tavily answered 500"), "{said}");
    // Where none answers, each says why.
    let none = several(&[(Tavily, &broken), (DuckDuckGo, &wall)]);
    let said = none.search("rust & c++", 1, None).await.unwrap_err();
    let said = said.to_string();
    for words in ["tavily answered 500", "duckduckgo"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    // Control: the first that answers is enough.
    let first = several(&[(SearXng, &good), (Tavily, &broken)]);
    let found = first.search("rust & c++", 1, None).await.unwrap();
    assert_eq!(found.provider, SearXng);
}

#[tokio::test]
async fn only_configured_search_backends_are_queried() {
    let broken = FakeServer::answering(answer(500, "", "broken inside")).await;
    let settings = SearchSettings {
        searxng_url: Some(broken.url("/sx")),
        ..SearchSettings::default()
    };
    let own = Searchers::configured(settings, open()).unwrap();
    let said = own.search("x", 1, None).await.unwrap_err().to_string();
    assert!(said.starts_with("searxng answered 500"), "{said}");
    let bare = Searchers::configured(SearchSettings::default(), open()).unwrap();
    assert_eq!(bare.tried, 1, "DuckDuckGo, where nothing is configured");
}
