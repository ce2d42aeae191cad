//! The tools that speak in chats, called by a model in a turn and by the owner from outside.

mod contacts;
mod files;
mod message;
mod offered;
mod react;

use serde_json::Value;

use super::telegram::fixture::{ADA, MAIN, Stage};

/// What a tool gave in the owner's session, once the turn that `word` began has ended.
#[track_caller]
fn given(stage: &Stage, word: &str, end: &str) -> String {
    let before = stage.given(MAIN).len();
    stage.write(ADA, word);
    stage.reads(ADA.id, end);
    stage.given(MAIN)[before..].trim().to_owned()
}

/// That a call of the owner is refused with this code and these words.
#[track_caller]
fn refuses(stage: &Stage, tool: &str, arguments: Value, code: &str, words: &[&str]) {
    let said = stage.scene.gateway.call(tool, arguments.clone());
    assert_eq!(said["code"], code, "{tool} {arguments}: {said}");
    let error = said["error"].as_str().expect("an error");
    for word in words {
        assert!(
            error.contains(word),
            "{word:?} in {error:?} for {arguments}"
        );
    }
}
