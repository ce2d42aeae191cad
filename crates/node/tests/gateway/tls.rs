//! Whom a node believes to be its gateway.

use std::sync::Arc;

use futures_util::StreamExt;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::accept_async;

use super::fake::{Gateway, Machine, until};

/// A gateway with a certificate for another name, and that certificate.
fn acceptor() -> (TlsAcceptor, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(["elsewhere.example".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate.to_vec())
}

/// Whether a node that trusts `pinned` says who it is.
async fn connects(acceptor: &TlsAcceptor, pinned: Option<Vec<u8>>) -> bool {
    let (machine, unused) = (Machine::new(), Gateway::open().await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut options = machine.options(&unused);
    options.gateway = format!("https://{}", listener.local_addr().unwrap());
    options.pinned_certificate = pinned;
    let _node = machine.run(options);
    let (stream, _) = listener.accept().await.unwrap();
    let Ok(stream) = acceptor.accept(stream).await else {
        until(|| machine.log.last(9).0.concat().contains("certificate")).await;
        return false;
    };
    // What a client does not trust it may say only after the server is done.
    let Ok(mut socket) = accept_async(stream).await else {
        until(|| machine.log.last(9).0.concat().contains("certificate")).await;
        return false;
    };
    let first = socket.next().await.unwrap().unwrap().into_text().unwrap();
    assert!(first.contains("t0ken"));
    true
}

#[tokio::test]
async fn a_pinned_certificate_is_trusted_whatever_its_name_and_no_other_is() {
    let (gateway, certificate) = acceptor();
    let (_, another) = acceptor();
    assert!(connects(&gateway, Some(certificate)).await);
    assert!(!connects(&gateway, Some(another)).await);
    assert!(!connects(&gateway, None).await);
}
