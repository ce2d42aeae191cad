//! Bounds unauthenticated connections; the oldest is evicted when there are too many.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::throttle::canonical;

/// Bounds connections that have not authenticated yet, for each address and in total.
///
/// A new connection always gets a slot: when there is none, the *oldest* waiting connection is
/// evicted. Refusing newcomers instead would let anyone block everyone else with silent connections.
/// An honest client needs a slot for one round trip, so it loses it only to an attacker who opens as
/// many connections as there are slots within that time.
///
/// When the total is reached, the address with the most slots loses one, so that an address with
/// few connections is not evicted in favour of one with many.
pub struct PendingConnections {
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

impl PendingConnections {
    /// `total` slots, at most `per_address` of them for one address.
    pub fn new(total: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            total: total.max(1),
            per_address: per_address.max(1),
            inner: Mutex::default(),
            evictions: AtomicU64::new(0),
        })
    }

    /// Takes a slot for a connection of `address`.
    pub fn add(self: &Arc<Self>, address: IpAddr) -> PendingConnection {
        self.slot(address, self.per_address)
    }

    /// Like [`enter`](Self::enter) for a connection that carries requests of many clients, such as a
    /// trusted proxy's: only the total applies.
    pub fn add_shared(self: &Arc<Self>, address: IpAddr) -> PendingConnection {
        self.slot(address, self.total)
    }

    fn slot(self: &Arc<Self>, address: IpAddr, per_address: usize) -> PendingConnection {
        // By /64 for IPv6: one host has all addresses of it and could otherwise occupy every slot.
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
        PendingConnection {
            pending: self.clone(),
            number,
            evicted,
            has_request: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
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

    /// The address with the most slots; if tied, the one waiting longest.
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

/// A connection's slot in [`PendingConnections`], until it is authenticated or dropped.
pub struct PendingConnection {
    pending: Arc<PendingConnections>,
    number: u64,
    evicted: CancellationToken,
    has_request: AtomicBool,
    is_authenticated: AtomicBool,
}

impl PendingConnection {
    /// Records that a request arrived on this connection.
    pub fn request_received(&self) {
        self.has_request.store(true, Ordering::Relaxed);
    }

    /// Whether a request arrived on this connection.
    pub fn has_request(&self) -> bool {
        self.has_request.load(Ordering::Relaxed)
    }

    /// Marks the connection as authenticated: it is no longer evicted and its slot is free.
    pub fn authenticated(&self) {
        // A connection evicted a moment ago is already closing; it must not become authenticated.
        if self.pending.inner().waiting.remove(&self.number).is_some() {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it is authenticated.
    pub fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Relaxed)
    }

    /// Completes when this connection is evicted; never for an authenticated one.
    pub fn evicted(&self) -> WaitForCancellationFutureOwned {
        self.evicted.clone().cancelled_owned()
    }
}

impl Drop for PendingConnection {
    fn drop(&mut self) {
        self.pending.inner().waiting.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn evicted(slots: &[PendingConnection]) -> Vec<usize> {
        let gone =
            |(at, slot): (usize, &PendingConnection)| slot.evicted.is_cancelled().then_some(at);
        slots.iter().enumerate().filter_map(gone).collect()
    }

    #[test]
    fn the_oldest_connection_of_an_address_is_evicted_for_its_newest() {
        let pending = PendingConnections::new(10, 3);
        let slots: Vec<PendingConnection> = (0..5).map(|_| pending.add(ip(1))).collect();
        assert_eq!(evicted(&slots), [0, 1]);
        assert_eq!((pending.waiting(), pending.evictions()), (3, 2));
    }

    #[test]
    fn at_the_total_limit_the_address_with_most_connections_loses_one() {
        let pending = PendingConnections::new(6, 5);
        let quiet = pending.add(ip(2));
        let slots: Vec<PendingConnection> = (0..5).map(|_| pending.add(ip(1))).collect();
        let third = pending.add(ip(3));
        assert_eq!(evicted(&slots), [0]);
        assert_eq!(evicted(&[quiet, third]), [0; 0]);
        assert_eq!(pending.waiting(), 4, "two left when they were dropped");
    }

    #[test]
    fn an_authenticated_connection_frees_its_slot_and_is_never_evicted() {
        let pending = PendingConnections::new(2, 2);
        let known = pending.add(ip(1));
        known.authenticated();
        assert!(known.is_authenticated());
        let slots: Vec<PendingConnection> = (0..4).map(|_| pending.add(ip(1))).collect();
        assert_eq!(evicted(&slots), [0, 1]);
        assert!(!known.evicted.is_cancelled());
    }

    #[test]
    fn an_evicted_connection_cannot_be_authenticated_afterwards() {
        let pending = PendingConnections::new(1, 1);
        let late = pending.add(ip(1));
        let next = pending.add(ip(1));
        late.authenticated();
        assert!(!late.is_authenticated() && late.evicted.is_cancelled());
        next.authenticated();
        assert!(next.is_authenticated(), "the control");
    }

    #[test]
    fn a_shared_connection_is_bounded_by_the_total_only() {
        let pending = PendingConnections::new(4, 1);
        let slots: Vec<PendingConnection> = (0..4).map(|_| pending.add_shared(ip(1))).collect();
        assert_eq!(evicted(&slots), [0; 0]);
        let own = [pending.add(ip(2)), pending.add(ip(2))];
        assert_eq!(evicted(&slots), [0]);
        assert_eq!(evicted(&own), [0]);
    }

    #[test]
    fn hosts_of_one_64_share_their_slots() {
        let pending = PendingConnections::new(10, 1);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let slots = [
            pending.add(address("2001:db8::1")),
            pending.add(address("2001:db8::2")),
            pending.add(address("2001:db8:0:1::1")),
        ];
        assert_eq!(evicted(&slots), [0]);
    }
}
