//! The web: readable pages, requests with rules, downloads, searches.
//!
//! Everything leaves through [`manyhands_guard::Egress`]; nothing here opens a socket.

mod auth;
mod charset;
mod download;
#[cfg(test)]
mod fake;
mod fetch;
mod headers;
mod html;
mod page;
mod request;
pub mod search;

pub use auth::{AuthError, AuthProfile, AuthProfileSettings};
pub use download::{DOWNLOAD_LIMIT, Downloaded, download};
pub use fetch::{ContentKind, FetchError, FetchResult, fetch};
pub use headers::{HeaderError, RefusedHeader, Why};
pub use page::{MAX_LINKS, PageLink, ReadablePage, read_page, readable};
pub use request::{Decode, FetchBody, FetchMethod, FetchRequest, UnknownMethod};
