//! A proxy between a node and its gateway that knows where one frame ends and the next begins,
//! and cuts the connection between the two it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Which way frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the node to the gateway.
    Up,
    /// From the gateway to the node.
    Down,
}

/// What is done instead of passing the next frame on.
pub type Deed = Box<dyn FnOnce() + Send>;

/// A proxy that counts frames. Pings and pongs come when they like and do not count.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    up: usize,
    down: usize,
    plan: Option<Plan>,
    happened: bool,
    /// The test is over.
    closed: bool,
    /// How many connections there were, and how many of them pass nothing on any more.
    connections: usize,
    silent: usize,
    /// The ends of connections that stand, to be cut from outside.
    open: Vec<TcpStream>,
}

struct Plan {
    way: Way,
    after: usize,
    deed: Option<Deed>,
}

impl Proxy {
    /// A proxy to the gateway at `to`.
    pub fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for node in listener.incoming().map_while(Result::ok) {
                if shared.lock().expect("no panic while held").closed {
                    return;
                }
                let Ok(gateway) = TcpStream::connect(to) else {
                    continue; // it is being restarted; the node dials again
                };
                carry(&node, &gateway, &shared);
            }
        });
        Self { address, state }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    /// From now on, cuts after so many frames that way; `deed` is done at that moment.
    pub fn cut_after(&self, frames: usize, way: Way, deed: Option<Deed>) {
        let mut state = self.state();
        (state.up, state.down) = (0, 0);
        state.plan = Some(Plan {
            way,
            after: frames,
            deed,
        });
    }

    /// How many frames went this way.
    pub fn count(&self, way: Way) -> usize {
        let state = self.state();
        match way {
            Way::Up => state.up,
            Way::Down => state.down,
        }
    }

    /// Whether the cut has happened.
    pub fn has_cut(&self) -> bool {
        self.state().happened
    }

    /// The connections that stand stay open, and nothing goes over them any more.
    pub fn go_silent(&self) {
        let mut state = self.state();
        state.silent = state.connections;
    }

    /// Cuts every connection now.
    pub fn cut_now(&self) {
        for end in self.state().open.drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            state.closed = true;
        }
        self.cut_now();
        let _ = TcpStream::connect(self.address); // wakes whoever waits for connections
    }
}

fn carry(node: &TcpStream, gateway: &TcpStream, state: &Arc<Mutex<State>>) {
    for stream in [node, gateway] {
        stream.set_nodelay(true).expect("no delay");
    }
    let both = || [node, gateway].map(|stream| stream.try_clone().expect("the same stream"));
    let number = {
        let mut state = state.lock().expect("no panic while held");
        state.open.extend(both());
        state.connections += 1;
        state.connections
    };
    for way in [Way::Up, Way::Down] {
        let [node, gateway] = both();
        let (from, to) = match way {
            Way::Up => (node, gateway),
            Way::Down => (gateway, node),
        };
        let state = state.clone();
        std::thread::spawn(move || {
            let ends = [from.try_clone(), to.try_clone()];
            let _ = pass_on(from, to, way, number, &state); // however it ends, it ends
            for end in ends.into_iter().flatten() {
                let _ = end.shutdown(Shutdown::Both);
            }
        });
    }
}

/// Passes frames on until the connection ends, or is to be cut.
fn pass_on(
    from: TcpStream,
    mut to: TcpStream,
    way: Way,
    number: usize,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    let mut from = BufReader::with_capacity(512 * 1024, from);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if from.read_until(b'\n', &mut head)? == 0 {
            return Ok(());
        }
    }
    to.write_all(&head)?;
    loop {
        let (frame, counts) = frame(&mut from)?;
        if number <= state.lock().expect("no panic while held").silent {
            continue;
        }
        if counts {
            let deed = {
                let mut state = state.lock().expect("no panic while held");
                let State {
                    up,
                    down,
                    plan,
                    happened,
                    ..
                } = &mut *state;
                let count = match way {
                    Way::Up => up,
                    Way::Down => down,
                };
                let due = plan
                    .as_ref()
                    .is_some_and(|plan| plan.way == way && plan.after == *count);
                if due {
                    *happened = true;
                    plan.take().map(|plan| plan.deed)
                } else {
                    *count += 1;
                    None
                }
            };
            if let Some(deed) = deed {
                if let Some(deed) = deed {
                    deed();
                }
                return Ok(());
            }
        }
        to.write_all(&frame)?;
    }
}

/// The next whole frame, and whether it carries something.
fn frame(from: &mut impl Read) -> std::io::Result<(Vec<u8>, bool)> {
    let mut frame = vec![0; 2];
    from.read_exact(&mut frame)?;
    let (opcode, masked) = (frame[0] & 0x0f, frame[1] & 0x80 != 0);
    let more = match frame[1] & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mut length = u64::from(frame[1] & 0x7f);
    if more > 0 {
        let at = frame.len();
        frame.resize(at + more, 0);
        from.read_exact(&mut frame[at..])?;
        let bytes = frame[at..].iter();
        length = bytes.fold(0, |length, byte| length << 8 | u64::from(*byte));
    }
    let rest = usize::try_from(length).expect("a small frame") + if masked { 4 } else { 0 };
    let at = frame.len();
    frame.resize(at + rest, 0);
    from.read_exact(&mut frame[at..])?;
    Ok((frame, opcode < 8))
}
