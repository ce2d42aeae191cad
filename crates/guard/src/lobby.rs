//! Bounds unauthenticated connections; the oldest is evicted when there are too many.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::throttle::canonical;

/// Bounds connections that have not authenticated yet, for each address and in total.
///
/// A new connection always gets a seat: when there is none, the *oldest* waiting connection is
/// evicted. Refusing newcomers instead would let anyone block everyone else with silent connections.
/// An honest client needs a seat for one round trip, so it loses it only to an attacker who opens as
/// many connections as there are seats within that time.
///
/// When the total is reached, the address with the most seats loses one, so that an address with
/// few connections is not evicted in favour of one with many.
pub struct Lobby {
    total: usize,
    per_address: usize,
    inner: Mutex<Inner>,
    evictions: AtomicU64,
}

#[derive(Default)]
struct Inner {
    next: u64,
    /// Keyed by order of arrival.
    waiting: BTreeMap<u64, WaitingConnection>,
}

struct WaitingConnection {
    address: IpAddr,
    evicted: CancellationToken,
}

impl Lobby {
    /// A lobby with `total` seats, at most `per_address` of them for one address.
    pub fn new(total: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            total: total.max(1),
            per_address: per_address.max(1),
            inner: Mutex::default(),
            evictions: AtomicU64::new(0),
        })
    }

    /// Takes a seat for a connection of `address`.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Seat {
        self.seat(address, self.per_address)
    }

    /// Like [`enter`](Self::enter) for a connection that carries requests of many clients, such as a
    /// trusted proxy's: only the total applies.
    pub fn enter_shared(self: &Arc<Self>, address: IpAddr) -> Seat {
        self.seat(address, self.total)
    }

    fn seat(self: &Arc<Self>, address: IpAddr, per_address: usize) -> Seat {
        let address = canonical(address);
        let mut inner = self.inner();
        if inner.count(address) >= per_address {
            self.evict(&mut inner, address);
        } else if inner.waiting.len() >= self.total {
            let busiest = inner.busiest();
            self.evict(&mut inner, busiest.unwrap_or(address));
        }
        let number = inner.next;
        inner.next += 1;
        let evicted = CancellationToken::new();
        let waiting = WaitingConnection {
            address,
            evicted: evicted.clone(),
        };
        inner.waiting.insert(number, waiting);
        Seat {
            lobby: self.clone(),
            number,
            evicted,
            has_asked: AtomicBool::new(false),
            is_admitted: AtomicBool::new(false),
        }
    }

    fn evict(&self, inner: &mut Inner, address: IpAddr) {
        let mut waiting = inner.waiting.iter();
        let oldest = waiting.find(|(_, one)| one.address == address);
        let Some(number) = oldest.map(|(number, _)| *number) else {
            return;
        };
        if let Some(gone) = inner.waiting.remove(&number) {
            gone.evicted.cancel();
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of waiting connections.
    pub fn waiting(&self) -> usize {
        self.inner().waiting.len()
    }

    /// Number of evictions so far.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count(&self, address: IpAddr) -> usize {
        let waiting = self.waiting.values();
        waiting.filter(|one| one.address == address).count()
    }

    /// The address with the most seats; if tied, the one waiting longest.
    fn busiest(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
        for (number, one) in &self.waiting {
            counts.entry(one.address).or_insert((0, *number)).0 += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|(_, (count, first))| (*count, std::cmp::Reverse(*first)));
        most.map(|(address, _)| address)
    }
}

/// A connection's seat in a [`Lobby`], until it is admitted or dropped.
pub struct Seat {
    lobby: Arc<Lobby>,
    number: u64,
    evicted: CancellationToken,
    has_asked: AtomicBool,
    is_admitted: AtomicBool,
}

impl Seat {
    /// Records that a request arrived on this connection.
    pub fn asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// Whether a request arrived on this connection.
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// Marks the connection as authenticated: it is no longer evicted and its seat is free.
    pub fn admitted(&self) {
        // A connection evicted a moment ago is already closing; it must not become admitted.
        if self.lobby.inner().waiting.remove(&self.number).is_some() {
            self.is_admitted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it is authenticated.
    pub fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Relaxed)
    }

    /// Completes when this connection is evicted; never for an admitted one.
    pub fn evicted(&self) -> WaitForCancellationFutureOwned {
        self.evicted.clone().cancelled_owned()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.lobby.inner().waiting.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn evicted(seats: &[Seat]) -> Vec<usize> {
        let gone = |(at, seat): (usize, &Seat)| seat.evicted.is_cancelled().then_some(at);
        seats.iter().enumerate().filter_map(gone).collect()
    }

    #[test]
    fn the_oldest_of_an_address_gives_way_to_its_newest() {
        let lobby = Lobby::new(10, 3);
        let seats: Vec<Seat> = (0..5).map(|_| lobby.enter(ip(1))).collect();
        assert_eq!(evicted(&seats), [0, 1]);
        assert_eq!((lobby.waiting(), lobby.evictions()), (3, 2));
    }

    #[test]
    fn when_all_seats_are_taken_the_address_with_most_gives_one_up() {
        let lobby = Lobby::new(6, 5);
        let quiet = lobby.enter(ip(2));
        let seats: Vec<Seat> = (0..5).map(|_| lobby.enter(ip(1))).collect();
        let third = lobby.enter(ip(3));
        assert_eq!(evicted(&seats), [0]);
        assert_eq!(evicted(&[quiet, third]), [0; 0]);
        assert_eq!(lobby.waiting(), 4, "two left when they were dropped");
    }

    #[test]
    fn whoever_is_admitted_frees_the_seat_and_is_never_evicted() {
        let lobby = Lobby::new(2, 2);
        let known = lobby.enter(ip(1));
        known.admitted();
        assert!(known.is_admitted());
        let seats: Vec<Seat> = (0..4).map(|_| lobby.enter(ip(1))).collect();
        assert_eq!(evicted(&seats), [0, 1]);
        assert!(!known.evicted.is_cancelled());
    }

    #[test]
    fn whoever_was_evicted_is_not_admitted_afterwards() {
        let lobby = Lobby::new(1, 1);
        let late = lobby.enter(ip(1));
        let next = lobby.enter(ip(1));
        late.admitted();
        assert!(!late.is_admitted() && late.evicted.is_cancelled());
        next.admitted();
        assert!(next.is_admitted(), "the control");
    }

    #[test]
    fn a_shared_connection_is_bounded_by_the_total_only() {
        let lobby = Lobby::new(4, 1);
        let seats: Vec<Seat> = (0..4).map(|_| lobby.enter_shared(ip(1))).collect();
        assert_eq!(evicted(&seats), [0; 0]);
        let own = [lobby.enter(ip(2)), lobby.enter(ip(2))];
        assert_eq!(evicted(&seats), [0]);
        assert_eq!(evicted(&own), [0]);
    }

    #[test]
    fn hosts_of_one_64_share_their_seats() {
        let lobby = Lobby::new(10, 1);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let seats = [
            lobby.enter(address("2001:db8::1")),
            lobby.enter(address("2001:db8::2")),
            lobby.enter(address("2001:db8:0:1::1")),
        ];
        assert_eq!(evicted(&seats), [0]);
    }
}
