//! Every command in the README and the guide works: `sh` blocks are executed against a real gateway, one fresh
//! home per chapter. Blocks tagged `sh,no-run,REASON` need something that a test does not have; their subcommands and
//! options have to exist. Settings (`toml`) have to pass `config check`, and `json` has to be JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use super::blocks::{Block, blocks};
use super::top;
use crate::harness::{BINARY, Gateway, Home, eventually, run};

/// A model that answers everything, so that commands which need one can be executed.
const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: "" }
    text: I have read your message.
"#;

/// Settings of the home that the chapters are executed on. Its own machine is the node `laptop`, whatever the machine
/// of the test is called.
const SETTINGS: &str = "# asks by default\n\
    [node]\nid = \"laptop\"\n\
    [models]\ndefault = \"scripted/demo\"\n\
    [models.providers.scripted]\nkind = \"scripted\"\n";

/// A gateway as a reader has it, and the shell they type into.
struct Stage {
    gateway: Gateway,
    path: String,
    folder: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = Home::new();
        let script = home.outside("turns.yaml");
        std::fs::write(&script, SCRIPT).expect("the script");
        let home = home.with_config(&format!("{SETTINGS}script = {script:?}\n"));
        let bin = home.outside("bin");
        let folder = home.outside("work");
        for new in [&bin, &folder] {
            std::fs::create_dir(new).expect("a folder");
        }
        std::os::unix::fs::symlink(BINARY, bin.join("manyhands")).expect("the binary on the path");
        let others = std::env::var("PATH").expect("a path");
        let path = format!("{}:{others}", bin.display());
        let mut command = home.command();
        command.args(["up", "--listen", "127.0.0.1:0"]);
        let gateway = Gateway::from(home, command);
        eventually("its own machine is a node", || {
            let listed = gateway.cli(&["nodes", "--json"]).json();
            let nodes = listed["nodes"].as_array().into_iter().flatten();
            nodes.into_iter().any(|node| node["online"] == true)
        });
        Self {
            gateway,
            path,
            folder,
        }
    }

    fn execute(&self, page: &str, block: &Block) {
        let script = block
            .text
            .replace("http://127.0.0.1:7717", &self.gateway.url);
        let mut shell = self.gateway.home.wrap(Command::new("sh"));
        shell
            .args(["-euc", &script])
            .env("PATH", &self.path)
            .current_dir(&self.folder);
        let ran = run(shell, "");
        let at = format!("{page}:{}", block.line);
        assert_eq!(ran.code, Some(0), "{at}\n{}\n{ran:?}", block.text);
        // A call that is meant to fail says so.
        let fails = block.text.contains("|| true");
        let failed = ran.stdout.contains("\"ok\":false") || ran.stdout.contains("\"ok\": false");
        assert!(fails || !failed, "{at}\n{}\n{ran:?}", block.text);
    }

    fn check_settings(&self, page: &str, block: &Block) {
        let home = Home::new().with_config(&format!("# asks by default\n{}", block.text));
        let ran = home.cli(&["config", "check"]);
        assert_eq!(ran.code, Some(0), "{page}:{}\n{ran:?}", block.line);
    }
}

/// The commands and options of the real program, as `--help` shows them.
#[derive(Default)]
struct Help {
    pages: BTreeMap<Vec<String>, String>,
}

impl Help {
    fn of(&mut self, path: &[String]) -> &str {
        self.pages.entry(path.to_vec()).or_insert_with(|| {
            let words = path.iter().map(String::as_str);
            let args: Vec<&str> = words.chain(["--help"]).collect();
            Home::new().cli(&args).ok().stdout
        })
    }

    fn has_command(&mut self, path: &[String], word: &str) -> bool {
        let page = self.of(path);
        // At the top, the commands are in groups with headings of their own.
        let listed = match path.is_empty() {
            true => page,
            false => {
                let listed = page.split_once("Commands:").map_or("", |(_, rest)| rest);
                listed.split("\n\n").next().unwrap_or_default()
            }
        };
        listed.lines().any(|line| {
            line.strip_prefix("  ")
                .is_some_and(|line| line.split(' ').next() == Some(word))
        })
    }

    fn has_option(&mut self, path: &[String], option: &str) -> bool {
        let page = self.of(path);
        let known = |piece: &str| piece.trim_matches(|c| matches!(c, ',' | '[' | ']')) == option;
        page.split_whitespace().any(known)
    }

    /// What is wrong with a line that begins with `manyhands`; nothing if it is right.
    fn problem(&mut self, line: &str) -> Option<String> {
        let line = line.split(" #").next().unwrap_or_default();
        let line = line.split(" | ").next().unwrap_or_default();
        let mut path = Vec::new();
        for word in line.split_whitespace().skip(1) {
            if word == "--" {
                break;
            }
            let is_option = word.starts_with('-') && word.len() > 1;
            let option = word.split('=').next().unwrap_or_default();
            if is_option && !self.has_option(&path, option) {
                return Some(format!(
                    "`manyhands {}` has no option {option}",
                    path.join(" ")
                ));
            }
            if !is_option && self.has_command(&path, word) {
                path.push(word.to_owned());
            }
        }
        path.is_empty().then(|| format!("no such command: {line}"))
    }
}

