//! Servers that the gateway calls on behalf of its callers, and callers authenticated by other
//! issuers.
//!
//! # Servers
//!
//! [`servers`] holds the MCP servers of the settings (`mcpServers`), and OpenAPI documents as
//! `dynamic/NAME`. Tools are published in the catalogue as `server__tool`. The accepted definitions
//! are stored, so a gateway knows its tools without starting anything, and a server starts on first
//! use.
//!
//! - **Definitions are pinned by hash.** A server cannot change what a model sees without the
//!   owner's approval: a changed definition is held next to the accepted one (`pinning`). For an
//!   OpenAPI tool the definition includes the request, so a changed document cannot redirect
//!   credentials either.
//! - **A connection is one account of a service.** Its credentials are in the vault. A server is
//!   connected to once per account in use; a call chooses one by PCID or takes the first. No
//!   caller's token is ever sent to a server.
//! - **Logins** ([`servers::oauth`]): the tokens of an account are renewed once for all callers,
//!   ahead of expiry, while calls go on. Before a refresh token is sent, that fact is on disk;
//!   without a response it is never sent again, unless its server was seen to keep refresh tokens
//!   unchanged, because servers that rotate them revoke the login on a second use. A login is done
//!   when the tools are listed.
//! - **Both protocol eras.** Each client is served in its own era, sessions or self-contained
//!   requests. A server that supports both gets a second connection when the first older client
//!   arrives (`older`). A server's requests back go to the caller whose call they belong to; in the
//!   older era that needs a private session per conversation.
//!
//! # Directory
//!
//! [`directory`] is a built-in list of well-known servers, which the owner can add by name. [`plan`] shows what a
//! server about to be added will run.
//!
//! # Guests
//!
//! [`oauth_guests`] authenticates callers of `/mcp` by access tokens of trusted issuers. The token
//! says who the caller is; the settings say what they may do.

pub mod directory;
pub mod oauth_guests;
pub mod plan;
pub mod servers;
