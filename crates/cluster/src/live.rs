//! The current state of the cluster, for the rules about several objects: small, bounded, and of known age.
//!
//! A separate thread lists and watches a few kinds, reduces each object to an [`inventory`](setguard_core::inventory)
//! item, and publishes immutable snapshots. Requests take the latest snapshot without waiting. See
//! `docs/adr/0009-a-live-view.md`.

mod args;
mod bounds;
pub mod call;
pub(crate) mod collections;
pub(crate) mod follower;
pub(crate) mod message;
pub(crate) mod named;
pub mod reader;
pub mod registered;
mod release;
mod source;
mod state;
mod supervise;
pub(crate) mod times;

use std::{sync::Arc, thread, time::Duration};

use kube::Client;
use tokio::{runtime, time};

pub use self::{
    args::{InventoryArgs, Mode, namespace},
    release::Release,
    state::{KindState, Live},
};
use self::{
    bounds::Bounds,
    follower::{Follower, ListGate},
    reader::{Limits, Reader},
    source::Source,
};

/// Starts the view and the discovery of the release, depending on the flags, on a separate thread that runs until the
/// process exits.
///
/// Calls `on_release` with each release that it discovers. Fails if there is neither a kubeconfig nor a service
/// account, or if the thread cannot be created.
pub fn start(
    live: &Arc<Live>,
    discover_gates: bool,
    on_release: impl Fn(Release) + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(call::client(live.times.call))?;
    let live = live.clone();
    let run = move || runtime.block_on(run(live, client, discover_gates, on_release));
    thread::Builder::new().name("inventory".to_owned()).spawn(run).map(drop)?;
    Ok(())
}

/// The limits for requests of the view: five times the cluster size that it is designed for. A request is sent once,
/// because the follower retries.
fn limits(list: Duration, call: Duration) -> Limits {
    Limits {
        page: 100,
        largest_page: 4 << 20,
        list: Bounds { objects: 100_000, bytes: 2 << 30, pages: 10_000, time: list },
        call,
        tries_while_busy: 1,
        tries: 1,
    }
}

async fn run(
    live: Arc<Live>,
    client: Client,
    discover_gates: bool,
    on_release: impl Fn(Release) + Send + Sync + 'static,
) {
    let times = live.times.clone();
    let mut releases = release::Discovery::new(times.clone(), discover_gates);
    // How to list depends on the release.
    let first = releases.ask().await;
    let streaming = first.as_ref().is_some_and(Release::streams_lists);
    let on_release = Arc::new(on_release);
    first.into_iter().for_each(&*on_release);

    let gate = Arc::new(ListGate::new(streaming));
    let reader = Reader::of(client, limits(times.list + times.bookmark, times.call));
    reader.be_patient();
    let reader = Arc::new(reader);
    let sources = (0..live.sources.len()).map(|index| {
        let (live, reader, gate) = (live.clone(), reader.clone(), gate.clone());
        let name = live.name(index);
        let (delays, times) = (times.backoff(), times.clone());
        let source = move || {
            let (list, source) = (live.list(index), Source::new(live.clone(), index));
            let follower = Follower::new(reader.clone(), list, times.clone(), source);
            let follower = follower.behind(gate.clone());
            async { match follower.run().await {} }
        };
        supervise::forever(name, delays, source)
    });
    let sources: Vec<_> = sources.map(tokio::spawn).collect();
    let releases = tokio::spawn(async move {
        loop {
            time::sleep(times.release).await;
            releases.ask().await.into_iter().for_each(&*on_release);
        }
    });
    let blindness = tokio::spawn(log_blindness(live));
    for task in sources.into_iter().chain([releases, blindness]) {
        let _ = task.await;
    }
}

/// Logs when the view knows no kind, and when it recovers. Readiness does not depend on the view, so nothing else shows
/// this.
async fn log_blindness(live: Arc<Live>) {
    let mut told = false;
    while live.is_on() {
        time::sleep(live.times.blind).await;
        let is_blind = !live.knows_any();
        if is_blind && !told {
            tracing::warn!(
                "the view of the cluster knows no kind; the rules about several objects are silent"
            );
        } else if told && !is_blind {
            tracing::info!("the view of the cluster knows a kind again");
        }
        told = is_blind;
    }
}
