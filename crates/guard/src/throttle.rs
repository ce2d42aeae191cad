//! Failed logins, counted per address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_core::Clock;

/// The one spelling of an address that is counted: a mapped IPv6 address is the
/// IPv4 address it maps, and an IPv6 host is its /64, since one host has them all.
pub fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Slows down guessing: after a burst of failed logins an address must wait.
/// Every address is treated alike, loopback included, since a web page on this
/// machine arrives from there too.
///
/// Each address has `burst` tries; a failure takes one and time gives them back.
/// Memory is bounded: the address with the most tries left is forgotten first.
pub struct LoginThrottle {
    clock: Arc<dyn Clock>,
    burst: f64,
    refill_per_second: f64,
    max_entries: usize,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tries: f64,
    at: Duration,
}

impl LoginThrottle {
    /// Allows `burst` failures at once and `refill_per_minute` a minute after that,
    /// remembering at most `max_entries` addresses.
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
            max_entries: max_entries.max(1),
            buckets: Mutex::default(),
        }
    }

    /// Whether `address` may try to log in now; if not, how long it must wait.
    pub fn check(&self, address: IpAddr) -> Result<(), Duration> {
        let now = self.clock.monotonic();
        let Some(bucket) = self.buckets().get(&canonical(address)).copied() else {
            return Ok(());
        };
        let tries = self.tries(&bucket, now);
        if tries >= 1.0 {
            return Ok(());
        }
        let wait = (1.0 - tries) / self.refill_per_second;
        Err(Duration::from_secs_f64(wait).max(Duration::from_millis(1)))
    }

    /// Counts a failed login of `address`.
    pub fn failed(&self, address: IpAddr) {
        let now = self.clock.monotonic();
        let address = canonical(address);
        let mut buckets = self.buckets();
        if !buckets.contains_key(&address) && buckets.len() >= self.max_entries {
            self.make_room(&mut buckets, now);
        }
        let full = Bucket {
            tries: self.burst,
            at: now,
        };
        let bucket = buckets.entry(address).or_insert(full);
        // Never below zero: an attacker cannot lock an address out for longer than a refill.
        *bucket = Bucket {
            tries: (self.tries(bucket, now) - 1.0).max(0.0),
            at: now,
        };
    }

    fn make_room(&self, buckets: &mut HashMap<IpAddr, Bucket>, now: Duration) {
        buckets.retain(|_, bucket| self.tries(bucket, now) < self.burst);
        if buckets.len() < self.max_entries {
            return;
        }
        let fullest = buckets
            .iter()
            .max_by(|(_, a), (_, b)| {
                let by_tries = self.tries(a, now).total_cmp(&self.tries(b, now));
                by_tries.then(b.at.cmp(&a.at))
            })
            .map(|(address, _)| *address);
        if let Some(address) = fullest {
            buckets.remove(&address);
        }
    }

    fn tries(&self, bucket: &Bucket, now: Duration) -> f64 {
        let passed = now.saturating_sub(bucket.at).as_secs_f64();
        passed
            .mul_add(self.refill_per_second, bucket.tries)
            .min(self.burst)
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<IpAddr, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, Timestamp};

    fn throttle(max: usize) -> (Arc<ManualClock>, LoginThrottle) {
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
    fn a_burst_is_followed_by_a_wait_and_time_gives_tries_back() {
        let (clock, throttle) = throttle(10);
        for _ in 0..3 {
            assert_eq!(throttle.check(ip("127.0.0.1")), Ok(()));
            throttle.failed(ip("127.0.0.1"));
        }
        let wait = throttle.check(ip("127.0.0.1")).unwrap_err();
        assert_eq!(wait, Duration::from_secs(10));
        assert_eq!(
            throttle.check(ip("::ffff:127.0.0.1")),
            Err(wait),
            "one bucket for both"
        );
        assert_eq!(throttle.check(ip("127.0.0.2")), Ok(()));
        clock.advance(Duration::from_millis(9_990));
        assert!(throttle.check(ip("127.0.0.1")).is_err());
        clock.advance(Duration::from_millis(10));
        assert_eq!(throttle.check(ip("127.0.0.1")), Ok(()));
        throttle.failed(ip("127.0.0.1"));
        assert!(throttle.check(ip("127.0.0.1")).is_err());
    }

    #[test]
    fn neighbours_in_a_64_share_their_tries() {
        let (_clock, throttle) = throttle(10);
        for host in 1..=3 {
            throttle.failed(ip(&format!("2001:db8::{host}")));
        }
        assert!(throttle.check(ip("2001:db8::ffff")).is_err());
        assert!(throttle.check(ip("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn memory_is_bounded_and_the_worst_are_remembered() {
        let (_clock, throttle) = throttle(100);
        for _ in 0..3 {
            throttle.failed(ip("9.9.9.9"));
        }
        for n in 0..5_000u32 {
            throttle.failed(IpAddr::from((0x0a00_0000 + n).to_be_bytes()));
        }
        assert_eq!(throttle.buckets().len(), 100);
        assert!(throttle.check(ip("9.9.9.9")).is_err());
    }
}
