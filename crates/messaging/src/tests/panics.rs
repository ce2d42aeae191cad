//! What panics costs its own message at most: the next one, and every other chat, go on.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_channels::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, EventSink, Inbound, Media,
    OutgoingMessage, SendError, SendReceipt, WebhookOutcome, WebhookRefusal, WebhookRequest,
};
use manyhands_config::ChannelAccount;
use manyhands_core::ChatRef;
use manyhands_store::OutboxState;
use tokio_util::sync::CancellationToken;

use super::fixture::{Stage, direct, heard_in_sessions, open_to_all, panics_quietly, until};

/// A channel that panics over messages with one word, and the first time it listens.
struct Shaky {
    word: &'static str,
    abilities: ChannelCapabilities,
    arrived: Mutex<Vec<String>>,
    listened: AtomicUsize,
    listens: AtomicBool,
}

impl Shaky {
    fn over(word: &'static str) -> Arc<Self> {
        Arc::new(Self {
            word,
            abilities: ChannelCapabilities {
                edits: false,
                typing: false,
                reactions: false,
                buttons: false,
                idempotent: false,
                file_bytes: 0,
                caption: 0,
                per_chat: Duration::ZERO,
                per_group: Duration::ZERO,
                overall: Duration::ZERO,
                per_edit: Duration::ZERO,
            },
            arrived: Mutex::default(),
            listened: AtomicUsize::new(0),
            listens: AtomicBool::new(false),
        })
    }

    fn got(&self, mark: &str) -> bool {
        let arrived = self.arrived.lock().unwrap();
        arrived.iter().any(|text| text.contains(mark))
    }
}

#[async_trait]
impl Channel for Shaky {
    fn name(&self) -> &str {
        "line"
    }
    fn account(&self) -> &str {
        "default"
    }
    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }
    async fn me(&self) -> Result<BotIdentity, SendError> {
        Ok(BotIdentity::default())
    }
    async fn listen(
        &self,
        _: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let before = self.listened.fetch_add(1, SeqCst);
        if before == 0 {
            panics_quietly();
        }
        self.listens.store(true, SeqCst);
        stop.cancelled().await;
        Ok(())
    }
    fn hook(&self, _: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        unreachable!("nothing comes by webhook")
    }
    async fn send(
        &self,
        _: &str,
        message: &OutgoingMessage,
        _: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let text = serde_json::to_string(&message.content).unwrap();
        if text.contains(self.word) {
            panics_quietly();
        }
        self.arrived.lock().unwrap().push(text);
        Ok(SendReceipt::default())
    }
    fn pieces(&self, text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }
    async fn typing(&self, _: &ChatRef) -> Result<(), SendError> {
        Ok(())
    }
    async fn acknowledge_button(&self, _: &Inbound, _: &str) -> Result<(), SendError> {
        Ok(())
    }
    async fn fetch(&self, _: &Media, _: u64) -> Result<Bytes, SendError> {
        Ok(Bytes::new())
    }
}

#[tokio::test]
async fn a_message_whose_sending_panics_is_shown_and_its_chat_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let stage = Stage::new(&home.path().join("home"), open_to_all()).await;
    let shaky = Shaky::over("msg-1");
    let (chats, channel): (_, Arc<dyn Channel>) = (stage.chats.clone(), shaky.clone());
    let sending = tokio::spawn(async move { chats.send_all("line", "default", &channel).await });
    stage
        .hear(vec![
            direct("ann", "e1", "msg-1"),
            direct("bob", "e2", "msg-2"),
        ])
        .await;
    until("the other chat's answer arrives", async || {
        shaky.got("msg-2")
    })
    .await;
    let records = stage.store.chats();
    // Sent once more in case it did not arrive, as the settings say; then it is left to the owner.
    until("what became of it is on record", async || {
        records.undelivered().await.unwrap().unknown == 2
    })
    .await;
    let unknown = records
        .outbox(Some(OutboxState::Unknown), 10)
        .await
        .unwrap();
    for row in unknown {
        let why = row.why.unwrap_or_default();
        assert!(
            row.body.contains("msg-1") && why.contains("internal error"),
            "{why}"
        );
        assert!(!why.contains("secret-detail"), "{why}");
    }
    stage.hear(vec![direct("ann", "e3", "msg-3")]).await;
    until("the next answer in its chat arrives", async || {
        shaky.got("msg-3")
    })
    .await;
    assert!(!shaky.got("msg-1"));
    sending.abort();
    stage.stop().await;
}

#[tokio::test]
async fn an_event_whose_work_panics_is_tried_again_and_becomes_one_turn() {
    let home = tempfile::tempdir().unwrap();
    let stage = Stage::new(&home.path().join("home"), open_to_all()).await;
    let shaky = Shaky::over("nothing");
    let (chats, channel): (_, Arc<dyn Channel>) = (stage.chats.clone(), shaky.clone());
    let sending = tokio::spawn(async move { chats.send_all("line", "default", &channel).await });
    stage.panics.store(1, SeqCst);
    stage.hear(vec![direct("ann", "e1", "msg-1")]).await;
    until("it panicked", async || stage.panics.load(SeqCst) == 0).await;
    // Control: another chat does not wait for it.
    stage.hear(vec![direct("bob", "e2", "msg-2")]).await;
    until("both are answered", async || {
        shaky.got("msg-1") && shaky.got("msg-2")
    })
    .await;
    until("nothing is left", async || stage.at_rest().await).await;
    let heard = heard_in_sessions(&stage.store).await;
    let times = heard.iter().filter(|text| text.contains("msg-1")).count();
    assert_eq!(times, 1, "{heard:?}");
    sending.abort();
    stage.stop().await;
}

#[tokio::test]
async fn a_channel_that_panics_while_it_listens_listens_again() {
    let home = tempfile::tempdir().unwrap();
    let settings = open_to_all();
    let stage = Stage::new(&home.path().join("home"), settings.clone()).await;
    let shaky = Shaky::over("nothing");
    let (chats, channel): (_, Arc<dyn Channel>) = (stage.chats.clone(), shaky.clone());
    let running = Arc::new(chats.new_account(ChannelAccount::default(), &settings));
    let stop = running.stop.clone();
    let listening =
        tokio::spawn(async move { chats.listen("line", "default", &channel, &running).await });
    until("it listens", async || shaky.listens.load(SeqCst)).await;
    assert_eq!(shaky.listened.load(SeqCst), 2);
    stop.cancel();
    listening.await.unwrap();
    stage.stop().await;
}
