//! WebSockets of platforms.

use manyhands_guard::{Egress, EgressError, HeaderMap};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// Maximum message size: platforms send far smaller ones.
pub const MOST: usize = 4 * 1024 * 1024;

/// An upgraded connection.
pub trait Raw: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Raw for T {}

/// A WebSocket to a platform.
pub type PlatformSocket = WebSocketStream<Box<dyn Raw>>;

/// A WebSocket message.
pub use tokio_tungstenite::tungstenite::Message as Frame;

/// Opens a WebSocket at `url` through the egress client. Messages are limited to `most` bytes, and the
/// write buffer is bounded too.
pub async fn open(
    egress: &Egress,
    url: &str,
    headers: HeaderMap,
    most: usize,
) -> Result<PlatformSocket, EgressError> {
    let raw: Box<dyn Raw> = Box::new(egress.socket(url, headers).await?);
    let config = WebSocketConfig::default()
        .max_message_size(Some(most))
        .max_frame_size(Some(most))
        .max_write_buffer_size(MOST);
    Ok(WebSocketStream::from_raw_socket(raw, Role::Client, Some(config)).await)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{SinkExt, StreamExt};
    use manyhands_guard::{EgressPolicy, SystemLookup};
    use tokio::net::TcpListener;
    use tokio_tungstenite::accept_async;

    use super::*;

    async fn far_end(size: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = accept_async(stream).await.unwrap();
            let _ = socket.send(Frame::text("x".repeat(size))).await;
            while let Some(Ok(_)) = socket.next().await {}
        });
        url
    }

    #[tokio::test]
    async fn a_message_larger_than_allowed_breaks_the_socket() {
        let policy = EgressPolicy {
            allow_private: vec!["127.0.0.0/8".parse().unwrap()],
            ..EgressPolicy::default()
        };
        let egress = Egress::new(policy, Arc::new(SystemLookup));
        for (size, fits) in [(1_000, true), (1_001, false)] {
            let url = far_end(size).await;
            let mut socket = open(&egress, &url, HeaderMap::new(), 1_000).await.unwrap();
            let heard = socket.next().await.unwrap();
            assert_eq!(heard.is_ok(), fits, "{size}: {heard:?}");
        }
    }
}
