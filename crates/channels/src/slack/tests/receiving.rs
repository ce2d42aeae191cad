//! Claims about Socket Mode.

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;

struct Listening {
    workspace: Workspace,
    sink: Notebook,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ChannelError>>,
}

impl Listening {
    async fn start() -> Self {
        let (workspace, slack) = start(socket_mode()).await;
        let listening = Self::with(workspace, slack);
        listening.workspace.sockets(1, 1).await;
        listening
            .sink
            .until(|pages| {
                pages
                    .stood
                    .contains(&ConnectionStatus::Connected)
                    .then_some(())
            })
            .await;
        listening
    }

    fn with(workspace: Workspace, slack: Slack) -> Self {
        let (sink, stop) = (Notebook::new(), CancellationToken::new());
        let task = tokio::spawn({
            let (sink, stop) = (sink.clone(), stop.clone());
            async move { slack.listen(&sink, &stop).await }
        });
        Self {
            workspace,
            sink,
            stop,
            task,
        }
    }

    fn say(&self, text: &str) -> String {
        let payload = self.workspace.message("D0ADA", "U0ADA", text, json!({}));
        self.workspace.deliver("events_api", payload)
    }

    async fn end(self) {
        self.stop.cancel();
        assert_eq!(self.task.await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn what_is_kept_is_acknowledged_and_nothing_else() {
    let one = Listening::start().await;
    let first = one.say("hi");
    one.workspace.acked(&first).await;
    let heard = one.sink.heard();
    assert_eq!(message(&heard[0]).text, "hi");
    assert_eq!(heard[0].place.sender_name.as_deref(), Some("Ada Lovelace"));
    one.sink.fail(1);
    let lost = one.say("lost at first");
    one.sink
        .until(|pages| (pages.failed == 1).then_some(()))
        .await;
    let next = one.say("next");
    one.workspace.acked(&next).await;
    assert!(!one.workspace.acks().contains(&lost), "it was not kept");
    one.workspace.retry();
    one.workspace.acked(&lost).await;
    let texts: Vec<String> = one
        .sink
        .heard()
        .iter()
        .map(|inbound| message(inbound).text.clone())
        .collect();
    assert_eq!(texts, ["hi", "next", "lost at first"]);
    one.end().await;
}

#[tokio::test]
async fn buttons_and_commands_are_heard_and_other_things_only_acknowledged() {
    let one = Listening::start().await;
    let press = one
        .workspace
        .press("D0ADA", "U0ADA", "1699999999.000001", "yes");
    let press = one.workspace.deliver("interactive", press);
    let command = json!({ "command": "/ask", "text": "x", "user_id": "U0ADA",
        "channel_id": "C0GENERAL", "channel_name": "general", "trigger_id": "1.2.3" });
    let command = one.workspace.deliver("slash_commands", command);
    let modal = json!({ "type": "view_submission", "user": { "id": "U0ADA" } });
    let modal = one.workspace.deliver("interactive", modal);
    let unreadable = json!({ "event": { "type": "message", "channel": 7 } });
    let unreadable = one.workspace.deliver("events_api", unreadable);
    for id in [&press, &command, &modal, &unreadable] {
        one.workspace.acked(id).await;
    }
    let heard = one.sink.heard();
    assert_eq!(heard.len(), 2);
    assert!(matches!(&heard[0].what, InboundEvent::Button { data, .. } if data == "yes"));
    assert_eq!(message(&heard[1]).text, "/ask x");
    one.end().await;
}

#[tokio::test]
async fn a_new_socket_is_open_before_the_old_one_goes() {
    let one = Listening::start().await;
    one.workspace.announce("warning");
    one.workspace.sockets(2, 2).await;
    let late = one
        .workspace
        .message("D0ADA", "U0ADA", "on the old one", json!({}));
    let late = one.workspace.deliver_on_oldest("events_api", late);
    one.workspace.acked(&late).await;
    one.workspace.close_oldest();
    one.workspace.sockets(2, 1).await;
    let next = one.say("on the new one");
    one.workspace.acked(&next).await;
    assert_eq!(one.sink.heard().len(), 2);
    let stood = one.sink.stood();
    assert_eq!(
        stood,
        [ConnectionStatus::Connecting, ConnectionStatus::Connected],
        "it heard all the time"
    );
    one.end().await;
}

#[tokio::test]
async fn a_socket_that_breaks_is_opened_again() {
    let one = Listening::start().await;
    let before = one.say("before");
    one.workspace.acked(&before).await;
    one.workspace.close_oldest();
    one.workspace.sockets(1, 0).await;
    let between = one.say("between");
    one.workspace.sockets(2, 1).await;
    one.workspace.acked(&between).await;
    assert_eq!(one.sink.heard().len(), 2);
    let stood = one.sink.stood();
    assert!(
        matches!(stood[2], ConnectionStatus::Broken { .. }),
        "{stood:?}"
    );
    assert_eq!(stood.last(), Some(&ConnectionStatus::Connected));
    one.end().await;
}

#[tokio::test]
async fn pings_are_answered_and_rubbish_is_passed_over() {
    let one = Listening::start().await;
    one.workspace.ping();
    one.workspace.ponged(1).await;
    one.workspace.say("not json");
    one.workspace.say("{\"type\":\"hello\"}");
    one.workspace.say("[]");
    let next = one.say("still here");
    one.workspace.acked(&next).await;
    one.workspace.sockets(1, 1).await;
    one.end().await;
}

#[tokio::test]
async fn credentials_that_are_not_good_end_it_for_good() {
    for (bot, app) in [
        ("xoxb-wrong", fake::APP_TOKEN),
        (fake::BOT_TOKEN, "xapp-wrong"),
        (fake::BOT_TOKEN, fake::BOT_TOKEN),
    ] {
        let workspace = Workspace::start().await;
        let mode = EventDelivery::Socket {
            app_token: Secret::new(app),
        };
        let slack = slack_at(workspace.api(), bot, mode);
        let listening = Listening::with(workspace, slack);
        let ended = listening.task.await.unwrap().unwrap_err();
        let ChannelError::Refused(why) = ended else {
            panic!("{ended:?}");
        };
        assert!(!why.contains("canary") && !why.contains("wrong"), "{why}");
    }
    let one = Listening::start().await;
    one.workspace.announce("link_disabled");
    let ended = one.task.await.unwrap();
    assert!(matches!(ended, Err(ChannelError::Refused(_))), "{ended:?}");
}

#[tokio::test]
async fn trouble_on_the_way_in_is_tried_again() {
    let (workspace, slack) = start(socket_mode()).await;
    workspace.fail("apps.connections.open", fake::Failure::Status(502));
    let listening = Listening::with(workspace, slack);
    listening.workspace.sockets(1, 1).await;
    let heard = listening.say("hi");
    listening.workspace.acked(&heard).await;
    let stood = listening.sink.stood();
    assert!(
        matches!(stood[1], ConnectionStatus::Broken { .. }),
        "{stood:?}"
    );
    listening.end().await;
}

#[tokio::test]
async fn a_ticket_never_shows_when_a_socket_is_refused() {
    let (workspace, slack) = start(socket_mode()).await;
    let token = Secret::new(fake::APP_TOKEN);
    let opened = slack.open_socket(&token).await;
    assert!(opened.is_ok(), "control");
    let gone = slack_at(
        "http://127.0.0.1:9/api".parse().unwrap(),
        fake::BOT_TOKEN,
        socket_mode(),
    );
    let error = match gone.open_socket(&token).await {
        Ok(_) => panic!("nobody listens there"),
        Err(end) => format!("{end:?}"),
    };
    assert!(
        !error.contains("canary") && !error.contains("ticket"),
        "{error}"
    );
    drop(workspace);
}

#[tokio::test]
async fn a_socket_on_which_nobody_answers_is_left() {
    let one = Listening::start().await;
    one.workspace.mute();
    tokio::time::pause();
    let why = one
        .sink
        .until(|pages| match pages.stood.last() {
            Some(ConnectionStatus::Broken { why }) => Some(why.clone()),
            _ => None,
        })
        .await;
    tokio::time::resume();
    assert!(why.contains("stopped responding"), "{why}");
    one.workspace.sockets(2, 2).await;
    let next = one.say("there again");
    one.workspace.acked(&next).await;
    one.end().await;
}

#[tokio::test]
async fn names_that_are_slow_to_come_keep_nothing_back() {
    let one = Listening::start().await;
    one.workspace.fail("users.info", fake::Failure::Hang);
    let first = one.say("hi");
    one.workspace.acked(&first).await;
    let heard = one.sink.heard();
    assert_eq!(heard[0].place.sender.as_deref(), Some("U0ADA"));
    assert_eq!(heard[0].place.sender_name, None);
    one.end().await;
}
