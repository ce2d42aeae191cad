//! The web as the tools may use it: one egress, rebuilt when its settings change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_config::Settings;
use manyhands_guard::{Egress, EgressPolicy, SystemLookup};
use manyhands_store::Vault;

use crate::host::Host;
use crate::settings::LiveSettings;

/// The web as the tools may use it. Cheap to clone.
#[derive(Clone)]
pub struct Web(Arc<Inner>);

struct Inner {
    egress: ArcSwap<Egress>,
    /// What the egress in force was built from.
    networks: ArcSwap<Vec<String>>,
    settings: LiveSettings,
    host: Host,
    vault: Vault,
}

impl Web {
    /// An egress by the settings in force.
    pub fn new(settings: &LiveSettings, host: Host, vault: Vault) -> Self {
        let current = settings.current();
        Self(Arc::new(Inner {
            egress: ArcSwap::from_pointee(egress(&current)),
            networks: ArcSwap::from_pointee(current.egress.allow_private.clone()),
            settings: settings.clone(),
            host,
            vault,
        }))
    }

    /// Takes changed settings over; open connections of the old egress end with their requests.
    pub fn reconfigure(&self) {
        let current = self.0.settings.current();
        if **self.0.networks.load() != current.egress.allow_private {
            self.0
                .networks
                .store(Arc::new(current.egress.allow_private.clone()));
            self.0.egress.store(Arc::new(egress(&current)));
        }
    }
}

fn egress(settings: &Settings) -> Egress {
    let networks = settings.egress.allow_private.iter();
    let policy = EgressPolicy {
        // The settings were checked when they were read.
        allow_private: networks.filter_map(|net| net.parse().ok()).collect(),
        // Each request brings its own, smaller bounds.
        total_timeout: Duration::from_secs(3_600),
        max_bytes: u64::MAX,
        ..EgressPolicy::default()
    };
    Egress::new(policy, Arc::new(SystemLookup))
}
