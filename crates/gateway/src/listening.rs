//! Where the gateway listens.

use std::net::IpAddr;

/// Where the gateway listens, and how.
#[derive(Debug, Clone, Copy)]
pub struct Listening {
    /// The address.
    pub address: IpAddr,
    /// Whether it speaks TLS there.
    pub tls: bool,
}
