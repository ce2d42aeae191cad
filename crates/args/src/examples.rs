//! Examples shown below the help of commands.

/// Command path and its examples: what to type, and what it does.
pub const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "up",
        &[
            ("manyhands up", "start here, until Ctrl-C"),
            (
                "manyhands up --listen 0.0.0.0:7717",
                "also reachable from other machines",
            ),
        ],
    ),
    (
        "uninstall",
        &[("manyhands uninstall", "remove the service; the data stays")],
    ),
    ("start", &[("manyhands start", "")]),
    ("stop", &[("manyhands stop", "")]),
    ("restart", &[("manyhands restart", "")]),
    (
        "status",
        &[(
            "manyhands status && echo ready",
            "exits with 0 if the gateway is ready",
        )],
    ),
    (
        "node",
        &[
            (
                "manyhands node --url https://hands.example --code CODE",
                "first start; the code is from `manyhands nodes code`",
            ),
            ("manyhands node --jail ~/projects", "share only this folder"),
            ("manyhands node install", "run as a service"),
        ],
    ),
    (
        "nodes",
        &[
            ("manyhands nodes", "list nodes"),
            ("manyhands nodes code laptop", "enrol a machine as laptop"),
            ("manyhands nodes logs laptop", ""),
        ],
    ),
    (
        "cp",
        &[
            (
                "manyhands cp laptop:/home/me/a.pdf gsv:notes/a.pdf",
                "from a node into the workspace",
            ),
            ("manyhands cp gsv:report.md server:/srv/report.md", ""),
        ],
    ),
    (
        "chat",
        &[
            (
                "manyhands chat",
                "interactive; /help lists commands, @ attaches files",
            ),
            ("manyhands chat \"what is in my notes?\"", "one message"),
            (
                "git diff | manyhands chat \"review this\"",
                "with standard input",
            ),
            (
                "manyhands chat -s work --agent researcher",
                "another conversation, another agent",
            ),
        ],
    ),
    (
        "sessions",
        &[
            ("manyhands sessions", "list sessions"),
            (
                "manyhands sessions show work --limit 5",
                "the last five messages",
            ),
            ("manyhands sessions search invoice", ""),
            ("manyhands sessions set work --label Work", ""),
        ],
    ),
    (
        "cron",
        &[
            ("manyhands cron", "list jobs"),
            (
                "manyhands cron add --name standup --cron \"0 9 * * 1-5\" --message \"what is due today?\"",
                "",
            ),
            ("manyhands cron preview --every 2h", "when would it run?"),
            ("manyhands cron runs", "past runs"),
        ],
    ),
    (
        "heartbeat",
        &[
            ("manyhands heartbeat", "show heartbeats"),
            ("manyhands heartbeat trigger --agent main", "run one now"),
        ],
    ),
    (
        "link",
        &[("manyhands link", "open the printed link in a browser")],
    ),
    (
        "channel",
        &[
            ("manyhands channel", "show accounts"),
            (
                "manyhands channel login telegram",
                "prompts for the bot's token",
            ),
            ("manyhands channel stop telegram", ""),
        ],
    ),
    (
        "pair",
        &[
            ("manyhands pair", "list requests and people"),
            (
                "manyhands pair approve telegram CODE --owner",
                "this person is you",
            ),
        ],
    ),
    (
        "outbox",
        &[
            ("manyhands outbox --state failed", ""),
            ("manyhands outbox resend ID", ""),
        ],
    ),
    (
        "inbox",
        &[
            ("manyhands inbox", "list"),
            ("manyhands inbox retry ID", ""),
        ],
    ),
    (
        "models",
        &[
            ("manyhands models", "list models"),
            ("manyhands models add anthropic", "prompts for the API key"),
            (
                "manyhands models add ollama --model qwen3:8b",
                "a local model",
            ),
            ("manyhands models test", "one short request"),
        ],
    ),
    (
        "agents",
        &[
            ("manyhands agents", "list agents"),
            ("manyhands agents show main", ""),
        ],
    ),
    (
        "skills",
        &[
            ("manyhands skills", "list skills of main"),
            ("manyhands skills disable NAME", ""),
        ],
    ),
    ("usage", &[("manyhands usage --days 7", "")]),
    (
        "call",
        &[
            ("manyhands call gsv__ReadFile '{\"path\":\"notes.md\"}'", ""),
            (
                "manyhands call --wait 60 gsv__WriteFile - < arguments.json",
                "wait for an approval; arguments from a file",
            ),
        ],
    ),
    (
        "trigger",
        &[(
            "manyhands trigger tool::file_read '{\"path\":\"notes.md\"}'",
            "",
        )],
    ),
    (
        "tools",
        &[
            ("manyhands tools", "list tools"),
            ("manyhands tools gsv__ReadFile", "its parameters"),
        ],
    ),
    (
        "mcp",
        &[
            (
                "manyhands mcp",
                "serve the tools on stdio; started by an AI client",
            ),
            ("manyhands mcp list", "list MCP servers"),
            ("manyhands mcp add github", "add a well-known server"),
            ("manyhands connect", "set up the AI clients on this machine"),
        ],
    ),
    (
        "connection",
        &[
            ("manyhands connection", "list accounts"),
            (
                "manyhands connection add github --credential token",
                "prompts for the token",
            ),
        ],
    ),
    (
        "acp",
        &[(
            "manyhands acp --agent main",
            "started by an editor, such as Zed",
        )],
    ),
    (
        "config",
        &[
            ("manyhands config get models.default", ""),
            ("manyhands config set limits.calls_per_minute 120", ""),
            ("manyhands config check", ""),
        ],
    ),
    (
        "token",
        &[
            ("manyhands token", "list tokens"),
            ("manyhands token create laptop --expires 30d", "shown once"),
            (
                "manyhands token create reader --tools gsv__ReadFile,web_search",
                "",
            ),
            ("manyhands token revoke laptop", ""),
        ],
    ),
    (
        "secret",
        &[
            ("manyhands secret", "list names"),
            ("printf %s \"$KEY\" | manyhands secret set work", ""),
        ],
    ),
    (
        "policy",
        &[
            ("manyhands policy", "list rules"),
            (
                "manyhands policy explain gsv__WriteFile '{\"path\":\"a.md\"}' --role client",
                "test the rules",
            ),
        ],
    ),
    (
        "approvals",
        &[
            ("manyhands approvals", "list pending requests"),
            ("manyhands approvals approve ID", "allow once"),
            ("manyhands approvals approve ID --always", "and from now on"),
            (
                "manyhands approvals deny ID -m \"use the staging server\"",
                "",
            ),
        ],
    ),
    (
        "trust",
        &[
            ("manyhands trust", "list"),
            ("manyhands trust accept file notes.md", ""),
        ],
    ),
    (
        "audit",
        &[
            ("manyhands audit", "latest calls"),
            ("manyhands audit list --tool 'bash*' --status error", ""),
            ("manyhands audit verify", ""),
        ],
    ),
    (
        "artifact",
        &[
            ("manyhands artifact list", ""),
            ("manyhands artifact put report.pdf", ""),
            ("manyhands artifact get ID -o report.pdf", ""),
        ],
    ),
    (
        "resource",
        &[
            ("manyhands resource", "list resources"),
            ("manyhands resource create datastore orders", ""),
        ],
    ),
    (
        "todo",
        &[
            ("manyhands todo", "list open items"),
            ("manyhands todo add \"call Ada\" --person Ada", ""),
            ("manyhands todo done \"call Ada\"", ""),
        ],
    ),
    ("contacts", &[("manyhands contacts", "list contacts")]),
    ("backup", &[("manyhands backup ~/manyhands.backup", "")]),
    (
        "restore",
        &[(
            "manyhands restore ~/manyhands.backup --force",
            "an existing home is moved aside",
        )],
    ),
    (
        "completions",
        &[(
            "manyhands completions bash > ~/.local/share/bash-completion/completions/manyhands",
            "",
        )],
    ),
];
