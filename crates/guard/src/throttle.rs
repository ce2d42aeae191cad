//! Counts failed logins per party.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_core::Clock;

/// The address that is counted: a mapped IPv6 address counts as its IPv4 address, and an IPv6 host
/// as its /64, since one host owns all of it.
pub fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Slows down parties that repeatedly fail to log in.
///
/// Consulted only *after* a credential was found to be wrong. It must never precede the check: many
/// parties share an address (a proxy, a NAT, every program on 127.0.0.1), so a limit applied before
/// the check would let any of them lock out the others. Guessing is hopeless because of the size of
/// the credentials (99 random bits and more), not because of this count; the count makes a
/// misconfigured client back off and keeps refusals cheap.
///
/// Each party `K` has `burst` attempts; a failure takes one and time restores them. Memory is
/// bounded: parties with attempts left are forgotten first.
pub struct LoginThrottle<K> {
    clock: Arc<dyn Clock>,
    burst: f64,
    refill_per_second: f64,
    max_entries: usize,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tries: f64,
    at: Duration,
}

impl<K: Eq + Hash> LoginThrottle<K> {
    /// Allows `burst` failures at once and `refill_per_minute` per minute after that, remembering at
    /// most `max_entries` parties.
    pub fn new(
        clock: Arc<dyn Clock>,
        burst: u32,
        refill_per_minute: u32,
        max_entries: usize,
    ) -> Self {
        Self {
            clock,
            burst: f64::from(burst.max(1)),
            refill_per_second: f64::from(refill_per_minute.max(1)) / 60.0,
            max_entries: max_entries.max(2),
            buckets: Mutex::default(),
        }
    }

    /// Counts a failed login of `party`. The error is the time it has to wait until its next failure
    /// counts as an attempt; failing during the wait does not extend it.
    pub fn failed(&self, party: K) -> Result<(), Duration> {
        let now = self.clock.monotonic();
        let mut buckets = self.buckets();
        if !buckets.contains_key(&party) && buckets.len() >= self.max_entries {
            self.make_room(&mut buckets, now);
        }
        let full = Bucket {
            tries: self.burst,
            at: now,
        };
        let bucket = buckets.entry(party).or_insert(full);
        let tries = self.tries(bucket, now);
        if tries < 1.0 {
            let wait = (1.0 - tries) / self.refill_per_second;
            return Err(Duration::from_secs_f64(wait).max(Duration::from_millis(1)));
        }
        *bucket = Bucket {
            tries: tries - 1.0,
            at: now,
        };
        Ok(())
    }

    /// Forgets at least half of the parties, so that a client failing under ever new names pays for
    /// the scan once in thousands of failures.
    fn make_room(&self, buckets: &mut HashMap<K, Bucket>, now: Duration) {
        buckets.retain(|_, bucket| self.tries(bucket, now) < 1.0);
        if buckets.len() > self.max_entries / 2 {
            buckets.clear();
        }
    }

    fn tries(&self, bucket: &Bucket, now: Duration) -> f64 {
        let passed = now.saturating_sub(bucket.at).as_secs_f64();
        passed
            .mul_add(self.refill_per_second, bucket.tries)
            .min(self.burst)
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<K, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, Timestamp};

    fn throttle(max: usize) -> (Arc<ManualClock>, LoginThrottle<u32>) {
        let clock = Arc::new(ManualClock::at(Timestamp(0)));
        let throttle = LoginThrottle::new(clock.clone(), 3, 6, max);
        (clock, throttle)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_host_has_one_canonical_address() {
        assert_eq!(canonical(ip("::ffff:1.2.3.4")), ip("1.2.3.4"));
        assert_eq!(canonical(ip("1.2.3.4")), ip("1.2.3.4"));
        assert_eq!(canonical(ip("2001:db8:1:2:3:4:5:6")), ip("2001:db8:1:2::"));
        assert_ne!(canonical(ip("2001:db8:1:3::1")), ip("2001:db8:1:2::"));
        assert_eq!(canonical(ip("::1")), ip("::"));
    }

    #[test]
    fn attempts_are_limited_and_restored_over_time() {
        let (clock, throttle) = throttle(10);
        for _ in 0..3 {
            assert_eq!(throttle.failed(1), Ok(()));
        }
        let wait = Duration::from_secs(10);
        assert_eq!(throttle.failed(1), Err(wait));
        assert_eq!(throttle.failed(1), Err(wait), "failing on adds nothing");
        assert_eq!(throttle.failed(2), Ok(()), "another party has its own");
        clock.advance(Duration::from_millis(9_990));
        assert!(throttle.failed(1).is_err());
        clock.advance(Duration::from_millis(10));
        assert_eq!(throttle.failed(1), Ok(()));
        assert!(throttle.failed(1).is_err());
    }

    #[test]
    fn memory_is_bounded_and_waiting_parties_are_remembered() {
        let (_clock, throttle) = throttle(100);
        for _ in 0..3 {
            throttle.failed(u32::MAX).unwrap();
        }
        for party in 0..5_000 {
            assert_eq!(throttle.failed(party), Ok(()));
            assert!(throttle.buckets().len() <= 100);
        }
        assert!(throttle.failed(u32::MAX).is_err());
    }
}
