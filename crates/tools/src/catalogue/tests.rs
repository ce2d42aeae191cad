use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use manyhands_config::Tools;
use serde_json::{Value, json};

use super::*;

#[path = "../../build.rs"]
#[allow(dead_code, reason = "only the generator is tested")]
mod build_script;

/// The stem of the file a tool belongs in: `read_file` for `gsv__ReadFile`.
fn stem(name: &str) -> String {
    let name = name
        .trim_start_matches("gsv__")
        .trim_start_matches("tool::");
    let mut stem = String::new();
    for letter in name.replace('-', "_").chars() {
        if letter.is_uppercase() && !stem.is_empty() {
            stem.push('_');
        }
        stem.extend(letter.to_lowercase());
    }
    stem
}

#[test]
fn every_file_registers_the_tool_it_is_named_after() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (family, tools) in build_script::FAMILIES.iter().zip(families()) {
        let entries = fs::read_dir(src.join(family)).unwrap();
        let files = entries.filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".rs").map(str::to_owned)
        });
        let files: BTreeSet<String> = files.filter(|name| name != "mod").collect();
        let registered: Vec<String> = tools.iter().map(|tool| stem(tool.name)).collect();
        assert!(files.iter().eq(&registered), "{files:?}, {registered:?}");
    }
    assert!(registrations().count() > 50, "the tools were found");
}

#[test]
fn a_new_file_is_all_a_new_tool_needs() {
    let folder = tempfile::tempdir().unwrap();
    let add = |name: &str| fs::write(folder.path().join(name), "").unwrap();
    add("mod.rs");
    add("old_tool.rs");
    let before = build_script::declarations(folder.path());
    assert!(before.contains("mod old_tool;") && before.contains("&old_tool::TOOL,"));
    assert!(
        !before.contains("new_tool") && !before.contains("mod mod;"),
        "{before}"
    );
    add("new_tool.rs");
    let after = build_script::declarations(folder.path());
    assert!(
        after.contains("mod new_tool;") && after.contains("&new_tool::TOOL,"),
        "{after}"
    );
}

#[test]
fn a_switch_disables_exactly_its_tool() {
    let mut all = serde_json::to_value(Tools::default()).unwrap();
    let switches: Vec<String> = all.as_object().unwrap().keys().cloned().collect();
    for name in &switches {
        all[name]["enabled"] = json!(true);
    }
    let disabled = |settings: &Value| -> BTreeSet<&str> {
        let settings: Tools = serde_json::from_value(settings.clone()).unwrap();
        let off = registrations().filter(|tool| !(tool.enabled)(&settings));
        off.map(|tool| tool.name).collect()
    };
    assert!(disabled(&all).is_empty());
    for name in &switches {
        let mut settings = all.clone();
        settings[name]["enabled"] = json!(false);
        // The tools of workspaces share names with those of the machine, and have no switches.
        let of_machine = registrations()
            .map(|tool| tool.name)
            .filter(|tool| !tool.starts_with("gsv__"));
        let own = of_machine.filter(|tool| stem(tool) == *name);
        let mut expected: BTreeSet<&str> = own.collect();
        assert!(!expected.is_empty(), "tools.{name} is the switch of a tool");
        if name == "acp_spawn" {
            // It only answers the questions of agents that `acp_spawn` has started.
            expected.insert("acp_permit");
        }
        assert_eq!(disabled(&settings), expected, "tools.{name}");
    }
}
