//! `serve --tls-managed`: an authority in a Secret, leaves in memory, and `caBundle`s that fit.
//!
//! The Secret holds `ca.crt`, which is the `caBundle` as it is published, newest authority first,
//! and `ca.key`. An authority lives a year and gets a successor after two thirds of it; it stays
//! published until it expires. A leaf lives seven days, is signed anew after two thirds of them and
//! is in no file. Nothing is asked of the cluster but to be told of changes to three objects, and
//! to write them; see `plan` for what is written when.
//!
//! Time is the API server's, which it says with each answer: it is the one that verifies.

mod args;
pub(crate) mod authority;
mod clock;
pub(crate) mod cluster;
mod plan;
mod time;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use axum::{
    body::Bytes,
    http::{Request, StatusCode, header},
};
use http_body_util::Full;
use rustls::pki_types::ServerName;
use tokio::{sync::Notify, time::sleep};

pub use self::args::ManagedArgs;
use self::{
    authority::Authority,
    clock::Clock,
    cluster::{CallError, Cluster, Snapshot},
    plan::{Plan, Step},
};
use super::{
    app::App,
    https,
    metrics::ManagedEvent,
    tls::{Reloader, SelfSigned, Slot},
};
use crate::admission::Endpoint;

/// After trouble one does not wait for the next look, nor hurry.
const RETRY: Duration = Duration::from_secs(5);

/// Between two rounds: should another tool write what we write, this is how fast the two go.
const PAUSE: Duration = Duration::from_millis(500);

/// A round takes three steps: Secret and two webhook configurations. The rest is for conflicts.
const MOST_STEPS: usize = 12;

/// What is served until there is a certificate: nobody trusts it.
///
/// # Errors
/// When a name is none.
pub fn placeholder(names: &[String]) -> anyhow::Result<Slot> {
    let made = SelfSigned::new(names)?;
    Ok(Slot::new(made.cert, made.key))
}

/// Keeps the certificate of this replica.
pub(crate) struct Manager {
    pub(crate) app: Arc<App>,
    pub(crate) args: ManagedArgs,
    pub(crate) slot: Slot,
    pub(crate) reloader: Arc<Mutex<Reloader>>,
    /// Where we listen.
    pub(crate) address: SocketAddr,
    /// Whether clients have to show a certificate, which we have none of.
    pub(crate) client_ca: bool,
}

struct State {
    manager: Manager,
    cluster: Cluster,
    plan: Plan,
    clock: Clock,
    /// Whether everything was right once.
    begun: bool,
}

impl Manager {
    /// Goes on as long as the server does.
    ///
    /// # Errors
    /// When there is no way to an API server in sight.
    pub(crate) async fn start(self) -> anyhow::Result<()> {
        let client = cluster::client().await.context(
            "--tls-managed: where is the API server? Neither a kubeconfig nor a service account \
             can be used",
        )?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let cluster = Cluster::new(
            &client,
            &text(&self.args.tls_managed_namespace),
            &text(&self.args.tls_managed_secret),
            &text(&self.args.tls_managed_webhook_config),
        );
        let plan = Plan::new(self.args.lifetimes());
        let state = State { manager: self, cluster, plan, clock: Clock::new(), begun: false };
        tokio::spawn(state.run());
        Ok(())
    }
}

impl State {
    async fn run(mut self) {
        let changed = Notify::new();
        let watch = self.cluster.clone().watch(&changed);
        let keep = async {
            loop {
                let healthy = self.round().await;
                let interval = self.manager.args.tls_managed_check_interval;
                let wait = if healthy { interval } else { interval.min(RETRY) };
                tokio::select! {
                    () = sleep(wait) => {}
                    () = changed.notified() => {}
                }
                sleep(PAUSE.min(wait)).await;
            }
        };
        tokio::join!(watch, keep);
    }

    /// Looks at everything, and says whether all is well.
    async fn round(&mut self) -> bool {
        let reconciled = self.reconcile().await;
        if let Err(error) = &reconciled {
            self.event(ManagedEvent::ApiServerFailed);
            tracing::warn!(%error, "the managed certificate is not looked after; it stays as it is");
        }
        let metrics = &self.manager.app.metrics;
        if let Some(newest) = self.plan.known().first() {
            metrics.set_authority_expiry(newest.not_after);
        }
        self.sign().await;
        let checked = self.check().await;
        match &checked {
            Err(error) if self.plan.leaf().is_some() => {
                self.event(ManagedEvent::SelfCheckFailed);
                tracing::error!("the server does not get an answer from itself: {error:#}");
                self.manager
                    .app
                    .set_waiting(Some(format!("the certificate is not good: {error:#}")));
            }
            Err(_) => {}
            // The first time, the webhook configurations have to be right too. Later they cannot
            // make us unready: that would not repair them, and add an outage to the trouble.
            Ok(()) if self.begun || reconciled.is_ok() => {
                self.begun = true;
                self.manager.app.set_waiting(None);
            }
            Ok(()) => {}
        }
        let healthy = reconciled.is_ok() && checked.is_ok();
        self.manager.app.metrics.set_managed_healthy(healthy);
        healthy
    }

