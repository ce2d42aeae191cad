//! Who is told that tools came or went: whoever may see other tools than before.
//!
//! Every change of the catalogue wakes everybody who waits, and most of it is not theirs: a
//! token may see few tools. So each compares its own view before and after.

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

/// How many may wait to be told.
const MAX_WAITING: usize = 1_024;
/// How long a look is good for: what changes within it is told as one.
const PACE: Duration = Duration::from_millis(250);
/// How many kinds of rights have their last look remembered.
const MAX_LOOKS: usize = 64;

/// What a caller may see, in short. It is the same in every process that offers the same tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View(u64);

impl View {
    fn of(path: &dyn Invoke, caller: &Caller, surface: &Surface) -> Self {
        let mut hasher = DefaultHasher::new();
        let catalogue = path.catalogue();
        for spec in surface.view(path, &catalogue, caller) {
            shown(spec, &mut hasher);
        }
        Self(hasher.finish())
    }
}

/// What an MCP client is shown of a tool.
fn shown(spec: &ToolSpec, hasher: &mut DefaultHasher) {
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

/// What a view was at some moment.
#[derive(Clone, Copy)]
struct Look {
    view: View,
    /// The last change of the catalogue that it is sure to have seen.
    change: u64,
    at: Instant,
}

/// Everybody who waits to be told.
pub(super) struct Audience {
    pub(super) gateway: Arc<Gateway>,
    changes: watch::Receiver<u64>,
    places: Arc<Semaphore>,
    /// The last look of each principal with the rights it had: connections of one token share it.
    looks: Mutex<Vec<(Principal, Rights, Surface, Look)>>,
}

impl Audience {
    pub(super) fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        Arc::new(Self {
            changes: gateway.nodes.changes(),
            gateway,
            places: Arc::new(Semaphore::new(MAX_WAITING)),
            looks: Mutex::default(),
        })
    }

    /// Which change of the catalogue was the last.
    pub(super) fn change(&self) -> u64 {
        *self.changes.borrow()
    }

    /// What a caller may see now.
    pub(super) fn view(&self, caller: &Caller, surface: &Surface) -> View {
        self.look(caller, surface, Duration::ZERO).view
    }

    fn look(&self, caller: &Caller, surface: &Surface, good_for: Duration) -> Look {
        let mut looks = self.looks.lock().expect("no panic while held");
        let (change, now) = (self.change(), Instant::now());
        let same = looks.iter().position(|(who, rights, of, _)| {
            *who == caller.principal && *rights == caller.rights && of == surface
        });
        let last = same.map(|at| looks.swap_remove(at).3);
        let holds = |last: &Look| last.change == change || now < last.at + good_for;
        let look = last.filter(holds).unwrap_or_else(|| Look {
            view: View::of(&*self.gateway.path, caller, surface),
            change,
            at: now,
        });
        if looks.len() >= MAX_LOOKS {
            looks.clear();
        }
        let who = (caller.principal.clone(), caller.rights.clone());
        looks.push((who.0, who.1, surface.clone(), look));
        look
    }

    /// Every view of somebody's that is another than the one before, `known` being the first;
    /// it ends when they may look no more or the gateway stops.
    pub(super) fn follow(
        self: &Arc<Self>,
        asker: Admitted,
        surface: Surface,
        known: Option<View>,
    ) -> Result<impl Stream<Item = View> + Send + use<>, ToolError> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            let message = format!("{MAX_WAITING} streams wait for changes already");
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("close one, or list the tools again from time to time")
        })?;
        let follower = Follower {
            changes: self.changes.clone(),
            audience: self.clone(),
            asker,
            surface,
            known,
            _place: place,
        };
        Ok(unfold(follower, async |mut follower| {
            let view = follower.next().await?;
            Some((view, follower))
        }))
    }
}

struct Follower {
    audience: Arc<Audience>,
    changes: watch::Receiver<u64>,
    asker: Admitted,
    surface: Surface,
    known: Option<View>,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    async fn next(&mut self) -> Option<View> {
        let gateway = &self.audience.gateway;
        let changed = async {
            loop {
                let look = self.audience.look(&self.asker.caller, &self.surface, PACE);
                if self.known != Some(look.view) {
                    return Some(look.view);
                }
                let newer = self.changes.wait_for(|change| *change != look.change);
                newer.await.ok()?;
                sleep_until(look.at + PACE).await;
            }
        };
        let view = tokio::select! {
            biased;
            _ = gateway.doorman.lapsed(&self.asker) => None,
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
    fn a_view_is_another_when_anything_that_is_shown_is() {
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
