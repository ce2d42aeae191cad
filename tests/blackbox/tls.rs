//! A certificate of our own, and requests over TLS that trust only it.

use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::http::{PATIENCE, Request, Response};

/// A self-signed certificate for this machine, as files.
pub struct Certificate {
    pub cert: PathBuf,
    pub key: PathBuf,
    der: CertificateDer<'static>,
}

impl Certificate {
    pub fn new(dir: &Path) -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).expect("the certificate");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("its key");
        Self {
            cert,
            key,
            der: made.cert.der().clone(),
        }
    }

    /// The settings that serve it.
    pub fn config(&self) -> String {
        format!("[tls]\ncert = {:?}\nkey = {:?}\n", self.cert, self.key)
    }

    /// Sends a request over TLS and trusts nothing but this certificate.
    pub fn send(&self, to: SocketAddr, request: &Request) -> Response {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocols")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "localhost".try_into().expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let stream = TcpStream::connect(to).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut tls = StreamOwned::new(connection, stream);
        std::io::Write::write_all(&mut tls, &request.bytes(&to.to_string())).expect("sent");
        Response::read(&mut BufReader::new(tls)).expect("an answer")
    }
}
