//! The shapes that programs really write.

use serde_json::json;

use super::*;

fn user_env() -> UserEnv {
    let env = [
        ("HOME", "/home/me"),
        ("REGION", "eu"),
        ("CURSOR_KEY", "cursor-0123456789"),
        ("FIGMA_TOKEN", "figma-0123456789"),
    ];
    UserEnv {
        user: "/home/me".into(),
        env: env
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    }
}

/// What a server's settings say beyond the defaults.
fn said(found: &ImportedServer) -> Value {
    let (mut said, plain) = (json!(found.server), json!(McpServer::default()));
    let map = said.as_object_mut().expect("a table");
    map.retain(|key, value| plain[key.as_str()] != *value);
    said
}

/// Reads a file and compares: each server, its secrets, its notes; and what is skipped over.
#[track_caller]
fn check(text: &str, path: &str, client: Option<Client>, expected: Value) {
    let contents =
        read(text, Path::new(path), client, &user_env()).expect("a file that can be read");
    let found = contents.found.iter().map(|one| {
        let secrets = one.secrets.iter().map(|entry| {
            let value = entry.value.as_ref().map(Secret::expose);
            (entry.name.clone(), json!([value, entry.about]))
        });
        let mut shown = json!({ "server": said(one) });
        let secrets: Map<String, Value> = secrets.collect();
        if !secrets.is_empty() {
            shown["secrets"] = json!(secrets);
        }
        if !one.notes.is_empty() {
            shown["notes"] = json!(one.notes);
        }
        (one.name.to_string(), shown)
    });
    let mut all: Map<String, Value> = found.collect();
    for skipped in contents.skipped {
        all.insert(skipped.given, json!(skipped.why));
    }
    let all = Value::Object(all);
    assert_eq!(all, expected, "{all:#}");
}

#[test]
fn claude_desktop() {
    check(
        include_str!("fixtures/claude_desktop_config.json"),
        "/home/me/.config/Claude/claude_desktop_config.json",
        Some(Client::ClaudeDesktop),
        json!({
            "filesystem": { "server": {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Documents"],
            } },
            "github": {
                "server": {
                    "command": "docker",
                    "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
                    "env": {
                        "GITHUB_PERSONAL_ACCESS_TOKEN": "${mcp/github/GITHUB_PERSONAL_ACCESS_TOKEN}",
                        "GITHUB_HOST": "https://github.example",
                    },
                },
                "secrets": { "mcp/github/GITHUB_PERSONAL_ACCESS_TOKEN": ["ghp_0123456789abcdef", null] },
            },
            "brave-search": {
                "server": {
                    "command": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-brave-search"],
                    "env": { "BRAVE_API_KEY": "${mcp/brave-search/BRAVE_API_KEY}" },
                },
                "secrets": { "mcp/brave-search/BRAVE_API_KEY": [null, null] },
            },
            "manyhands": "it is this gateway itself",
        }),
    );
}

#[test]
fn claude_code_with_its_projects() {
    check(
        include_str!("fixtures/claude.json"),
        "/home/me/.claude.json",
        Some(Client::ClaudeCode),
        json!({
            "sentry": { "server": { "type": "http", "url": "https://mcp.sentry.dev/mcp" } },
            "linear": {
                "server": { "type": "sse", "url": "https://mcp.linear.app/sse" },
                "notes": ["ignored: headersHelper"],
            },
            "postgres": {
                "server": {
                    "type": "stdio",
                    "command": "/home/me/work/bin/postgres-mcp",
                    "cwd": "/home/me/work",
                    "env": { "DATABASE_URL": "${mcp/postgres/DATABASE_URL}" },
                    "enabled": false,
                },
                "secrets": { "mcp/postgres/DATABASE_URL": ["postgres://me:hunter2hunter2@db/app", null] },
            },
        }),
    );
}