/// The parts of a script that start `manyhands`, with continued lines joined.
fn calls(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let after = |line: &str| {
        let starts = line.match_indices("manyhands ");
        let starts = starts.filter(|(at, _)| {
            let before = line[..*at].trim_end();
            before.is_empty() || before.ends_with(['|', '(', ';', '&'])
        });
        starts
            .map(|(at, _)| line[at..].to_owned())
            .collect::<Vec<_>>()
    };
    lines.flat_map(after).collect()
}

#[track_caller]
fn check(file: &str) {
    let page = std::fs::read_to_string(top().join(file)).expect("the page");
    let found = blocks(&page);
    let runs = |block: &&Block| block.language() == "sh" && block.reason().is_none();
    let stage = Stage::new();
    let mut help = Help::default();
    for block in &found {
        let at = format!("{file}:{}", block.line);
        match (block.language(), block.reason()) {
            ("sh", None) => stage.execute(file, block),
            ("sh", Some(reason)) => {
                assert!(!reason.is_empty(), "{at}: why is it not executed?");
                for call in calls(&block.text) {
                    assert_eq!(help.problem(&call), None, "{at}: {call}");
                }
            }
            ("toml", None) => stage.check_settings(file, block),
            ("json", None) => {
                let read = serde_json::from_str::<serde_json::Value>(&block.text);
                assert!(read.is_ok(), "{at}: {read:?}");
            }
            ("text" | "ini" | "nix" | "yaml", None) => {}
            other => panic!("{at}: a block is sh, toml, json, text, ini, nix or yaml: {other:?}"),
        }
    }
    let executed = found.iter().filter(runs).count();
    println!("{file}: {executed} of {} blocks executed", found.len());
}

macro_rules! pages {
    ($($test:ident: $file:literal,)*) => {
        $(#[test]
        fn $test() {
            check($file);
        })*

        const PAGES: &[&str] = &[$($file),*];
    };
}

pages! {
    the_commands_of_the_readme_work: "README.md",
    the_commands_of_the_introduction_work: "docs/guide/src/README.md",
    the_commands_for_getting_started_work: "docs/guide/src/getting-started.md",
    the_commands_of_the_concepts_work: "docs/guide/src/concepts.md",
    the_commands_for_agents_work: "docs/guide/src/agents.md",
    the_commands_for_models_work: "docs/guide/src/models.md",
    the_commands_for_tools_work: "docs/guide/src/tools.md",
    the_commands_for_nodes_work: "docs/guide/src/nodes.md",
    the_commands_for_channels_work: "docs/guide/src/channels.md",
    the_commands_for_jobs_work: "docs/guide/src/jobs.md",
    the_commands_for_servers_work: "docs/guide/src/servers.md",
    the_commands_for_clients_work: "docs/guide/src/clients.md",
    the_commands_for_policy_work: "docs/guide/src/policy.md",
    the_commands_for_scripts_work: "docs/guide/src/scripts.md",
    the_commands_for_data_work: "docs/guide/src/data.md",
    the_commands_for_security_work: "docs/guide/src/security.md",
    the_commands_for_backup_work: "docs/guide/src/backup.md",
    the_commands_for_operating_work: "docs/guide/src/operating.md",
    the_commands_for_troubleshooting_work: "docs/guide/src/troubleshooting.md",
}

#[test]
fn every_chapter_of_the_guide_is_checked() {
    let folder = top().join("docs/guide/src");
    let summary = std::fs::read_to_string(folder.join("SUMMARY.md")).expect("the summary");
    let named = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let named: Vec<&str> = named.collect();
    assert!(named.len() > 15, "{named:?}");
    for chapter in &named {
        assert!(folder.join(chapter).is_file(), "{chapter}");
        // The reference is generated; its tests are where it comes from.
        let page = format!("docs/guide/src/{chapter}");
        assert!(
            chapter.starts_with("reference/") || PAGES.contains(&page.as_str()),
            "{page}"
        );
    }
    for file in std::fs::read_dir(&folder).expect("the chapters") {
        let name = file
            .expect("a file")
            .file_name()
            .into_string()
            .expect("a name");
        let is_chapter = name.ends_with(".md") && name != "SUMMARY.md";
        assert!(
            !is_chapter || named.contains(&name.as_str()),
            "{name} is not in SUMMARY.md"
        );
    }
}

#[test]
fn wrong_commands_and_options_are_noticed() {
    let mut help = Help::default();
    for right in [
        "manyhands mcp add files -- npx -y server",
        "manyhands call --wait 60 gsv__ReadFile '{}'",
        "manyhands chat -s work \"x\"",
        "manyhands sessions set work --think high   # comment --nothing",
    ] {
        assert_eq!(help.problem(right), None);
    }
    for wrong in [
        "manyhands frobnicate",
        "manyhands mcp add files --frobnicate",
        "manyhands call --waiting 60 x",
    ] {
        assert!(help.problem(wrong).is_some(), "{wrong}");
    }
    let script = "printf x | manyhands chat\nid=$(manyhands cron list)\n# manyhands nothing\nmanyhands a \\\n  --b";
    let found = calls(script);
    assert_eq!(
        found,
        [
            "manyhands chat",
            "manyhands cron list)",
            "manyhands a    --b"
        ]
    );
}
