//! The address the gateway listens on.

use std::net::IpAddr;

/// The address the gateway listens on.
#[derive(Debug, Clone, Copy)]
pub struct ListenAddress {
    /// IP address.
    pub address: IpAddr,
    /// Whether it serves TLS.
    pub tls: bool,
}