#[test]
fn a_project_file_of_claude_code() {
    check(
        include_str!("fixtures/project.mcp.json"),
        "/home/me/app/.mcp.json",
        None,
        json!({
            "api": {
                "server": {
                    "type": "http",
                    "url": "https://api.example/mcp",
                    "headers": { "Authorization": "Bearer ${mcp/api/API_KEY}", "X-Region": "eu" },
                },
                "secrets": { "mcp/api/API_KEY": [null, null] },
            },
            "tools": { "server": {
                "command": "node",
                "args": ["tools/server.js"],
                "cwd": "/home/me/app",
                "env": { "CACHE": "/home/me/cache" },
            } },
        }),
    );
}

#[test]
fn cursor() {
    check(
        include_str!("fixtures/cursor.json"),
        "/home/me/.cursor/mcp.json",
        Some(Client::Cursor),
        json!({
            "figma": {
                "server": {
                    "url": "https://mcp.figma.example/mcp",
                    "headers": { "Authorization": "Bearer ${mcp/figma/Authorization}" },
                    "oauth": { "clientId": "abc", "clientSecret": "vault:mcp/figma/client_secret", "scopes": ["read", "write"] },
                },
                "secrets": {
                    "mcp/figma/Authorization": ["fig_0123456789", null],
                    "mcp/figma/client_secret": ["0123456789", null],
                },
            },
            "local-mcp": {
                "server": {
                    "type": "stdio",
                    "command": "python",
                    "args": ["/home/me/server.py"],
                    "env": { "API_KEY": "${mcp/local-mcp/CURSOR_KEY}" },
                },
                "secrets": { "mcp/local-mcp/CURSOR_KEY": ["cursor-0123456789", null] },
                "notes": ["ignored: envFile"],
            },
        }),
    );
}

#[test]
fn vs_code_with_inputs_and_comments() {
    check(
        include_str!("fixtures/vscode.json"),
        "/home/me/app/.vscode/mcp.json",
        Some(Client::VsCode),
        json!({
            "perplexity": {
                "server": {
                    "type": "stdio",
                    "command": "npx",
                    "args": ["-y", "server-perplexity-ask"],
                    "cwd": "/home/me/app",
                    "env": { "PERPLEXITY_API_KEY": "${mcp/perplexity/perplexity-key}" },
                },
                "secrets": { "mcp/perplexity/perplexity-key": [null, "Perplexity API Key"] },
                "notes": ["ignored: dev"],
            },
            "docs": { "server": { "type": "http", "url": "https://docs.example/mcp" } },
            "here": {
                "server": {
                    "type": "stdio",
                    "command": "/home/me/app/run",
                    "args": ["--token", "${input:perplexity-key}"],
                    "cwd": "/home/me/app",
                    "enabled": false,
                },
                "notes": ["cannot resolve ${input:perplexity-key} in \"${input:perplexity-key}\", so the server is disabled; move it into env or headers"],
            },
        }),
    );
}

#[test]
fn windsurf() {
    check(
        include_str!("fixtures/windsurf.json"),
        "/home/me/.codeium/windsurf/mcp_config.json",
        Some(Client::Windsurf),
        json!({
            "remote-mcp": {
                "server": {
                    "url": "https://remote.example/mcp",
                    "headers": { "API_KEY": "${mcp/remote-mcp/API_KEY}" },
                    "hide": ["delete_everything"],
                },
                "secrets": { "mcp/remote-mcp/API_KEY": ["0123456789abcdef", null] },
            },
            "old": {
                "server": { "command": "uvx", "args": ["old-server"], "enabled": false },
                "notes": ["ignored: alwaysAllow"],
            },
            "stream": { "server": { "type": "http", "url": "https://stream.example/mcp" } },
            "camel": { "server": { "type": "http", "url": "https://camel.example/mcp" } },
        }),
    );
}

