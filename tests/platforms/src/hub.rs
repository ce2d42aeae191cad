//! What fakes that are asked by HTTP have in common: listening, faults on demand, the journal.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::{Journal, Recorded};

/// The largest request.
const MOST: usize = 128 * 1024 * 1024;

/// How a request goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It goes well after all.
    None,
    /// It is answered with this, and nothing is done.
    Answer {
        /// The status.
        status: u16,
        /// More headers.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// The connection ends without an answer, and nothing was done.
    Drop,
    /// It is done, and the connection ends without an answer.
    DoneAndDropped,
    /// There is never an answer, and nothing is done.
    Hang,
    /// It is done, and answered once this is true.
    Held(watch::Receiver<bool>),
}

impl Fault {
    /// An answer without headers.
    pub fn answer(status: u16, body: impl Into<String>) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }
}

/// A request as it arrived.
pub(crate) struct Asked {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    pub fn bearer(&self) -> &str {
        self.header("authorization")
            .strip_prefix("Bearer ")
            .unwrap_or("")
    }

    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// An answer.
pub(crate) struct Told {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub content_type: String,
    pub body: Bytes,
}

impl Told {
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: "application/json".to_owned(),
            body: Bytes::from(body.to_string()),
        }
    }
}

/// A platform.
pub(crate) trait Platform: Send + Sync + 'static {
    const NAME: &'static str;
    fn journal(&self) -> &Journal;
    fn faults(&self) -> &Faults;
    /// A path as the published description names it.
    fn named(&self, path: &str) -> String;
    /// The fields of a request.
    fn fields(&self, asked: &Asked) -> Value {
        asked.json().unwrap_or_default()
    }
    /// Waits before a request is answered, and may answer it instead.
    fn hold<'a>(
        &'a self,
        _asked: &'a Asked,
    ) -> Pin<Box<dyn Future<Output = Option<Told>> + Send + 'a>> {
        Box::pin(std::future::ready(None))
    }
    /// Answers one request.
    fn answer(&self, asked: &Asked) -> Told;
}

/// When a request is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It arrived, and nothing was done.
    Before,
    /// It was done, and is not answered yet.
    After,
}

/// Whoever looks at requests by their path, and says whether they go on; else there is never an
/// answer.
pub type Watcher = Box<dyn Fn(&str, Moment) -> bool + Send + Sync>;

/// Faults that are to happen, each once, by the end of the path; and whoever looks on.
#[derive(Default)]
pub(crate) struct Faults {
    planned: Mutex<VecDeque<(String, Fault)>>,
    watcher: OnceLock<Watcher>,
}

impl Faults {
    pub fn plan(&self, path: &str, fault: Fault) {
        let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((path.to_owned(), fault));
    }

    /// Has somebody look at every request from now on; the first who does stays.
    pub fn watch(&self, watcher: Watcher) {
        let _ = self.watcher.set(watcher);
    }

    async fn goes_on(&self, path: &str, when: Moment) {
        let watcher = self.watcher.get();
        if !watcher.is_none_or(|watcher| watcher(path, when)) {
            std::future::pending::<()>().await;
        }
    }

    fn take(&self, path: &str) -> Option<Fault> {
        let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(end, _)| path.ends_with(end))?;
        all.remove(at).map(|(_, fault)| fault)
    }
}

/// Listens on loopback until the runtime ends, and says where.
pub(crate) async fn listen<P: Platform>(platform: Arc<P>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port on loopback");
    let address = listener.local_addr().expect("an address");
    let app = Router::new()
        .fallback(serve::<P>)
        .layer(DefaultBodyLimit::disable())
        .with_state(platform);
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

fn serve<P: Platform>(
    State(platform): State<Arc<P>>,
    request: Request,
) -> Pin<Box<dyn Future<Output = Response> + Send>> {
    Box::pin(async move {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, MOST).await.unwrap_or_default();
        let asked = Asked {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body,
        };
        platform.faults().goes_on(&asked.path, Moment::Before).await;
        let fault = platform.faults().take(&asked.path);
        let told = match &fault {
            None | Some(Fault::None | Fault::DoneAndDropped | Fault::Held(_)) => {
                let instead = platform.hold(&asked).await;
                instead.unwrap_or_else(|| platform.answer(&asked))
            }
            Some(Fault::Answer {
                status,
                headers,
                body,
            }) => Told {
                headers: headers.clone(),
                body: Bytes::from(body.clone()),
                ..Told::json(*status, &Value::Null)
            },
            Some(Fault::Drop | Fault::Hang) => Told::json(0, &Value::Null),
        };
        platform.journal().keep(Recorded {
            platform: P::NAME,
            method: asked.method.to_string(),
            path: platform.named(&asked.path),
            content_type: asked.header("content-type").to_owned(),
            body: platform.fields(&asked),
            status: told.status,
        });
        platform.faults().goes_on(&asked.path, Moment::After).await;
        match fault {
            // The task of this connection ends here, and the line with it.
            Some(Fault::Drop | Fault::DoneAndDropped) => {
                std::panic::resume_unwind(Box::new("the line is cut"))
            }
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Held(mut go)) => {
                let _ = go.wait_for(|go| *go).await; // whoever held it may be gone
                response(told)
            }
            _ => response(told),
        }
    })
}

fn response(told: Told) -> Response {
    let mut response = Response::new(Body::from(told.body));
    *response.status_mut() = StatusCode::from_u16(told.status).expect("a status");
    let headers = response.headers_mut();
    let kind = told.content_type.parse().expect("a type");
    headers.insert("content-type", kind);
    for (name, value) in told.headers {
        headers.insert(name, value.parse().expect("a header"));
    }
    response
}

/// Posts to a webhook as a platform does, and gives status and body of the answer. It is JSON unless
/// the headers say otherwise.
pub(crate) async fn post(
    url: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> std::io::Result<(u16, String)> {
    let url = url::Url::parse(url).map_err(std::io::Error::other)?;
    let host = url.host_str().unwrap_or("127.0.0.1");
    let port = url.port_or_known_default().unwrap_or(80);
    let mut socket = TcpStream::connect((host, port)).await?;
    let target = &url[url::Position::BeforePath..];
    let mut head = format!(
        "POST {target} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\
         content-length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        head.push_str("content-type: application/json; charset=utf-8\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body).await?;
    let mut answer = Vec::new();
    socket.take(1024 * 1024).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let status = status.ok_or_else(|| std::io::Error::other("no answer"))?;
    Ok((status, body.to_owned()))
}
