//! Tool-list change notifications, sent only to clients whose own list changed.
//!
//! Every change of the catalogue wakes all waiting streams, but most of them cannot see the changed
//! tool. So each compares the list it may see before and after.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use manyhands_core::{Caller, ErrorCode, Invoke, Principal, Rights, ToolError, ToolSpec};
use manyhands_gateway::listing::Surface;
use manyhands_gateway::{Admitted, Gateway};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until};

/// Streams that may wait for changes.
const MAX_WAITING: usize = 1_024;
/// How long a cached view is used; changes within that time are reported as one.
const PACE: Duration = Duration::from_millis(250);
/// Cached views, by kind of rights.
const MAX_CACHED: usize = 64;

/// Hash of the tools a caller may see. Equal in every process that offers the same tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View(u64);

impl View {
    fn of(path: &dyn Invoke, caller: &Caller, surface: &Surface) -> Self {
        let mut hasher = DefaultHasher::new();
        let catalogue = path.catalogue();
        for spec in surface.view(path, &catalogue, caller) {
            hash_listing(spec, &mut hasher);
        }
        Self(hasher.finish())
    }
}

/// Hashes what an MCP client is shown of a tool.
fn hash_listing(spec: &ToolSpec, hasher: &mut DefaultHasher) {
    spec.name.hash(hasher);
    spec.description.hash(hasher);
    spec.input_schema.hash(hasher);
    spec.output_schema.hash(hasher);
    spec.effects.iter().collect::<Vec<_>>().hash(hasher);
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for View {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// A view computed at some moment.
#[derive(Clone, Copy)]
struct CachedView {
    view: View,
    /// The last change of the catalogue it certainly includes.
    change: u64,
    at: Instant,
}

/// Streams that wait for changes of the tool list.
pub(super) struct ChangeFeed {
    pub(super) gateway: Arc<Gateway>,
    changes: watch::Receiver<u64>,
    slots: Arc<Semaphore>,
    /// The last view of each principal and its rights, shared by the connections of one token.
    cached: Mutex<Vec<(Principal, Rights, Surface, CachedView)>>,
}

impl ChangeFeed {
    pub(super) fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        Arc::new(Self {
            changes: gateway.nodes.changes(),
            gateway,
            slots: Arc::new(Semaphore::new(MAX_WAITING)),
            cached: Mutex::default(),
        })
    }

    /// Number of the last change of the catalogue.
    pub(super) fn change(&self) -> u64 {
        *self.changes.borrow()
    }

    /// The current view of a caller.
    pub(super) fn view(&self, caller: &Caller, surface: &Surface) -> View {
        self.cached_view(caller, surface, Duration::ZERO).view
    }

    fn cached_view(&self, caller: &Caller, surface: &Surface, good_for: Duration) -> CachedView {
        let mut cached = self.cached.lock().expect("no panic while held");
        // The change number is read before the view is computed: a change in between then leads to
        // one more comparison, never to a missed one.
        let (change, now) = (self.change(), Instant::now());
        let same = cached.iter().position(|(who, rights, of, _)| {
            *who == caller.principal && *rights == caller.rights && of == surface
        });
        let last = same.map(|at| cached.swap_remove(at).3);
        let holds = |last: &CachedView| last.change == change || now < last.at + good_for;
        let latest = last.filter(holds).unwrap_or_else(|| CachedView {
            view: View::of(&*self.gateway.path, caller, surface),
            change,
            at: now,
        });
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        let who = (caller.principal.clone(), caller.rights.clone());
        cached.push((who.0, who.1, surface.clone(), latest));
        latest
    }

    /// A stream of the caller's views that differ from the one before; `known` is the first to
    /// compare with. Ends when the token lapses or the gateway stops.
    pub(super) fn follow(
        self: &Arc<Self>,
        admitted: Admitted,
        surface: Surface,
        known: Option<View>,
    ) -> Result<impl Stream<Item = View> + Send + use<>, ToolError> {
        let slot = self.slots.clone().try_acquire_owned().map_err(|_| {
            let message =
                format!("the limit of {MAX_WAITING} streams waiting for changes is reached");
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("close another stream, or poll tools/list")
        })?;
        let follower = ChangeFollower {
            changes: self.changes.clone(),
            feed: self.clone(),
            admitted,
            surface,
            known,
            _slot: slot,
        };
        Ok(unfold(follower, async |mut follower| {
            let view = follower.next().await?;
            Some((view, follower))
        }))
    }
}

struct ChangeFollower {
    feed: Arc<ChangeFeed>,
    changes: watch::Receiver<u64>,
    admitted: Admitted,
    surface: Surface,
    known: Option<View>,
    _slot: OwnedSemaphorePermit,
}

impl ChangeFollower {
    async fn next(&mut self) -> Option<View> {
        let gateway = &self.feed.gateway;
        let changed = async {
            loop {
                let cached = self
                    .feed
                    .cached_view(&self.admitted.caller, &self.surface, PACE);
                if self.known != Some(cached.view) {
                    return Some(cached.view);
                }
                let newer = self.changes.wait_for(|change| *change != cached.change);
                newer.await.ok()?;
                // Waiting out the rest of the interval merges a burst of changes into one
                // notification.
                sleep_until(cached.at + PACE).await;
            }
        };
        let view = tokio::select! {
            biased;
            _ = gateway.auth.lapsed(&self.admitted) => None,
            () = gateway.stopping().cancelled() => None,
            view = changed => view,
        };
        self.known = view;
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use manyhands_core::{
        CallContext, CallRequest, Catalogue, Effects, Outcome, Pattern, Question, Tool, Verdict,
    };
    use serde_json::{Value, json};

    struct Named(ToolSpec);

    #[async_trait]
    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, _: Value, _: &CallContext) -> Result<Outcome, ToolError> {
            Ok(Outcome::default())
        }
    }

    /// A catalogue under the default rules.
    struct Shown(Arc<Catalogue>);

    #[async_trait]
    impl Invoke for Shown {
        async fn invoke(&self, _: CallRequest) -> Result<Outcome, ToolError> {
            Err(ToolError::internal("nothing is called here"))
        }

        fn authorize(&self, question: Question<'_>) -> Verdict {
            let rules = manyhands_path::Authorizer::new(&Default::default());
            rules.unwrap().authorize(question)
        }

        fn catalogue(&self) -> Arc<Catalogue> {
            self.0.clone()
        }
    }

    fn view(specs: Vec<ToolSpec>, tools: &str) -> View {
        let mut caller = Caller::gateway();
        caller.rights.tools = vec![Pattern::new(tools)];
        let mut all = Catalogue::default();
        for spec in specs {
            all.add(Arc::new(Named(spec))).unwrap();
        }
        View::of(&Shown(Arc::new(all)), &caller, &Surface::All)
    }

    fn tool(name: &str) -> ToolSpec {
        ToolSpec::new(name, "test").effects(Effects::READS)
    }

    #[test]
    fn a_view_changes_with_anything_visible() {
        let before = view(vec![tool("a")], "*");
        assert_eq!(view(vec![tool("a")], "*"), before);
        let mut described = tool("a");
        described.description = "does more".into();
        let mut asks = tool("a");
        asks.input_schema = Arc::new(json!({ "type": "object" }));
        let mut answers = tool("a");
        answers.output_schema = Some(json!({ "type": "object" }));
        let does = tool("a").effects(Effects::WRITES);
        for other in [described, asks, answers, does, tool("b")] {
            assert_ne!(view(vec![other.clone()], "*"), before, "{other:?}");
        }
        assert_ne!(view(vec![tool("a"), tool("b")], "*"), before);
        assert_ne!(view(vec![], "*"), before);
    }

    #[test]
    fn a_view_is_the_same_when_only_what_is_hidden_changes() {
        let before = view(vec![tool("gsv__A")], "gsv__*");
        let after = || vec![tool("gsv__A"), tool("laptop__Read")];
        assert_eq!(view(after(), "gsv__*"), before);
        assert_ne!(view(after(), "*"), before, "the control");
    }

    #[test]
    fn a_view_is_read_as_it_is_written() {
        for view in [View(0), View(7), View(u64::MAX)] {
            assert_eq!(view.to_string().parse(), Ok(view));
        }
        assert!("nonsense".parse::<View>().is_err());
    }
}
