//! The HTTP clients themselves, built when first needed.

use std::sync::Once;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::sync::OnceCell;
use url::Url;

use super::error::EgressError;
use super::resolver::CheckedResolver;

/// One client for http and one for https: reading the system's certificates takes
/// many milliseconds, which a call to a gateway on this machine should not pay.
pub(super) struct Transport {
    resolver: CheckedResolver,
    connect_timeout: Duration,
    /// How many connections to one place are kept open for the next request.
    kept: usize,
    plain: OnceCell<Client>,
    secure: OnceCell<Client>,
    upgrading: OnceCell<Client>,
}

impl Transport {
    pub(super) fn new(resolver: CheckedResolver, connect_timeout: Duration, kept: usize) -> Self {
        Self {
            resolver,
            connect_timeout,
            kept,
            plain: OnceCell::new(),
            secure: OnceCell::new(),
            upgrading: OnceCell::new(),
        }
    }

    /// The client for the scheme of `url`.
    pub(super) async fn client(&self, url: &Url) -> Result<&Client, EgressError> {
        let failed = |reason: String| EgressError::Http(reason);
        if url.scheme() == "http" {
            let build = async || {
                // Without any certificate this one can speak TLS to nobody.
                let plain = self.builder().tls_certs_only([]);
                plain.build().map_err(|error| failed(error.to_string()))
            };
            return self.plain.get_or_try_init(build).await;
        }
        let build = || built(self.builder().https_only(true));
        self.secure.get_or_try_init(build).await
    }

    /// The client for the scheme of `url` when the connection is to become something else, which
    /// only HTTP/1.1 can.
    pub(super) async fn upgrading(&self, url: &Url) -> Result<&Client, EgressError> {
        if url.scheme() == "http" {
            return self.client(url).await;
        }
        let build = || built(self.builder().https_only(true).http1_only());
        self.upgrading.get_or_try_init(build).await
    }

    #[allow(clippy::disallowed_methods)] // the one place clients are built
    fn builder(&self) -> reqwest::ClientBuilder {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // An error means that one is installed already.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        Client::builder()
            .user_agent(concat!("manyhands/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(self.resolver.clone())
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(self.connect_timeout)
            .pool_max_idle_per_host(self.kept)
            .pool_idle_timeout(Duration::from_secs(30))
    }
}

/// Builds a client that reads the system's certificates, away from whoever must not wait.
async fn built(builder: reqwest::ClientBuilder) -> Result<Client, EgressError> {
    tokio::task::spawn_blocking(|| builder.build())
        .await
        .map_err(|error| EgressError::Http(error.to_string()))?
        .map_err(|error| EgressError::Http(error.to_string()))
}
