//! References to secrets: `{{vault:VAULT/NAME}}` in a text stands for a secret. It is replaced only
//! when the request is sent, and only for a host that the owner allowed.

use manyhands_core::{AgentId, ErrorCode, Secret, ToolError};
use manyhands_store::{CollectionKind, VaultEntry};
use url::Url;

use super::Resources;

const OPEN: &str = "{{vault:";
const CLOSE: &str = "}}";

impl Resources {
    /// Replaces every reference in `text` for a request to `url`. Also returns the secrets used,
    /// which must not appear in results.
    pub async fn fill(
        &self,
        agent: &AgentId,
        text: &str,
        url: &str,
    ) -> Result<(String, Vec<Secret>), ToolError> {
        let (mut filled, mut used, mut rest) = (String::new(), Vec::new(), text);
        while let Some(start) = rest.find(OPEN) {
            let (before, after) = rest.split_at(start);
            let after = &after[OPEN.len()..];
            let Some(end) = after.find(CLOSE) else {
                return Err(ToolError::new(
                    ErrorCode::InvalidArguments,
                    "unterminated vault reference; write {{vault:VAULT/NAME}}",
                ));
            };
            // Looked up per reference and checked against the URL each time: one text may name
            // secrets with different hosts.
            let secret = self.secret(agent, after[..end].trim(), url).await?;
            // Appended without scanning it again, so that a secret that contains `{{vault:` cannot
            // pull in another one.
            filled.push_str(before);
            filled.push_str(secret.expose());
            used.push(secret);
            rest = &after[end + CLOSE.len()..];
        }
        filled.push_str(rest);
        Ok((filled, used))
    }

    /// The secret `VAULT/NAME`, if this agent may use it and it may be sent to `url`.
    async fn secret(&self, agent: &AgentId, named: &str, url: &str) -> Result<Secret, ToolError> {
        let shown: String = named.chars().take(100).collect();
        let absent = || {
            ToolError::not_found(format!(
                "there is no secret {shown:?} in a vault of {agent}"
            ))
            .hint("list secrets with vault_list; write {{vault:VAULT/NAME}}")
        };
        let (vault, name) = named.rsplit_once('/').ok_or_else(absent)?;
        let all = self.of(agent).await?;
        let vault = all.iter().map(|(found, _)| found).find(|found| {
            found.kind == CollectionKind::Vault
                && (found.name == vault || found.id.to_string() == vault)
        });
        let vault = vault.ok_or_else(absent)?;
        let found = self.store.secret(vault.id, name).await?;
        let (secret, entry) = found.ok_or_else(absent)?;
        let host = Url::parse(url).ok();
        let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
        // The host is checked on the parsed URL, as the request will be sent, and not on the text.
        if !goes_to(&entry, host) {
            let message = format!("the secret {shown} may not be sent to {host:?}");
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("the owner can allow hosts with `manyhands resource secret set`"));
        }
        Ok(secret)
    }
}

fn goes_to(entry: &VaultEntry, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    entry.hosts.iter().any(|allowed| {
        let allowed = allowed.to_ascii_lowercase();
        match allowed.strip_prefix("*.") {
            // `*.example.com` covers subdomains only, and never `evilexample.com`.
            Some(parent) => host
                .strip_suffix(parent)
                .is_some_and(|sub| sub.ends_with('.') && sub.len() > 1),
            None => !host.is_empty() && host == allowed,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Timestamp;

    #[test]
    fn a_secret_is_sent_only_to_its_hosts() {
        let entry = VaultEntry {
            name: "KEY".to_owned(),
            hosts: vec!["api.example.com".to_owned(), "*.example.org".to_owned()],
            created: Timestamp(0),
            updated: Timestamp(0),
        };
        for (host, goes) in [
            ("api.example.com", true),
            ("API.example.com", true),
            ("a.example.org", true),
            ("a.b.example.org", true),
            ("example.org", false),
            (".example.org", false),
            ("evilexample.org", false),
            ("example.com", false),
            ("api.example.com.evil", false),
            ("", false),
        ] {
            assert_eq!(goes_to(&entry, host), goes, "{host}");
        }
        let nowhere = VaultEntry {
            hosts: Vec::new(),
            ..entry
        };
        assert!(!goes_to(&nowhere, ""));
    }
}
