//! What the tools of a node are called, and how its paths are written.

use manyhands_core::NodeId;

/// A path of a node without `.`, doubled slashes and, where it is absolute, `..`: one spelling for
/// one file. What a `..` behind a symbolic link would have meant is what the shorter path says.
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
        // `./~` is a file of that name, and `~` the home of the node's user.
        (false, false) if parts[0].starts_with('~') && !path.starts_with('~') => {
            format!("./{}", parts.join("/"))
        }
        (false, false) => parts.join("/"),
    }
}

/// What the tools of a node are called.
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
