//! Declares tools as TypeScript, so that a model writing a script knows their arguments and results.
//!
//! Schemas are untrusted: their depth and number are limited, and nothing in them can end a comment or a string early.

mod schema;
mod text;

use serde_json::Value;

use schema::Writer;
use text::{comment, literal};

/// Maximum size of all declarations together.
const MAX_TEXT: usize = 256 << 10;

/// One tool to declare.
#[derive(Debug, Clone, Copy)]
pub struct Declared<'a> {
    /// Its server, as used in `callTool`.
    pub server: &'a str,
    /// Its name on the server.
    pub tool: &'a str,
    /// Its description.
    pub description: &'a str,
    /// JSON Schema of its arguments.
    pub input: &'a Value,
    /// JSON Schema of its result, if known.
    pub output: Option<&'a Value>,
}

/// Declarations that are always present.
const ALWAYS: &str = r#"/** Thrown by a failed call. */
interface ToolError extends Error {
  code: string;
}

declare const codeExec: {
  /** Stores a file. Types: csv, txt, json, html, xml, js, ts, md, py. */
  createArtifact(filename: string, content: string, fileType?: string): Promise<{
    success: boolean;
    id: string;
    url: string;
    filename: string;
    mimeType: string;
    size: number;
  }>;
  /** Reads a file by its id, name or URL. */
  readArtifact(identifier: string): Promise<{
    success: boolean;
    content: string;
    size: number;
    filename: string;
    mimeType: string;
  }>;
};
"#;

/// Writes one declaration of `callTool` per tool, preceded by `codeExec`. Tools that do not fit are counted at the end.
pub fn declare(tools: &[Declared<'_>]) -> String {
    let mut all = ALWAYS.to_owned();
    for (number, tool) in tools.iter().enumerate() {
        let one = declaration(tool);
        if all.len() + one.len() > MAX_TEXT {
            let left = tools.len() - number;
            all.push_str(&format!("\n// {left} more tools omitted.\n"));
            break;
        }
        all.push('\n');
        all.push_str(&one);
    }
    all
}

fn declaration(tool: &Declared<'_>) -> String {
    let mut type_text = String::new();
    comment(&mut type_text, tool.description, &[], 0);
    type_text.push_str("declare function callTool(server: ");
    type_text.push_str(&literal(tool.server));
    type_text.push_str(", tool: ");
    type_text.push_str(&literal(tool.tool));
    // Models write `callTool(server, tool)` for such tools, which has to type-check.
    let optional = if wants_nothing(tool.input) { "?" } else { "" };
    type_text.push_str(&format!(", args{optional}: "));
    type_text.push_str(&Writer::new(tool.input).arguments());
    type_text.push_str("): Promise<");
    match tool.output {
        Some(output) => type_text.push_str(&Writer::new(output).whole()),
        None => type_text.push_str("any"),
    }
    type_text.push_str(">;\n");
    type_text
}

fn wants_nothing(input: &Value) -> bool {
    input["required"].as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests;