    fn event(&self, event: ManagedEvent) {
        self.manager.app.metrics.managed(event);
    }

    /// Reads and writes until there is nothing more to write.
    async fn reconcile(&mut self) -> Result<(), CallError> {
        let mut steps = 0;
        loop {
            let seen = self.cluster.read().await?;
            if let Some(time) = seen.time {
                self.clock.set(time);
            }
            let now = self.clock.latest();
            self.plan.observe(now, &seen.view);
            let Some(step) = self.plan.write(now, &seen.view) else { return Ok(()) };
            if steps == MOST_STEPS {
                // Somebody writes faster than we do. The next round goes on.
                return Err(CallError::Conflict("Secret and caBundle".to_owned()));
            }
            steps += 1;
            match self.write(&seen, step).await {
                Err(CallError::Conflict(_)) => {
                    tracing::debug!("another replica was faster");
                }
                written => written?,
            }
        }
    }

    async fn write(&self, seen: &Snapshot, step: Step) -> Result<(), CallError> {
        let now = self.clock.latest();
        match step {
            Step::Store { mut keep, make } => {
                if let Some(error) = &seen.corrupt {
                    tracing::error!(error, "the Secret of the authority cannot be read");
                }
                let restore = seen.corrupt.is_some()
                    || (seen.view.stored.is_none() && self.plan.leaf().is_some());
                if make {
                    let lifetime = self.manager.args.lifetimes().authority;
                    match Authority::make(now, lifetime) {
                        Ok(new) => keep.insert(0, new),
                        Err(error) => tracing::error!(%error, "no authority can be made"),
                    }
                }
                if keep.is_empty() {
                    return Ok(());
                }
                self.cluster.store(seen, &keep).await?;
                if restore {
                    self.event(ManagedEvent::SecretRestored);
                    tracing::warn!("the Secret of the authority was lost or unusable; it is back");
                }
                if make {
                    self.event(ManagedEvent::AuthorityMade);
                }
                tracing::info!(authorities = keep.len(), made = make, "the Secret was written");
            }
            Step::Publish { configuration, bundle } => {
                self.cluster.publish(seen, configuration, &bundle).await?;
                self.event(ManagedEvent::BundleWritten);
                let kind = configuration.kind();
                tracing::info!(kind, authorities = bundle.len(), "the caBundle was written");
            }
        }
        Ok(())
    }

    /// Signs a leaf, if it is time.
    async fn sign(&mut self) {
        let now = self.clock.latest();
        let Some((authority, until)) = self.plan.sign(now) else { return };
        let cert = authority.cert.clone();
        match authority.sign(&self.manager.args.tls_managed_dns_name, until) {
            Err(error) => tracing::error!(%error, "no certificate can be signed"),
            Ok(leaf) => {
                self.manager.slot.put(leaf.cert, leaf.key);
                self.plan.signed(now, cert, until);
                self.event(ManagedEvent::LeafSigned);
                let (app, reloader) = (self.manager.app.clone(), self.manager.reloader.clone());
                let poll = move || {
                    reloader.lock().unwrap_or_else(PoisonError::into_inner).poll(&app.metrics);
                };
                // It may read a file.
                let _ = tokio::task::spawn_blocking(poll).await;
            }
        }
    }

    /// Asks ourselves, as the API server would.
    async fn check(&self) -> anyhow::Result<()> {
        if self.plan.leaf().is_none() {
            bail!("there is no certificate yet");
        }
        let authorities = self.plan.known().iter().map(|it| it.cert.as_slice().into());
        let now = u64::try_from(self.clock.earliest()).unwrap_or_default();
        let client = https::Client::trusting(authorities, Some(now))?;
        let name = self.manager.args.tls_managed_dns_name.first().context("no name")?;
        let stream =
            client.connect(self.manager.address, ServerName::try_from(name.clone())?).await?;
        if self.manager.client_ca {
            return Ok(());
        }
        // It is not a review, so that nobody counts it.
        let request = Request::get(Endpoint::Validate.path())
            .header(header::HOST, name)
            .body(Full::<Bytes>::default())?;
        let status = https::send(stream, request).await?.status();
        if status != StatusCode::METHOD_NOT_ALLOWED {
            bail!("it answered a GET with {status}");
        }
        Ok(())
    }
}