#[test]
fn zed_with_comments_in_all_three_forms() {
    check(
        include_str!("fixtures/zed.json"),
        "/home/me/.config/zed/settings.json",
        Some(Client::Zed),
        json!({
            "local-mcp-server": { "server": {
                "command": "some-command", "args": ["arg-1", "arg-2"], "env": { "LEVEL": "3" },
            } },
            "older": {
                "server": { "command": "/opt/older", "args": ["serve"], "env": { "A": "b" } },
                "notes": ["ignored: settings"],
            },
            "remote-mcp": {
                "server": {
                    "url": "https://example.com/mcp",
                    "headers": { "Authorization": "Bearer ${mcp/remote-mcp/Authorization}" },
                },
                "secrets": { "mcp/remote-mcp/Authorization": ["0123456789", null] },
            },
            "mcp-server-context7": "it belongs to a Zed extension",
        }),
    );
}

#[test]
fn codex() {
    check(
        include_str!("fixtures/codex.toml"),
        "/home/me/.codex/config.toml",
        Some(Client::Codex),
        json!({
            "context7": {
                "server": {
                    "command": "npx",
                    "args": ["-y", "@upstash/context7-mcp"],
                    "env": { "CONTEXT7_API_KEY": "${mcp/context7/CONTEXT7_API_KEY}" },
                    "timeout": 46,
                    "tools": ["search", "read"],
                    "hide": ["write"],
                },
                "secrets": { "mcp/context7/CONTEXT7_API_KEY": ["ctx7sk-0123456789", null] },
                "notes": ["ignored: startup_timeout_sec"],
            },
            "figma": {
                "server": {
                    "url": "https://mcp.figma.example/mcp",
                    "headers": {
                        "Authorization": "Bearer ${mcp/figma/FIGMA_TOKEN}",
                        "X-Figma-Region": "us-east-1",
                        "X-Team": "${mcp/figma/FIGMA_TEAM}",
                    },
                },
                "secrets": {
                    "mcp/figma/FIGMA_TOKEN": ["figma-0123456789", null],
                    "mcp/figma/FIGMA_TEAM": [null, null],
                },
            },
            "off": {
                "server": { "command": "off-server", "env": { "OFF_TOKEN": "${mcp/off/OFF_TOKEN}" }, "enabled": false },
                "secrets": { "mcp/off/OFF_TOKEN": [null, null] },
            },
        }),
    );
}

#[test]
fn opencode() {
    let expected = json!({
        "everything": { "server": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-everything"],
            "env": { "MY_ENV_VAR": "my_env_var_value" },
            "timeout": 10,
        } },
        "jira": {
            "server": {
                "url": "https://jira.example.com/mcp",
                "headers": { "Authorization": "Bearer ${mcp/jira/JIRA_TOKEN}" },
                "oauth": { "clientId": null, "clientSecret": null, "scopes": ["read", "write"] },
                "enabled": false,
            },
            "secrets": { "mcp/jira/JIRA_TOKEN": [null, null] },
            "notes": ["ignored oauth.clientId: {env:JIRA_CLIENT} is not set"],
        },
    });
    let path = "/home/me/.config/opencode/opencode.json";
    let text = include_str!("fixtures/opencode.json");
    check(text, path, Some(Client::Opencode), expected.clone());
    check(text, "/tmp/x.json", None, expected);
    let newer = r#"{ "mcp": { "servers": { "x": { "type": "local", "command": ["a", "b"], "disabled": true } } } }"#;
    let expected = json!({ "x": { "server": { "type": "stdio", "command": "a", "args": ["b"], "enabled": false } } });
    check(newer, path, Some(Client::Opencode), expected);
}

