//! Name resolution in which every address is checked before a connection is opened to it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;
use super::error::ResolveRefusal;

/// Resolves names. Tests provide one whose answers change.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of `host`.
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Which addresses may be connected to.
#[derive(Debug, Clone)]
pub(super) enum Reach {
    /// The public internet and these networks.
    PublicAnd(Vec<IpNet>),
    /// Any address: the owner named the host in the configuration.
    Anywhere,
}

impl Reach {
    pub(super) fn permits(&self, address: IpAddr) -> bool {
        match self {
            Self::PublicAnd(nets) => {
                let canonical = address.to_canonical();
                is_public(address) || nets.iter().any(|net| net.contains(&canonical))
            }
            Self::Anywhere => true,
        }
    }
}

/// The resolver inside the HTTP client, which connects to exactly these addresses, so there is
/// no second lookup that could return something else.
#[derive(Clone)]
pub(super) struct CheckedResolver {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) reach: Arc<Reach>,
}

impl CheckedResolver {
    async fn checked(self, host: &str) -> Result<Vec<IpAddr>, ResolveRefusal> {
        let host = host.trim_matches(['[', ']']);
        let found = self
            .lookup
            .lookup(host)
            .await
            .map_err(ResolveRefusal::Lookup)?;
        if found.is_empty() {
            return Err(ResolveRefusal::Lookup(io::Error::other(
                "the name has no address",
            )));
        }
        // DNS rebinding mixes one private address into public ones: refuse them all.
        match found.iter().find(|address| !self.reach.permits(**address)) {
            Some(private) => Err(ResolveRefusal::Private(*private)),
            None => Ok(found),
        }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let addresses = this.checked(name.as_str()).await?;
            let sockets = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}
