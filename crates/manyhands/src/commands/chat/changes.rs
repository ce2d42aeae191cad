//! The change that an edit makes, from the arguments of its call.

use serde_json::Value;
use similar::TextDiff;

/// Lines around a change.
const CONTEXT: usize = 2;

/// A diff of what a call changes, if its arguments contain both texts or a patch.
pub fn of_call(tool: &str, arguments: &Value) -> Option<String> {
    let given = |names: &[&str]| {
        let mut values = names.iter().map(|name| arguments[*name].as_str());
        values.find_map(|value| value)
    };
    let path = given(&["path", "file_path", "filePath"]).unwrap_or_default();
    let old = given(&["oldString", "old_string", "old_text", "oldText"]);
    let new = given(&["newString", "new_string", "new_text", "newText"]);
    if let (Some(old), Some(new)) = (old, new) {
        let diff = TextDiff::from_lines(old, new);
        let diff = diff.unified_diff().context_radius(CONTEXT).to_string();
        // The line numbers would be those of the arguments, not of the file.
        let lines = diff.lines().filter(|line| !line.starts_with("@@"));
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with('\\')).collect();
        return Some(format!("--- {path}\n{}", lines.join("\n")));
    }
    let is_patch = tool.to_lowercase().contains("patch");
    given(&["patch", "diff", "input"])
        .filter(|_| is_patch)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn edits_and_patches_are_changes() {
        let edit = json!({ "path": "a.md", "oldString": "one\ntwo", "newString": "one\nthree" });
        assert_eq!(
            of_call("gsv__EditFile", &edit).as_deref(),
            Some("--- a.md\n one\n-two\n+three")
        );
        let patch = json!({ "patch": "*** Begin Patch" });
        assert_eq!(
            of_call("tool::apply_patch", &patch).as_deref(),
            Some("*** Begin Patch")
        );
        assert_eq!(of_call("bash", &patch), None);
        assert_eq!(of_call("gsv__ReadFile", &json!({ "path": "a.md" })), None);
    }
}
