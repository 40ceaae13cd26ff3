//! `serve --tls-managed`: a CA in a Secret, leaf certificates in memory, and matching `caBundle`s.
//!
//! In this module an *authority* is a CA with its key. The Secret contains `ca.crt` (the published `caBundle`, the
//! newest authority first) and `ca.key`. An authority is valid for a year and gets a successor after two thirds of that
//! time; it stays published until it expires. A leaf is valid for seven days, is renewed after two thirds of that time,
//! and is never written to a file. The server only needs to watch, read and write three objects in the cluster; `plan`
//! explains the order of the writes. It creates the Secret only if its account may, and the chart does not allow that:
//! see `docs/security.md`.
//!
//! The time is the API server's, from its responses, because the API server verifies the leaf.

mod args;
mod clock;
pub(crate) mod cluster;
mod plan;

use http_body_util::Full;

pub use self::args::ManagedArgs;

use self::{
    clock::Clock,
    cluster::{CallError, Cluster, Snapshot},
    plan::{Plan, Step},
};
use super::{
    https,
    metrics::ManagedEvent,
    tls::{
        Reloader, Slot,
        authority::{self, Authority, MANAGED},
    },
};
use crate::server::prelude::*;

/// The longest wait after a failed round: the next regular check may be too late.
const RETRY: Duration = Duration::from_secs(5);

/// Between two rounds. Limits the rate of writes if some other tool keeps overwriting the same fields.
const PAUSE: Duration = Duration::from_millis(500);

/// A round takes three steps: the Secret and two webhook configurations. The rest is for conflicts.
const MAX_STEPS: usize = 12;

/// How many removed certificates are reported for one write. An object has room for thousands.
const MAX_REPORTED: usize = 10;

pub(crate) struct Manager {
    pub(crate) app: Arc<App>,
    pub(crate) args: ManagedArgs,
    pub(crate) slot: Slot,
    pub(crate) reloader: Arc<Mutex<Reloader>>,
    /// Where to reach this server.
    pub(crate) address: SocketAddr,
    /// Whether clients must present a certificate. The self-check has none.
    pub(crate) client_ca: bool,
}

struct State {
    manager: Manager,
    cluster: Cluster,
    plan: Plan,
    clock: Clock,
    was_healthy: bool,
}

