//! A web server that says what it is told to and counts whoever comes, down to the bare connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http::PATIENCE;

/// A request as the server heard it.
#[derive(Debug, Clone)]
pub struct Heard {
    pub method: String,
    /// Path and query.
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Heard {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn header_names(&self) -> Vec<String> {
        let names = self.headers.iter().map(|(key, _)| key.to_ascii_lowercase());
        names.collect()
    }

    /// Everything, to look for what must not be there.
    pub fn text(&self) -> String {
        format!("{self:?}")
    }

    fn read(stream: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut heard = Self {
            method,
            target,
            headers,
            body: String::new(),
        };
        let length = heard.header("content-length").map(str::parse);
        let mut body = vec![0; length.unwrap_or(Ok(0)).ok()?];
        stream.read_exact(&mut body).ok()?;
        heard.body = String::from_utf8_lossy(&body).into_owned();
        Some(heard)
    }
}

/// What the server answers.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    end: End,
}

/// What becomes of the connection after the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Close,
    /// It never said how much it would be.
    Unsaid,
    /// It promised this much more and goes.
    BreakOff(usize),
    /// It promised this much more and says nothing until the other side goes.
    Stall(usize),
}

impl Reply {
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let reply = Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            end: End::Close,
        };
        match kind {
            "" => reply,
            kind => reply.header("Content-Type", kind),
        }
    }

    pub fn ok(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, kind, body)
    }

    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::ok("text/plain; charset=utf-8", body)
    }

    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, "", "moved").header("Location", location)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Does not say how long the body is.
    pub fn unsaid(mut self) -> Self {
        self.end = End::Unsaid;
        self
    }

    /// Promises more than comes, and hangs up.
    pub fn breaks_off(mut self) -> Self {
        self.end = End::BreakOff(100);
        self
    }

    /// Promises more than comes, and keeps the line.
    pub fn stalls(mut self) -> Self {
        self.end = End::Stall(100);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Said\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = match self.end {
            End::Unsaid => None,
            End::Close => Some(self.body.len()),
            End::BreakOff(more) | End::Stall(more) => Some(self.body.len() + more),
        };
        if let Some(length) = length {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

type Answers = dyn Fn(&Heard) -> Reply + Send + Sync;

#[derive(Default)]
struct State {
    /// Who connected to which address, in order.
    came: Mutex<Vec<(SocketAddr, IpAddr)>>,
    grown: Condvar,
    /// Our own visits.
    own: Mutex<Vec<(SocketAddr, IpAddr)>>,
    heard: Mutex<Vec<Heard>>,
}

/// The server. It lives as long as the test.
pub struct Origin {
    addresses: Vec<SocketAddr>,
    state: Arc<State>,
}

impl Origin {
    /// A server on one address.
    pub fn on(ip: [u8; 4], answers: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> Self {
        Self::on_each(&[ip], answers)
    }

    /// A server on one port of several addresses.
    pub fn on_each(
        ips: &[[u8; 4]],
        answers: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let ips: Vec<IpAddr> = ips.iter().map(|ip| Ipv4Addr::from(*ip).into()).collect();
        Self::listen(&ips, None, Arc::new(answers))
    }

    /// A server on one address that speaks TLS.
    pub fn secure(
        ip: [u8; 4],
        tls: Arc<ServerConfig>,
        answers: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::listen(&[Ipv4Addr::from(ip).into()], Some(tls), Arc::new(answers))
    }

    /// A server that nobody may reach: on every loopback address the tests spell, and on
    /// `::1` where there is one, all on one port.
    pub fn canary() -> Self {
        let mut ips: Vec<IpAddr> = [[127, 0, 0, 1], [127, 1, 1, 1], [127, 255, 255, 254]]
            .map(|ip| Ipv4Addr::from(ip).into())
            .into();
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
            ips.push(Ipv6Addr::LOCALHOST.into());
        }
        Self::listen(&ips, None, Arc::new(|_: &Heard| Reply::text("canary")))
    }

    fn listen(ips: &[IpAddr], tls: Option<Arc<ServerConfig>>, answers: Arc<Answers>) -> Self {
        let listeners = (0..100)
            .find_map(|_| same_port(ips))
            .expect("a port that is free on every address");
        let state = Arc::new(State::default());
        let addresses = listeners
            .iter()
            .map(|listener| listener.local_addr().expect("an address"));
        let addresses = addresses.collect();
        for listener in listeners {
            let (state, answers, tls) = (state.clone(), answers.clone(), tls.clone());
            std::thread::spawn(move || accept(&listener, &state, &answers, tls.as_ref()));
        }
        Self { addresses, state }
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub fn port(&self) -> u16 {
        self.address().port()
    }

    /// Whether it is on `::1` too.
    pub fn speaks_ipv6(&self) -> bool {
        self.addresses.iter().any(SocketAddr::is_ipv6)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// How many connections came from others. A visit of our own behind them in each queue
    /// proves that none is still waiting to be seen.
    pub fn hits(&self) -> usize {
        let addresses = self.addresses.iter();
        addresses.map(|address| self.hits_at(address.ip())).sum()
    }

    /// The same for one of its addresses.
    pub fn hits_at(&self, ip: IpAddr) -> usize {
        let mut own = self.state.own.lock().expect("ours");
        // The system may give us the port of an earlier visitor, whom our own visit could not be told from.
        let (_visit, visitor) = loop {
            let earlier = self.state.came.lock().expect("visitors").clone();
            let visit = TcpStream::connect((ip, self.port())).expect("our own server");
            let visitor = (visit.local_addr().expect("an address"), ip);
            own.push(visitor);
            if !earlier.contains(&visitor) {
                break (visit, visitor);
            }
        };
        let came = self.state.came.lock().expect("visitors");
        let waited = self
            .state
            .grown
            .wait_timeout_while(came, PATIENCE, |came| !came.contains(&visitor));
        let (came, timeout) = waited.expect("visitors");
        assert!(!timeout.timed_out(), "it still listens");
        let at = |visits: &[(SocketAddr, IpAddr)]| visits.iter().filter(|v| v.1 == ip).count();
        at(&came) - at(&own)
    }

    /// The requests so far, in order.
    pub fn heard(&self) -> Vec<Heard> {
        self.state.heard.lock().expect("requests").clone()
    }

    /// The last request.
    #[track_caller]
    pub fn last(&self) -> Heard {
        self.heard().pop().expect("a request")
    }
}

/// Listeners on one port of every address; none when another program has it somewhere.
fn same_port(ips: &[IpAddr]) -> Option<Vec<TcpListener>> {
    let first = TcpListener::bind((ips[0], 0)).expect("an address of this machine");
    let port = first.local_addr().expect("an address").port();
    let mut listeners = vec![first];
    for ip in &ips[1..] {
        listeners.push(TcpListener::bind((*ip, port)).ok()?);
    }
    Some(listeners)
}

fn accept(
    listener: &TcpListener,
    state: &Arc<State>,
    answers: &Arc<Answers>,
    tls: Option<&Arc<ServerConfig>>,
) {
    let at = listener.local_addr().expect("an address").ip();
    for stream in listener.incoming().map_while(Result::ok) {
        let Ok(peer) = stream.peer_addr() else {
            continue;
        };
        state.came.lock().expect("visitors").push((peer, at));
        state.grown.notify_all();
        let (state, answers, tls) = (state.clone(), answers.clone(), tls.cloned());
        std::thread::spawn(move || match tls {
            Some(config) => {
                let Ok(connection) = ServerConnection::new(config) else {
                    return;
                };
                serve(StreamOwned::new(connection, stream), &state, &*answers);
            }
            None => serve(stream, &state, &*answers),
        });
    }
}

fn serve(stream: impl Read + Write, state: &State, answers: &Answers) {
    let mut stream = BufReader::new(stream);
    let Some(heard) = Heard::read(&mut stream) else {
        return;
    };
    state.heard.lock().expect("requests").push(heard.clone());
    let reply = answers(&heard);
    let _ = stream.get_mut().write_all(&reply.bytes()); // it may have heard enough
    let _ = stream.get_mut().flush();
    if matches!(reply.end, End::Stall(_)) {
        let _ = stream.read(&mut [0]); // until the other side goes
    }
}
