//! The result of a `tools/call` as the outcome of a call of ours.

use manyhands_core::{ContentBlock, ErrorCode, Outcome, ToolError};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// A server's result as ours: the structured value if there is one, else its text content. The
/// unchanged result is included only if `raw`, for a caller that forwards it.
pub fn outcome(result: Value, raw: bool) -> Result<Outcome, ToolError> {
    let content = result["content"].as_array().cloned().unwrap_or_default();
    if result["isError"] == true {
        let text_of = texts(&content).join("\n");
        let text_of = if text_of.is_empty() {
            "the server reported a failure without a message".to_owned()
        } else {
            text_of
        };
        let mut error = ToolError::new(ErrorCode::Failed, text_of);
        if content.iter().any(|block| block["type"] != "text")
            || result.get("structuredContent").is_some()
        {
            error = error.details(json!({ "result": result }));
        }
        return Err(error);
    }
    let only_text = content.iter().all(|block| block["type"] == "text");
    let (value, blocks) = match result.get("structuredContent") {
        Some(structured) if !structured.is_null() => {
            let others = content.iter().filter(|block| block["type"] != "text");
            (structured.clone(), others.filter_map(known).collect())
        }
        _ if only_text => (plain(&texts(&content)), Vec::new()),
        _ => (json!({ "content": content }), Vec::new()),
    };
    Ok(Outcome {
        value,
        blocks,
        raw: raw.then_some(result),
        ..Outcome::default()
    })
}

fn known(block: &Value) -> Option<ContentBlock> {
    ContentBlock::deserialize(block).ok()
}

fn texts(content: &[Value]) -> Vec<&str> {
    content
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect()
}

/// What texts say: the value that a single one spells, else the text itself.
fn plain(texts: &[&str]) -> Value {
    match texts {
        [] => Value::Null,
        [text] if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        texts => json!(texts.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: Value, value: Value) {
        for (raw, expect) in [(true, Some(&result)), (false, None)] {
            let outcome = outcome(result.clone(), raw).unwrap();
            assert_eq!((&outcome.value, outcome.raw.as_ref()), (&value, expect));
        }
    }

    #[test]
    fn results_become_plain_values_and_keep_their_original() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        check(json!({ "content": [text("hello")] }), json!("hello"));
        check(
            json!({ "content": [text("{\"a\": 1}")] }),
            json!({ "a": 1 }),
        );
        check(
            json!({ "content": [text("{not json")] }),
            json!("{not json"),
        );
        check(json!({ "content": [text("a"), text("b")] }), json!("a\nb"));
        check(
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            json!({ "n": 1 }),
        );
        let picture = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        check(
            json!({ "content": [picture] }),
            json!({ "content": [picture] }),
        );
        check(json!({}), Value::Null);
    }

    #[test]
    fn an_error_contains_the_servers_message() {
        let error = outcome(
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such repo" }] }),
            false,
        );
        let error = error.unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Failed, "no such repo")
        );
    }
}