impl Manager {
    pub(crate) async fn start(self) -> anyhow::Result<()> {
        let client =
            cluster::client().await.with_context(|| cluster::no_api_server("--tls-managed"))?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let cluster = Cluster::new(
            &client,
            &text(&self.args.tls_managed_namespace),
            &text(&self.args.tls_managed_secret),
            &text(&self.args.tls_managed_webhook_config),
        );
        let plan = Plan::new(self.args.lifetimes());
        let state = State { manager: self, cluster, plan, clock: Clock::new(), was_healthy: false };
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

    /// Checks and repairs everything. Returns whether everything is in order.
    async fn round(&mut self) -> bool {
        let reconciled = self.reconcile().await;
        if let Err(error) = &reconciled {
            if !matches!(error, CallError::Lost | CallError::NoSecret(_)) {
                self.event(ManagedEvent::ApiServerFailed);
            }
            tracing::warn!(%error, "cannot maintain the managed certificate; it stays as it is");
        }
        let metrics = &self.manager.app.metrics;
        if let Some(newest) = self.plan.known.first() {
            metrics.authority_expiry.set(newest.not_after);
        }
        self.sign().await;
        let checked = self.check().await;
        match &checked {
            Err(error) if self.plan.leaf.is_some() => {
                self.event(ManagedEvent::SelfCheckFailed);
                tracing::error!("the self-check of the webhook port failed: {error:#}");
                self.manager
                    .app
                    .set_waiting(Some(format!("the webhook self-check failed: {error:#}")));
            }
            Err(_) => {}
            // In the first round, the webhook configurations must be right too. Later, wrong configurations do not make
            // the replica unready: that would not repair them, and would add an outage.
            Ok(()) if self.was_healthy || reconciled.is_ok() => {
                self.was_healthy = true;
                self.manager.app.set_waiting(None);
            }
            Ok(()) => {}
        }
        let healthy = reconciled.is_ok() && checked.is_ok();
        self.manager.app.metrics.managed_healthy.set(healthy.into());
        healthy
    }

    fn event(&self, event: ManagedEvent) {
        self.manager.app.metrics.managed(event);
    }

    async fn reconcile(&mut self) -> Result<(), CallError> {
        let mut steps = 0;
        loop {
            let seen = self.cluster.read().await?;
            if let Some(time) = seen.time {
                self.clock.set(time);
            }
            let now = self.clock.latest();
            self.plan.observe(now, &seen.view);
            if self.plan.is_waiting(now) {
                return Err(CallError::Lost);
            }
            let Some(step) = self.plan.write(now, &seen.view) else { return Ok(()) };
            if steps == MAX_STEPS {
                // Other clients keep changing the objects. The next round continues.
                return Err(CallError::Conflict("Secret and caBundle".to_owned()));
            }
            steps += 1;
            match self.write(&seen, step).await {
                Err(CallError::Conflict(_)) => {
                    tracing::debug!("another client was faster; reading again");
                }
                written => written?,
            }
        }
    }

    async fn write(&self, seen: &Snapshot, step: Step) -> Result<(), CallError> {
        let now = self.clock.latest();
        match step {
            Step::Store { mut keep, make, dropped } => {
                if let Some(error) = &seen.corrupt {
                    tracing::error!(error, "the content of the CA Secret is invalid");
                }
                let restore = seen.view.stored.is_none() && !keep.is_empty();
                if make {
                    let lifetime = self.manager.args.lifetimes().authority;
                    match Authority::make(MANAGED, now, lifetime) {
                        Ok(new) => keep.insert(0, new),
                        Err(error) => tracing::error!(%error, "cannot create a CA"),
                    }
                }
                if keep.is_empty() {
                    return Ok(());
                }
                self.cluster.store(seen, &keep).await?;
                self.dropped("Secret", &dropped);
                if restore {
                    self.event(ManagedEvent::SecretRestored);
                    tracing::warn!("the CA Secret was lost or invalid and has been restored");
                }
                if make {
                    self.event(ManagedEvent::AuthorityMade);
                }
                tracing::info!(authorities = keep.len(), made = make, "the Secret was written");
            }
            Step::Publish { configuration, bundle, dropped } => {
                self.cluster.publish(seen, configuration, &bundle).await?;
                self.dropped(configuration.kind(), &dropped);
                self.event(ManagedEvent::BundleWritten);
                let kind = configuration.kind();
                tracing::info!(kind, authorities = bundle.len(), "the caBundle was written");
            }
        }
        Ok(())
    }

    fn dropped(&self, from: &str, certs: &[Vec<u8>]) {
        let now = self.clock.latest();
        let described = certs.iter().filter_map(|cert| authority::describe(cert, now));
        for certificate in described.take(MAX_REPORTED) {
            self.event(ManagedEvent::AuthorityDropped);
            tracing::warn!(
                from,
                certificate,
                dropped = certs.len(),
                "a CA was dropped that is not in the CA Secret with its key: was it added manually?"
            );
        }
    }

    async fn sign(&mut self) {
        let now = self.clock.latest();
        let Some((authority, until)) = self.plan.sign(now) else { return };
        let cert = authority.cert.clone();
        match authority.sign(MANAGED, &self.manager.args.tls_managed_dns_name, until) {
            Err(error) => tracing::error!(%error, "cannot sign a certificate"),
            Ok((leaf, key)) => {
                self.manager.slot.put(leaf, key);
                self.plan.signed(now, cert, until);
                self.event(ManagedEvent::LeafSigned);
                let (app, reloader) = (self.manager.app.clone(), self.manager.reloader.clone());
                let poll = move || {
                    reloader.lock().poll(&app.metrics);
                };
                // The poll may read a file, so it runs on a blocking thread.
                let _ = tokio::task::spawn_blocking(poll).await;
            }
        }
    }

    /// Calls this server's own port, as the API server would.
    async fn check(&self) -> anyhow::Result<()> {
        if self.plan.leaf.is_none() {
            bail!("there is no certificate yet");
        }
        let authorities = self.plan.known.iter().map(|it| it.cert.as_slice().into());
        let now = u64::try_from(self.clock.earliest()).unwrap_or_default();
        let client = https::Client::trusting(authorities, Some(now))?;
        let name = self.manager.args.tls_managed_dns_name.first().context("no DNS name")?;
        let stream =
            client.connect(self.manager.address, ServerName::try_from(name.clone())?).await?;
        if self.manager.client_ca {
            return Ok(());
        }
        // The metrics do not count a GET as a review.
        let request = Request::get(Endpoint::Validate.path())
            .header(header::HOST, name)
            .body(Full::<Bytes>::default())?;
        let status = https::send(stream, request).await?.status();
        if status != StatusCode::METHOD_NOT_ALLOWED {
            bail!("a GET was answered with {status}");
        }
        Ok(())
    }
}
