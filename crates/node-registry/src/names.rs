//! Catalogue names of node tools, and the canonical form of node paths.

use manyhands_core::NodeId;

/// Normalises a path: without `.`, doubled slashes and, in absolute paths, `..`, so that rules see
/// one spelling per file. `..` is resolved by text, even behind a symbolic link.
pub fn plain_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if absolute => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => path.to_owned(),
        // `./~` is a file of that name, `~` the home of the node's user.
        (false, false) if parts[0].starts_with('~') && !path.starts_with('~') => {
            format!("./{}", parts.join("/"))
        }
        (false, false) => parts.join("/"),
    }
}

/// The catalogue name of a node's tool.
pub(super) fn full_name(node: &NodeId, tool: &str) -> String {
    format!("{node}__{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for (path, plain) in [
            ("/etc/passwd", "/etc/passwd"),
            ("//etc/./passwd", "/etc/passwd"),
            ("/home/../etc/passwd", "/etc/passwd"),
            ("/../../etc", "/etc"),
            ("/", "/"),
            ("./notes//a.md", "notes/a.md"),
            ("a/../b", "a/../b"),
            (".", "."),
            ("", ""),
        ] {
            assert_eq!(plain_path(path), plain, "{path}");
        }
    }
}
