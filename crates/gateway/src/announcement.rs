//! Messages to a session about the background processes it started on a node.

use manyhands_agent::{Input, Origin, SessionKey};
use manyhands_core::Taint;
use manyhands_node_registry::ProcessNotice;
use manyhands_wire::ExecEvent;

/// The message for the session that started a process, once the process has ended.
pub fn announcement(news: &ProcessNotice) -> Option<(SessionKey, String, Input, Origin)> {
    let started = news.origin.as_ref()?;
    let key: SessionKey = started.session.as_ref()?.parse().ok()?;
    let notice = &news.params;
    let how = match notice.event {
        ExecEvent::Started => return None,
        ExecEvent::Finished => "has finished".to_owned(),
        ExecEvent::TimedOut => "was stopped because its time was up".to_owned(),
        ExecEvent::Failed => match (notice.exit_code, &notice.signal) {
            (Some(code), _) => format!("has failed with exit code {code}"),
            (None, Some(signal)) => format!("was ended by {signal}"),
            (None, None) => "has failed".to_owned(),
        },
    };
    let tail = notice
        .output_tail
        .as_deref()
        .unwrap_or("(it printed nothing)");
    let text = format!(
        "The program {} in the background of {} {how}. The end of its output:\n{tail}",
        notice.session_id, news.node
    );
    let origin = Origin {
        token: started.token,
        person: started.caller.strip_prefix("person:").map(str::to_owned),
        place: None,
        name: news.node.to_string(),
        // Output of a program is untrusted, whoever started it.
        trusted: false,
        depth: 0,
        tainted: Taint::by(format!("node:{}", news.node)),
        job: None,
        lineage: Vec::new(),
    };
    Some((
        key,
        format!("exec-{}", notice.event_id),
        Input::text(text),
        origin,
    ))
}
