//! Converts an editor's prompt to a message.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

/// Maximum size of a prompt, in bytes.
const MAX_PROMPT: usize = 4 * 1024 * 1024;

/// Returns the prompt as one text: text and links in order, followed by embedded files.
pub(crate) fn text_of(blocks: Vec<ContentBlock>) -> Result<String, String> {
    let mut text = String::new();
    let mut enclosed = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(words) => text.push_str(&words.text),
            ContentBlock::ResourceLink(link) => {
                text.push_str(&format!("[{}]({})", link.name, link.uri));
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    text.push_str(&format!("[{}]", file.uri));
                    let (uri, inside) = (file.uri, file.text);
                    enclosed.push_str(&format!(
                        "\n\n<context ref=\"{uri}\">\n{inside}\n</context>"
                    ));
                }
                _ => return Err("only text files are supported".to_owned()),
            },
            _ => return Err("only text, links and text files are supported".to_owned()),
        }
        // Checked after every block: a prompt may have thousands of small ones.
        if text.len() + enclosed.len() > MAX_PROMPT {
            let most = MAX_PROMPT / (1024 * 1024);
            return Err(format!("the prompt is larger than {most} MiB"));
        }
    }
    text.push_str(&enclosed);
    match text.trim().is_empty() {
        true => Err("the prompt is empty".to_owned()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::{
        EmbeddedResource, ImageContent, ResourceLink, TextResourceContents,
    };

    #[test]
    fn links_stand_where_they_were_and_files_come_last() {
        let file = TextResourceContents::new("tea", "file:///a.txt");
        let file = EmbeddedResourceResource::TextResourceContents(file);
        let blocks = vec![
            "what is in ".into(),
            ContentBlock::Resource(EmbeddedResource::new(file)),
            " and ".into(),
            ContentBlock::ResourceLink(ResourceLink::new("b", "file:///b")),
            "?".into(),
        ];
        let expect = "what is in [file:///a.txt] and [b](file:///b)?\n\n<context ref=\"file:///a.txt\">\ntea\n</context>";
        assert_eq!(text_of(blocks).unwrap(), expect);
    }

    #[test]
    fn invalid_prompts_are_refused() {
        let picture = ContentBlock::Image(ImageContent::new("aa", "image/png"));
        assert!(text_of(vec!["look: ".into(), picture]).is_err());
        assert!(text_of(vec![" ".into()]).is_err());
        assert!(text_of(Vec::new()).is_err());
        assert!(text_of(vec!["x".repeat(MAX_PROMPT + 1).as_str().into()]).is_err());
        assert!(text_of(vec!["x".into()]).is_ok());
    }
}
