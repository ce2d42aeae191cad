//! A table of what is masked and what is shown, read back through the settings themselves.

use serde_json::{Value, json};

use super::{mask, mask_text};
use crate::settings::Settings;

/// Of each text, what may be shown of it. The secrets are made up.
const TEXTS: &[(&str, &str)] = &[
    // Addresses: who logs in.
    (
        "https://me:hunter22@api.example/v1",
        "https://***@api.example/v1",
    ),
    (
        "https://ghp_0123456789abcdef@github.com/a/b",
        "https://***@github.com/a/b",
    ),
    (
        "postgres://app:s3cr3t@db.example:5432/app",
        "postgres://***@db.example:5432/app",
    ),
    (
        "redis://:pw@cache.example:6379/0",
        "redis://***@cache.example:6379/0",
    ),
    ("https://a:b@c@host.example/", "https://***@host.example/"),
    (
        "https://${USER}@host.example/",
        "https://${USER}@host.example/",
    ),
    // Parameters.
    (
        "https://x.example/mcp?token=abc",
        "https://x.example/mcp?token=***",
    ),
    (
        "https://x.example/mcp?key=abc&page=2",
        "https://x.example/mcp?key=***&page=2",
    ),
    (
        "https://x.example/?api_key=abc#top",
        "https://x.example/?api_key=***#top",
    ),
    (
        "https://x.example/?apiKey=abc",
        "https://x.example/?apiKey=***",
    ),
    (
        "https://x.example/?access_token=abc",
        "https://x.example/?access_token=***",
    ),
    ("https://x.example/?sig=abc", "https://x.example/?sig=***"),
    (
        "https://x.example/?client_id=0123456789abcdef0123456789abcdef&client_secret=abc",
        "https://x.example/?client_id=0123456789abcdef0123456789abcdef&client_secret=***",
    ),
    (
        "https://x.example/#access_token=abc",
        "https://x.example/#access_token=***",
    ),
    (
        "https://x.example/?q=sk-abc0123456789",
        "https://x.example/?q=***",
    ),
    (
        "https://x.example/?token=${TOKEN}",
        "https://x.example/?token=${TOKEN}",
    ),
    (
        "https://x.example/?profile=small&page=2",
        "https://x.example/?profile=small&page=2",
    ),
    // Paths that are the secret.
    (
        "https://hooks.slack.com/services/T00/B00/XXXX",
        "https://hooks.slack.com/services/***",
    ),
    (
        "https://discord.com/api/webhooks/12/abc",
        "https://discord.com/api/webhooks/***",
    ),
    (
        "https://acme.webhook.office.com/webhookb2/a@b/c",
        "https://acme.webhook.office.com/webhookb2/***",
    ),
    (
        "https://api.telegram.org/bot12:AAE/sendMessage",
        "https://api.telegram.org/bot***",
    ),
    (
        "https://hooks.zapier.com/hooks/catch/1/ab/",
        "https://hooks.zapier.com/hooks/***",
    ),
    (
        "https://mcp.example/s/NmY3Zjk4ZTQtYjVk2x/mcp",
        "https://mcp.example/s/***/mcp",
    ),
    (
        "https://mcp.example/9f86d081884c7d659a2feaa0c55ad015/sse",
        "https://mcp.example/***/sse",
    ),
    (
        "https://mcp.example/my-long-service-name-v2-production/mcp",
        "https://mcp.example/my-long-service-name-v2-production/mcp",
    ),
    (
        "https://api.example/v1/models/gpt-4o-mini-2024-07-18",
        "https://api.example/v1/models/gpt-4o-mini-2024-07-18",
    ),
    ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
    // Tokens of well-known services, wherever they stand.
    ("sk-proj-abcdef0123456789", "***"),
    ("ghp_0123456789abcdefghij", "***"),
    ("github_pat_11AAAAAAA0abcdef", "***"),
    ("glpat-0123456789abcdef", "***"),
    ("xoxb-123456789012-abcdef", "***"),
    ("AKIA0123456789ABCDEF", "***"),
    ("AIzaSyA0123456789abcdefghij", "***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "***"),
    (
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
        "***",
    ),
    ("use sk-abc0123456789 here", "use *** here"),
    ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
    (
        "authorization:Basic dXNlcjpwdw==",
        "authorization:Basic ***",
    ),
    ("X-Api-Key: abc", "X-Api-Key: ***"),
    ("Cookie: sid=1", "Cookie: ***"),
    ("Bearer abcdef0123456789", "Bearer ***"),
    ("Bearer {}", "Bearer {}"),
    ("Bearer ${TOKEN}", "Bearer ${TOKEN}"),
    ("X-Request-Id: 7", "X-Request-Id: 7"),
    ("GITHUB_TOKEN=abc", "GITHUB_TOKEN=***"),
    (
        "API_KEY=abc123 serve --password hunter22",
        "API_KEY=*** serve --password ***",
    ),
    ("LOG_LEVEL=debug", "LOG_LEVEL=debug"),
    (
        "{\"apiKey\":\"abc\",\"region\":\"eu\"}",
        "{\"apiKey\":\"***\",\"region\":\"eu\"}",
    ),
    ("{\"region\": \"eu\"}", "{\"region\": \"eu\"}"),
    // What only looks like one.
    ("sk-", "sk-"),
    ("ski-resort", "ski-resort"),
    ("npm_config_cache", "npm_config_cache"),
    (
        "the task: write a token parser",
        "the task: write a token parser",
    ),
    ("Europe/Berlin", "Europe/Berlin"),
    ("vault:GITHUB", "vault:GITHUB"),
    ("/home/me/.config/token", "/home/me/.config/token"),
    (
        "@modelcontextprotocol/server-github",
        "@modelcontextprotocol/server-github",
    ),
    ("", ""),
];

/// Of the arguments of a program, what may be shown of them.
const ARGS: &[(&[&str], &[&str])] = &[
    (&["--api-key=sk-1"], &["--api-key=***"]),
    (&["--token", "X"], &["--token", "***"]),
    (&["--token=X", "--verbose"], &["--token=***", "--verbose"]),
    (&["--github-pat", "abcd1234"], &["--github-pat", "***"]),
    (&["--password", "two words"], &["--password", "***"]),
    (
        &["-H", "Authorization: Bearer abc"],
        &["-H", "Authorization: Bearer ***"],
    ),
    (
        &["--header", "X-Api-Key: abc"],
        &["--header", "X-Api-Key: ***"],
    ),
    (
        &["--header=Authorization:abc"],
        &["--header=Authorization:***"],
    ),
    (&["-e", "API_TOKEN=abc"], &["-e", "API_TOKEN=***"]),
    (&["-e", "API_TOKEN"], &["-e", "API_TOKEN"]),
    (&["-u", "me:hunter22"], &["-u", "me:***"]),
    (
        &["--db", "postgres://a:b@c/d"],
        &["--db", "postgres://***@c/d"],
    ),
    (
        &["--url=https://x.example/?token=a"],
        &["--url=https://x.example/?token=***"],
    ),
    (
        &["mcp-remote", "https://x.example/?key=a"],
        &["mcp-remote", "https://x.example/?key=***"],
    ),
    (&["-c", "run --secret abc"], &["-c", "run --secret ***"]),
    (
        &["--config", "{\"token\":\"a\"}"],
        &["--config", "{\"token\":\"***\"}"],
    ),
    (&["--key", "abcd1234"], &["--key", "***"]),
    (&["sk-abc0123456789"], &["***"]),
    (&["--token", "${TOKEN}"], &["--token", "${TOKEN}"]),
    (&["--token", "vault:X"], &["--token", "vault:X"]),
    (&["--key", "./server.key"], &["--key", "./server.key"]),
    (&["--auth", "none"], &["--auth", "none"]),
    (
        &["--token-file", "/run/token"],
        &["--token-file", "/run/token"],
    ),
    (&["--max-tokens", "4096"], &["--max-tokens", "4096"]),
    (&["--token", "--verbose"], &["--token", "--verbose"]),
    (
        &["-y", "@scope/server", "/data"],
        &["-y", "@scope/server", "/data"],
    ),
    (
        &["--port", "8080", "--", "serve"],
        &["--port", "8080", "--", "serve"],
    ),
];

/// What may be shown of settings, by the path to it.
fn settings() -> Settings {
    let text = r#"
[mcpServers.token]
command = "npx"
args = ["--api-key=sk-1", "--token", "hunter22", "/data"]
tokens = ["laptop", "desk"]
env = { API_KEY = "hunter22", REGION = "eu" }
rename = { get_token = "token" }
[mcpServers.far]
url = "https://hooks.slack.com/services/T00/B00/hunter22"
openapi = "https://me:pw@x.example/mcp?token=hunter22&page=2"
headers = { Authorization = "Bearer hunter22" }
[acp.agents.one]
command = "agent"
args = ["--password", "hunter22"]
[agents.main]
[[policy.rules]]
decision = "deny"
when.api_key.equals = "hunter22"
"#;
    crate::check::check(text).unwrap().0
}

#[track_caller]
fn check_at(path: &str, expect: Value) {
    let shown = crate::masked(&settings(), Some(path)).unwrap();
    assert_eq!(shown, expect, "{path}");
}

#[test]
fn secrets_are_masked_by_their_shape_and_nothing_else_is() {
    for (text, expect) in TEXTS {
        assert_eq!(mask_text(text), *expect, "{text}");
        assert_eq!(mask(&json!([text])), json!([expect]), "{text}");
    }
    for (args, expect) in ARGS {
        let shown = super::text::mask_args(args.iter().copied());
        assert_eq!(shown, *expect, "{args:?}");
    }
}

#[test]
fn masking_what_is_masked_changes_nothing() {
    for (_, shown) in TEXTS {
        assert_eq!(mask_text(shown), *shown);
    }
    for (_, shown) in ARGS {
        assert_eq!(super::text::mask_args(shown.iter().copied()), *shown);
    }
}

#[test]
fn the_schema_says_what_a_key_means() {
    check_at("mcpServers.token.tokens", json!(["laptop", "desk"]));
    check_at("mcpServers.token.tokens.0", json!("laptop"));
    check_at(
        "mcpServers.token.args",
        json!(["--api-key=***", "--token", "***", "/data"]),
    );
    check_at("mcpServers.token.args.0", json!("--api-key=***"));
    check_at("mcpServers.token.args.2", json!("***"));
    check_at("mcpServers.token.args.3", json!("/data"));
    check_at("mcpServers.token.env", json!("***"));
    check_at("mcpServers.token.env.API_KEY", json!("***"));
    check_at("mcpServers.token.env.NO_SUCH", json!("***"));
    check_at("mcpServers.token.command", json!("npx"));
    check_at("mcpServers.token.rename.get_token", json!("token"));
    check_at(
        "mcpServers.far.url",
        json!("https://hooks.slack.com/services/***"),
    );
    check_at(
        "mcpServers.far.openapi",
        json!("https://***@x.example/mcp?token=***&page=2"),
    );
    check_at("mcpServers.far.headers.Authorization", json!("***"));
    check_at("acp.agents.one.args", json!(["--password", "***"]));
    check_at("policy.rules.0.when.api_key", json!("***"));
    check_at("models.max_output_tokens", json!(8192));
}

#[test]
fn no_way_to_read_the_settings_shows_a_secret_of_them() {
    let whole = crate::masked(&settings(), None).unwrap();
    fn paths(value: &Value, at: &str, out: &mut Vec<String>) {
        let join = |key: &str| match at.is_empty() {
            true => format!("{key:?}"),
            false => format!("{at}.{key:?}"),
        };
        out.push(at.to_owned());
        match value {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, value)| paths(value, &join(key), out)),
            Value::Array(list) => {
                let each = list.iter().enumerate();
                each.for_each(|(index, value)| paths(value, &format!("{at}.{index}"), out));
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    paths(&serde_json::to_value(settings()).unwrap(), "", &mut all);
    assert!(all.len() > 200, "{}", all.len());
    let mut seen = 0;
    for path in all.iter().filter(|path| !path.is_empty()) {
        let shown =
            crate::masked(&settings(), Some(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let text = shown.to_string();
        assert!(
            !text.contains("hunter22") && !text.contains("sk-1") && !text.contains("me:pw"),
            "{path}: {text}"
        );
        seen += usize::from(text.contains("laptop"));
    }
    assert!(seen > 0, "control: something is shown");
    assert!(!whole.to_string().contains("hunter22"));
}