#[test]
fn gemini() {
    check(
        include_str!("fixtures/gemini.json"),
        "/home/me/.gemini/settings.json",
        Some(Client::Gemini),
        json!({
            "pythonTools": {
                "server": {
                    "command": "python",
                    "args": ["-m", "my_mcp_server"],
                    "cwd": "/home/me/mcp-servers/python",
                    "env": {
                        "DATABASE_URL": "${mcp/pythonTools/DB_CONNECTION_STRING}",
                        "API_KEY": "${mcp/pythonTools/EXTERNAL_API_KEY}",
                    },
                    "timeout": 15,
                    "tools": ["safe"],
                    "hide": ["unsafe"],
                },
                "secrets": {
                    "mcp/pythonTools/DB_CONNECTION_STRING": [null, null],
                    "mcp/pythonTools/EXTERNAL_API_KEY": [null, null],
                },
                "notes": ["ignored: trust"],
            },
            "streaming": {
                "server": {
                    "type": "http",
                    "url": "https://stream.example/mcp",
                    "headers": { "X-Api-Key": "${mcp/streaming/X-Api-Key}" },
                },
                "secrets": { "mcp/streaming/X-Api-Key": ["0123456789", null] },
            },
            "events": { "server": { "type": "sse", "url": "https://events.example/sse" } },
            "experimental": { "server": { "command": "experiment", "enabled": false } },
        }),
    );
}

#[test]
fn goose() {
    check(
        include_str!("fixtures/goose.yaml"),
        "/home/me/.config/goose/config.yaml",
        Some(Client::Goose),
        json!({
            "developer": "it is built into the program (builtin)",
            "tavily": {
                "server": {
                    "type": "stdio",
                    "command": "npx",
                    "args": ["-y", "tavily-mcp"],
                    "env": { "LANGUAGE": "en", "TAVILY_API_KEY": "${mcp/tavily/TAVILY_API_KEY}" },
                    "timeout": 120,
                },
                "secrets": { "mcp/tavily/TAVILY_API_KEY": [null, null] },
            },
            "team": { "server": {
                "type": "http",
                "url": "https://team.example/mcp",
                "headers": { "X-Team": "red" },
                "timeout": 300,
                "enabled": false,
            } },
            "deeper": { "server": { "type": "stdio", "command": "deeper-server" } },
        }),
    );
}

#[test]
fn a_plain_list_of_servers_is_read_too() {
    let text = r#"{ "a": { "command": "x" }, "b": { "url": "https://b.example/mcp" } }"#;
    let expected = json!({
        "a": { "server": { "command": "x" } },
        "b": { "server": { "url": "https://b.example/mcp" } },
    });
    check(text, "/tmp/servers.json", None, expected);
    check(
        r#"{ "a": { "colour": "red" } }"#,
        "/tmp/servers.json",
        None,
        json!({}),
    );
    check("", "/tmp/servers.json", None, json!({}));
}

#[test]
fn entries_that_cannot_be_imported_are_reported() {
    let text = r#"{ "mcpServers": {
        "socket": { "type": "ws", "url": "wss://x.example" },
        "empty": {},
        "text": "npx",
        "numbers": { "command": 7 },
        "short": { "command": "x", "env": { "TOKEN": "abc", "PASSWORD": "" } },
        "both": { "command": "x", "url": "https://x.example/mcp" },
        "a b": { "command": "one" },
        "a-b": { "command": "two" },
        "flag": { "command": "x", "args": ["--api-key", "0123456789"] }
    } }"#;
    check(
        text,
        "/tmp/servers.json",
        None,
        json!({
            "socket": "unknown type \"ws\"",
            "empty": "it has neither a command nor a URL",
            "text": "not an object",
            "numbers": "command is neither a string nor a list of strings",
            "short": {
                "server": { "command": "x", "env": { "PASSWORD": "" } },
                "notes": ["ignored TOKEN: a secret needs at least 8 characters"],
            },
            "both": {
                "server": { "command": "x" },
                "notes": ["ignored its URL, because it has a command"],
            },
            "a-b": "it would be named a-b like \"a b\"",
            "flag": {
                "server": { "command": "x", "args": ["--api-key", "0123456789"] },
                "notes": ["the argument after --api-key is stored in plain text in config.toml"],
            },
        }),
    );
}

#[test]
fn a_malformed_file_is_reported_with_its_reason() {
    for (path, text) in [("a.json", "{"), ("a.toml", "= 1"), ("a.yaml", "a: [")] {
        let told = read(text, Path::new(path), None, &user_env())
            .map(|_| ())
            .unwrap_err();
        assert!(told.starts_with("invalid "), "{told}");
    }
}
