//! `setguard serve`: HTTPS, certificates, probes and metrics around `admission`.

pub mod accept;
pub mod activation;
pub mod admin;
pub mod app;
pub mod args;
mod bind;
pub mod body;
mod call_tracker;
pub mod cleanup;
mod configuration;
pub mod connections;
mod files;
pub mod http_error;
pub(crate) mod https;
pub mod loopback;
pub mod managed;
pub mod metrics;
pub mod panics;
pub mod policy;
mod prelude;
pub mod probe;
mod record;
pub mod routes;
pub mod telemetry;
pub mod tls;
pub mod webhooks;

use std::{
    io::{self, Write as _},
    net::{IpAddr, SocketAddr},
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, anyhow};
use parking_lot::Mutex;
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

pub use self::args::ServeArgs;
use setguard_cluster::{
    live::{self, Live},
    signals::{Signals, Stop},
};

use self::{
    accept::{Acceptor, Open},
    app::{App, Phase},
    bind::{bind, reachable},
    managed::{Manager, cluster::no_api_server},
    tls::{Pair, Reloader, SelfSigner, Slot, Tls},
};

/// Serves until it receives a signal.
///
/// The exit code is 0 if all requests were answered, 1 if some were still in flight at the end of the grace period, and
/// 130 or 143 if a second signal (SIGINT or SIGTERM) cut the shutdown short. Fails if the flags, the policy, the
/// certificate or the ports are wrong: exit code 2.
pub fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let _log = telemetry::init(args.log_format, args.log_level.as_deref())
        .map_err(|error| anyhow!(error))?;
    panics::log_panics_by_place();
    // If a dependency compiled in a second crypto provider, rustls would choose neither.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();

    let (policy, mut policy_reloader) = policy::load(args.policy.clone(), args.if_policy_invalid)?;
    let app = App::with_view(policy, Live::new(&args.inventory));
    policy_reloader.report(&app);
    let (pair, mut signer) = certificate(args)?;
    let ca = signer.as_ref().map(SelfSigner::ca);
    let slot = match &pair {
        Pair::Memory(slot) if signer.is_none() => Some(slot.clone()),
        Pair::Memory(_) | Pair::Files { .. } => None,
    };
    let (client_ca, min_version) = (args.client_ca.clone(), args.tls_min_version);
    let source = tls::Source { pair, client_ca, min_version };
    let (tls, reloader) = tls::load(source, &app.metrics)?;
    let reloader = Arc::new(Mutex::new(reloader));

    see_cluster(args, &app)?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Blocking threads answer large reviews and are CPU-bound, so more threads than cores would not help.
        .max_blocking_threads(thread::available_parallelism().map_or(1, Into::into))
        .build()
        .context("cannot start the async runtime")?;

    let (polled, interval) = (app.clone(), args.poll_interval.max(Duration::from_millis(1)));
    let tls_reloader = reloader.clone();
    let poll = move || {
        loop {
            thread::sleep(interval);
            if let Some(Err(error)) = signer.as_mut().map(|it| it.renew(SystemTime::now())) {
                tracing::error!(%error, "cannot renew the self-signed certificate");
            }
            tls_reloader.lock().poll(&polled.metrics);
            policy_reloader.poll(&polled);
        }
    };
    // A separate thread, so that a file system that hangs does not block requests.
    thread::Builder::new()
        .name("reload".to_owned())
        .spawn(poll)
        .context("cannot start the reload thread")?;

    let managed = slot.map(|slot| (slot, reloader));
    let code = runtime.block_on(serve(args, app, tls, ca.as_deref(), managed))?;
    runtime.shutdown_background();
    Ok(code)
}

/// A server that needs the API server for anything also reads its release.
fn see_cluster(args: &ServeArgs, app: &Arc<App>) -> anyhow::Result<()> {
    let gates = args.inventory.discover_feature_gates;
    if !app.live.is_on() && !gates && !args.managed.tls_managed {
        return Ok(());
    }
    let told = app.clone();
    let on_release = move |release| told.set_release(release);
    let flag = match (app.live.is_on(), gates) {
        (true, _) => "--inventory",
        (false, true) => "--discover-feature-gates",
        (false, false) => "--tls-managed",
    };
    live::start(&app.live, gates, on_release).with_context(|| no_api_server(flag))
}

fn certificate(args: &ServeArgs) -> anyhow::Result<(Pair, Option<SelfSigner>)> {
    if let (Some(cert), Some(key)) = (args.tls_cert.clone(), args.tls_key.clone()) {
        return Ok((Pair::Files { cert, key }, None));
    }
    if args.managed.tls_managed {
        // Served until the managed CA has signed a certificate. No client trusts this one.
        let names = &args.managed.tls_managed_dns_name;
        let made = SelfSigner::new(names, args.tls_self_signed_lifetime, SystemTime::now())?;
        return Ok((Pair::Memory(made.slot()), None));
    }
    let mut names = args.tls_san.clone();
    let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    names.extend(local.into_iter().chain(specific(args.listen.ip()).map(|ip| ip.to_string())));
    names.sort();
    names.dedup();
    let signer = SelfSigner::new(&names, args.tls_self_signed_lifetime, SystemTime::now())
        .with_context(|| format!("cannot create a certificate for {}", names.join(", ")))?;
    Ok((Pair::Memory(signer.slot()), Some(signer)))
}

fn specific(ip: IpAddr) -> Option<IpAddr> {
    (!ip.is_unspecified()).then_some(ip)
}

struct Listening {
    /// The task that accepts webhook connections until `stop` is dropped.
    accepting: JoinHandle<Open>,
    stop: oneshot::Sender<()>,
    webhook: SocketAddr,
    admin: SocketAddr,
}

