//! Maps a blob to its tree.
//!
//! `agents/ID` is the tree of one agent; every other folder at the top (`skills`, `templates`,
//! `artifacts`, `archives`, ...) is one tree. A tree is opened by a handle of its own, and nothing
//! beneath it leads out of it.

use manyhands_guard::RelPath;

/// The folder that holds a tree for each agent.
const AGENTS: &str = "agents";

/// Location of a blob or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlobLocation {
    /// The tree, from the root.
    pub(super) tree: RelPath,
    /// The path from the tree.
    pub(super) below: RelPath,
}

impl BlobLocation {
    /// The location of the blob at `path`; `None` if it is not below `scope`.
    pub(super) fn of_blob(scope: &RelPath, path: &RelPath) -> Option<Self> {
        // The last name is the blob's, so that it is never taken for a tree.
        let folder = Self::of_folder(scope, &path.parent()?)?;
        let name = RelPath::parse(path.file_name()?).ok()?;
        let below = folder.below.join(&name).ok()?;
        Some(Self { below, ..folder })
    }

    /// The location of the folder at `path`; `None` if it is neither `scope` nor below it.
    pub(super) fn of_folder(scope: &RelPath, path: &RelPath) -> Option<Self> {
        let names: Vec<&str> = path.components().collect();
        let scope: Vec<&str> = scope.components().collect();
        if !names.starts_with(&scope) {
            return None;
        }
        let tree = match names.first() {
            Some(&AGENTS) => 2,
            _ => 1,
        };
        // At least the scope: a store restricted to a subfolder must be confined by that folder's handle, not by
        // its tree's.
        let tree = tree.max(scope.len()).min(names.len());
        let joined = |names: &[&str]| RelPath::parse(&names.join("/")).ok();
        Some(Self {
            tree: joined(&names[..tree])?,
            below: joined(&names[tree..])?,
        })
    }

    /// Whether this is a folder whose folders are trees.
    pub(super) fn holds_trees(&self) -> bool {
        self.below.is_root() && (self.tree.is_root() || self.tree.as_str() == AGENTS)
    }

    /// The path from the root.
    pub(super) fn whole(&self) -> RelPath {
        // Both halves come from one path that was short enough.
        self.tree.join(&self.below).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn every_agent_and_every_folder_at_the_top_is_a_tree() {
        for (blob, tree, below) in [
            ("agents/a/x", "agents/a", "x"),
            ("agents/a/d/x", "agents/a", "d/x"),
            ("agents/stray", "agents", "stray"),
            ("skills/s/SKILL.md", "skills", "s/SKILL.md"),
            ("artifacts/1", "artifacts", "1"),
            ("top", "", "top"),
        ] {
            let place = BlobLocation::of_blob(&RelPath::root(), &path(blob)).unwrap();
            assert_eq!((place.tree.as_str(), place.below.as_str()), (tree, below));
            assert_eq!(place.whole(), path(blob));
        }
        for (folder, tree, below, trees) in [
            ("", "", "", true),
            ("agents", "agents", "", true),
            ("agents/a", "agents/a", "", false),
            ("agents/a/d", "agents/a", "d", false),
            ("skills", "skills", "", false),
            ("skills/s", "skills", "s", false),
        ] {
            let place = BlobLocation::of_folder(&RelPath::root(), &path(folder)).unwrap();
            assert_eq!((place.tree.as_str(), place.below.as_str()), (tree, below));
            assert_eq!(place.holds_trees(), trees, "{folder}");
        }
    }

    #[test]
    fn a_path_outside_of_the_scope_has_no_location() {
        let scope = path("agents/a");
        for other in [
            "agents/b/x",
            "agents/ab/x",
            "agents/a",
            "skills/x",
            "x",
            "agents",
        ] {
            assert_eq!(BlobLocation::of_blob(&scope, &path(other)), None, "{other}");
        }
        for other in ["", "agents", "agents/b", "agents/ab", "skills"] {
            assert_eq!(
                BlobLocation::of_folder(&scope, &path(other)),
                None,
                "{other}"
            );
        }
        assert!(BlobLocation::of_blob(&scope, &path("agents/a/x")).is_some());
        assert!(BlobLocation::of_folder(&scope, &scope).is_some());
        let deeper = BlobLocation::of_blob(&path("agents/a/memory"), &path("agents/a/memory/x"));
        assert_eq!(deeper.unwrap().tree, path("agents/a/memory"));
    }
}
