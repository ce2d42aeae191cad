//! The HTTP clients, built on first use.

use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};
use tokio::sync::OnceCell;
use url::Url;

use super::error::EgressError;
use super::resolver::CheckedResolver;

/// Certificates trusted in addition to the system's.
static TRUSTED: Mutex<Vec<Certificate>> = Mutex::new(Vec::new());

/// Trusts the certificates of a PEM file in addition to the system's, for every client that is
/// built from now on. The error says what is wrong with the file.
pub fn trust(pem: &[u8]) -> Result<(), String> {
    install_provider();
    let certificates = Certificate::from_pem_bundle(pem)
        .map_err(|_| "it is not a PEM file of certificates".to_owned())?;
    if certificates.is_empty() {
        return Err("it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)".to_owned());
    }
    // Checked here, where the person who named the file sees the error, not at the first request.
    #[allow(clippy::disallowed_methods)]
    let tried = Client::builder().tls_certs_only(certificates.clone());
    tried
        .build()
        .map_err(|_| "it holds a certificate that cannot be read".to_owned())?;
    *TRUSTED.lock().unwrap_or_else(PoisonError::into_inner) = certificates;
    Ok(())
}

fn trusted() -> Vec<Certificate> {
    let trusted = TRUSTED.lock().unwrap_or_else(PoisonError::into_inner);
    trusted.clone()
}

fn install_provider() {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// One client for http and one for https: reading the system's certificates takes
/// many milliseconds, which a call to a gateway on this machine should not pay.
pub(super) struct Transport {
    resolver: CheckedResolver,
    connect_timeout: Duration,
    /// Idle connections kept open per host.
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
                // Without any certificate this client cannot speak TLS to anyone.
                let plain = self.builder().tls_certs_only([]);
                plain.build().map_err(|error| failed(error.to_string()))
            };
            return self.plain.get_or_try_init(build).await;
        }
        let build = || built(self.secure_builder());
        self.secure.get_or_try_init(build).await
    }

    /// The client for the scheme of `url` when the connection will be upgraded, which requires
    /// HTTP/1.1.
    pub(super) async fn upgrading(&self, url: &Url) -> Result<&Client, EgressError> {
        if url.scheme() == "http" {
            return self.client(url).await;
        }
        let build = || built(self.secure_builder().http1_only());
        self.upgrading.get_or_try_init(build).await
    }

    fn secure_builder(&self) -> reqwest::ClientBuilder {
        self.builder().https_only(true).tls_certs_merge(trusted())
    }

    #[allow(clippy::disallowed_methods)] // the one place clients are built
    fn builder(&self) -> reqwest::ClientBuilder {
        install_provider();
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

/// Builds a client that reads the system's certificates, off the async threads.
async fn built(builder: reqwest::ClientBuilder) -> Result<Client, EgressError> {
    tokio::task::spawn_blocking(|| builder.build())
        .await
        .map_err(|error| EgressError::Http(error.to_string()))?
        .map_err(|error| EgressError::Http(error.to_string()))
}
