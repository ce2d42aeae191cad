//! The two ends of a transfer in text form: `laptop:/a/b` and `gsv:notes/a.md`.

use std::fmt;

use manyhands_core::{NodeId, ToolError};
use manyhands_guard::RelPath;

use crate::plain_path;

/// One end of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferEnd {
    /// A file on a node.
    Node {
        /// The node.
        id: NodeId,
        /// The path there.
        path: String,
    },
    /// A file in the calling agent's workspace.
    Workspace {
        /// The path there.
        path: String,
    },
}

impl TransferEnd {
    /// Parses the parameter called `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ToolError> {
        let wrong = |why: &str| {
            let form = "write {nodeId}:/path/to/file for a file of a node, or gsv:path/to/file for one of the workspace";
            ToolError::parameter(name, format!("{text:?} {why}; {form}"))
        };
        let (place, path) = text.split_once(':').ok_or_else(|| wrong("has no colon"))?;
        if path.is_empty() {
            return Err(wrong("names no file"));
        }
        if path.contains('\0') {
            return Err(wrong("contains a NUL character"));
        }
        let path = path.to_owned();
        if place == "gsv" {
            return Ok(Self::Workspace { path });
        }
        let id = place
            .parse()
            .map_err(|e| wrong(&format!("does not begin with a node: {e}")))?;
        Ok(Self::Node { id, path })
    }
}

impl TransferEnd {
    /// The meaning of `gsv:workspace/PATH`, the form that the spec uses for workspace files. `None`
    /// for other forms.
    pub fn without_workspace(&self) -> Option<Self> {
        let Self::Workspace { path } = self else {
            return None;
        };
        let below = path.strip_prefix("workspace/")?.trim_start_matches('/');
        (!below.is_empty()).then(|| Self::Workspace {
            path: below.to_owned(),
        })
    }

    /// The canonical spelling, so that rules see the file that will be used.
    pub fn canonical(self) -> Self {
        match self {
            Self::Workspace { path } => Self::Workspace {
                path: RelPath::parse(&path).map_or(path, |path| path.as_str().to_owned()),
            },
            Self::Node { id, path } => Self::Node {
                id,
                path: plain_path(&path),
            },
        }
    }
}

impl fmt::Display for TransferEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { id, path } => write!(f, "{id}:{path}"),
            Self::Workspace { path } => write!(f, "gsv:{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_node_or_the_workspace() {
        for text in [
            "laptop:/a/b",
            "laptop:notes.txt",
            "gsv:memory/a.md",
            "a:b:c",
        ] {
            assert_eq!(
                TransferEnd::parse("source", text).unwrap().to_string(),
                text
            );
        }
        let gsv = TransferEnd::parse("source", "gsv:a").unwrap();
        assert_eq!(
            gsv,
            TransferEnd::Workspace {
                path: "a".to_owned()
            }
        );
    }

    #[test]
    fn what_is_none_is_refused_by_the_name_of_the_parameter() {
        for text in [
            "",
            "laptop",
            "/a/b",
            ":/a",
            "laptop:",
            "gsv:",
            "Laptop:/a",
            "a b:/a",
            "tool:/a",
            "x:\0",
        ] {
            let error = TransferEnd::parse("destination", text).unwrap_err();
            assert_eq!(error.problems[0].parameter, "destination", "{text}");
            assert!(error.message.contains("{nodeId}:/path/to/file"), "{text}");
        }
    }
}
