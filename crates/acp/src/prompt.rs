//! What an editor sends as a prompt, as the words an agent here is told.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

/// The longest prompt, in bytes.
const MAX_PROMPT: usize = 4 * 1024 * 1024;

/// The prompt as one text: words and links as they stand, and what was enclosed after them.
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
                _ => return Err("files that are not text are not taken".to_owned()),
            },
            _ => return Err("only words, links and text files are taken".to_owned()),
        }
        if text.len() + enclosed.len() > MAX_PROMPT {
            let most = MAX_PROMPT / (1024 * 1024);
            return Err(format!("a prompt of more than {most} MiB is not taken"));
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
    fn what_cannot_be_told_is_refused() {
        let picture = ContentBlock::Image(ImageContent::new("aa", "image/png"));
        assert!(text_of(vec!["look: ".into(), picture]).is_err());
        assert!(text_of(vec![" ".into()]).is_err());
        assert!(text_of(Vec::new()).is_err());
        assert!(text_of(vec!["x".repeat(MAX_PROMPT + 1).as_str().into()]).is_err());
        assert!(text_of(vec!["x".into()]).is_ok());
    }
}