async fn serve(
    args: &ServeArgs,
    app: Arc<App>,
    tls: Arc<Tls>,
    ca: Option<&str>,
    managed: Option<(Slot, Arc<Mutex<Reloader>>)>,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new().context("cannot install the signal handlers")?;
    let listening = listen(args, &app, tls).await?;
    if let Some((slot, reloader)) = managed {
        app.set_waiting(Some("waiting for a certificate".to_owned()));
        let address = listening.webhook;
        let manager = Manager {
            app: app.clone(),
            args: args.managed.clone(),
            slot,
            reloader,
            address: SocketAddr::new(reachable(address.ip()), address.port()),
            client_ca: args.client_ca.is_some(),
        };
        manager.start().await?;
    }
    app.set_phase(Phase::Ready);
    if args.arming.arm_webhooks.is_none() || args.arming.arm_compare_only {
        call_tracker::warn_of_silence(app.clone(), args.expect_call_within);
    }
    activation::start(app.clone(), &args.arming, args.managed.tls_managed).await?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        webhook = %listening.webhook,
        admin = %listening.admin,
        kubernetes = %app.policy.load().cluster.version,
        "listening"
    );
    if let Some(ca) = ca {
        print_configurations(args, listening.webhook, ca)?;
    }
    let code = until_signals(args, &app, &mut signals, listening).await;
    if ca.is_some() {
        tracing::warn!("{WAY_BACK}");
    }
    Ok(code)
}

async fn listen(args: &ServeArgs, app: &Arc<App>, tls: Arc<Tls>) -> anyhow::Result<Listening> {
    let listener = bind("--listen", args.listen).await?;
    let admin = bind("--admin-listen", args.admin_listen).await?;
    let webhook = Acceptor::new(listener, tls, routes::router(app.clone()), app.clone());
    let (address, admin_address) = (webhook.local_addr()?, admin.local_addr()?);
    admin::start(admin.into_std()?, app.clone()).context("cannot start the admin thread")?;
    let (stop, stopped) = oneshot::channel::<()>();
    let accepting = tokio::spawn(webhook.run(async { stopped.await.unwrap_or_default() }));
    Ok(Listening { accepting, stop, webhook: address, admin: admin_address })
}

/// Serves until a signal arrives, then until all requests are answered, the grace period ends or a second signal
/// arrives.
async fn until_signals(
    args: &ServeArgs,
    app: &App,
    signals: &mut Signals,
    Listening { accepting, stop, .. }: Listening,
) -> ExitCode {
    let first = signals.next().await;
    app.set_phase(Phase::Draining);
    tracing::info!(signal = ?first, "shutting down; a second signal exits immediately");
    let drained = async {
        if first == Stop::Terminate {
            sleep(args.drain_delay).await;
        }
        drop(stop);
        match accepting.await {
            Ok(open) => finish(app, open, args.grace_period).await,
            Err(_) => false,
        }
    };
    tokio::select! {
        second = signals.next() => {
            tracing::warn!(signal = ?second, in_flight = app.metrics.in_flight(), "exiting now");
            ExitCode::from(second.exit_code())
        }
        all = drained => ExitCode::from(u8::from(!all)),
    }
}

const WAY_BACK: &str = "if you apply the printed configurations, the API server refuses each change of a DaemonSet or \
                        StatefulSet while this process does not run; to delete them: setguard cleanup";

fn print_configurations(args: &ServeArgs, address: SocketAddr, ca: &str) -> anyhow::Result<()> {
    let host = args.tls_san.first().cloned();
    let ip = specific(address.ip()).map(|ip| ip.to_string());
    let host = host.or(ip).unwrap_or_else(|| "127.0.0.1".to_owned());
    print(&webhooks::printed(&host, address.port(), ca)?);
    tracing::warn!("{WAY_BACK}");
    Ok(())
}

/// Returns whether all requests in flight were answered.
async fn finish(app: &App, open: Open, grace: Duration) -> bool {
    let quiet = async {
        // hyper closes an idle connection at once, but a connection that has never carried a request only at its idle
        // timeout, and Go's client keeps such connections in reserve. So stop after one second without a request in
        // flight: a request that is being sent right now arrives within that time.
        let mut idle_looks = 0;
        while idle_looks < 10 {
            sleep(Duration::from_millis(100)).await;
            idle_looks = if app.metrics.in_flight() == 0 { idle_looks + 1 } else { 0 };
        }
    };
    tokio::select! {
        () = open.close() => {}
        () = quiet => {}
        () = sleep(grace) => {}
    }
    let in_flight = app.metrics.in_flight();
    if in_flight > 0 {
        tracing::error!(in_flight, "the grace period is over; these requests get no answer");
    } else {
        tracing::info!("all requests have been answered");
    }
    in_flight == 0
}

/// Closes standard output, so that kubectl in `setguard serve | kubectl apply -f -` reads the end of its input.
fn print(yaml: &str) {
    let printed = io::stdout().lock().write_all(yaml.as_bytes()).and_then(|()| {
        io::stdout().flush()?;
        close_stdout()
    });
    if let Err(error) = printed {
        tracing::warn!(%error, "cannot print the webhook configurations");
    }
}

#[cfg(unix)]
fn close_stdout() -> io::Result<()> {
    let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere)?)
}

/// Standard output can't be closed without unsafe code, so kubectl waits until the server ends. Redirect the output to
/// a file instead.
#[cfg(not(unix))]
fn close_stdout() -> io::Result<()> {
    Ok(())
}
