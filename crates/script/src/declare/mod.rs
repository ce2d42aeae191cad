//! Tools as TypeScript, so that a model that writes a script knows what to pass and what comes back.
//!
//! Schemas come from anybody: what they say is bounded in depth and number, and nothing in them can
//! end a comment or a text early.

mod schema;
mod text;

use serde_json::Value;

use schema::Writer;
use text::{comment, literal};

/// The most characters of all declarations together.
const MOST: usize = 256 << 10;

/// One tool to write down.
#[derive(Debug, Clone, Copy)]
pub struct Declared<'a> {
    /// Its server, as `callTool` names it.
    pub server: &'a str,
    /// Its name there.
    pub tool: &'a str,
    /// What it does.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub input: &'a Value,
    /// The JSON Schema of its result, where it says.
    pub output: Option<&'a Value>,
}

/// What a script finds without any tool.
const ALWAYS: &str = r#"/** What a failed call throws. */
interface ToolError extends Error {
  code: string;
}

declare const codeExec: {
  /** Keeps a file. Types: csv, txt, json, html, xml, js, ts, md, py. */
  createArtifact(filename: string, content: string, fileType?: string): Promise<{
    success: boolean;
    id: string;
    url: string;
    filename: string;
    mimeType: string;
    size: number;
  }>;
  /** Reads a file by its id, name or address. */
  readArtifact(identifier: string): Promise<{
    success: boolean;
    content: string;
    size: number;
    filename: string;
    mimeType: string;
  }>;
};
"#;

/// Writes `tools` down as declarations of `callTool`, one for each, and `codeExec` beside them. Those that no longer
/// fit are counted at the end.
pub fn declare(tools: &[Declared<'_>]) -> String {
    let mut all = ALWAYS.to_owned();
    for (number, tool) in tools.iter().enumerate() {
        let one = declaration(tool);
        if all.len() + one.len() > MOST {
            let left = tools.len() - number;
            all.push_str(&format!("\n// {left} more tools are left out here.\n"));
            break;
        }
        all.push('\n');
        all.push_str(&one);
    }
    all
}

fn declaration(tool: &Declared<'_>) -> String {
    let mut said = String::new();
    comment(&mut said, tool.description, &[], 0);
    said.push_str("declare function callTool(server: ");
    said.push_str(&literal(tool.server));
    said.push_str(", tool: ");
    said.push_str(&literal(tool.tool));
    let optional = if wants_nothing(tool.input) { "?" } else { "" };
    said.push_str(&format!(", args{optional}: "));
    said.push_str(&Writer::new(tool.input).arguments());
    said.push_str("): Promise<");
    match tool.output {
        Some(output) => said.push_str(&Writer::new(output).whole()),
        None => said.push_str("any"),
    }
    said.push_str(">;\n");
    said
}

fn wants_nothing(input: &Value) -> bool {
    input["required"].as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests;
