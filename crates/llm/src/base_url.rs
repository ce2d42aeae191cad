//! The base URL of a provider.

use url::Url;

/// A base URL, with or without the API version: owners copy both from the providers' documentation.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    url: Url,
    /// Whether it ends before the version by convention, so that the version is always added.
    version_always: bool,
}

impl BaseUrl {
    pub(crate) fn new(url: Url, version_always: bool) -> Self {
        Self {
            url,
            version_always,
        }
    }

    /// The address of the API, as in the settings.
    pub(crate) fn address(&self) -> &Url {
        &self.url
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The path of `rest` beneath it, with `version` added if it is missing.
    pub(crate) fn path(&self, version: &str, rest: &str) -> String {
        let base = self.url.path().trim_end_matches('/');
        let has_version = base.rsplit('/').next().is_some_and(is_version);
        // A custom path is taken as complete, except with Anthropic, whose base URLs end before the version.
        let complete = has_version || (!base.is_empty() && !self.version_always);
        if complete {
            format!("{base}/{rest}")
        } else {
            format!("{base}/{version}/{rest}")
        }
    }
}

fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or("");
    digits.starts_with(|c: char| c.is_ascii_digit())
}
