//! The flags of `setguard serve`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use super::{duration, host::host, managed::ManagedArgs, telemetry::LogFormat};
use crate::policy::args::PolicyArgs;

/// Answer the API server: an admission webhook
///
/// Every flag can be given as an environment variable too. Exit codes: 0 ended by SIGTERM or SIGINT
/// with every request answered; 1 some were still in flight at the end of the grace period; 2 wrong
/// flags, policy, certificate or address; 130 or 143 ended at once by a second signal.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  setguard serve | kubectl apply -f -           try it against a cluster on this machine
  setguard serve --tls-cert tls.crt --tls-key tls.key --policy policy.yaml")]
pub struct ServeArgs {
    /// Where to answer the API server, over HTTPS
    #[arg(long, value_name = "ADDR", env = "SETGUARD_LISTEN", default_value = "0.0.0.0:8443")]
    pub listen: SocketAddr,
    /// Where to answer probes and Prometheus, over plain HTTP
    #[arg(
        long,
        value_name = "ADDR",
        env = "SETGUARD_ADMIN_LISTEN",
        default_value = "0.0.0.0:8080"
    )]
    pub admin_listen: SocketAddr,
    /// The policy file is read again when it changes
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Certificate chain (PEM); read again when it changes
    #[arg(long, value_name = "FILE", env = "SETGUARD_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key (PEM); read again when it changes
    #[arg(long, value_name = "FILE", env = "SETGUARD_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Make a certificate in memory and print the webhook configurations that trust it; this is
    /// what happens without --tls-cert and --tls-managed
    #[arg(long, env = "SETGUARD_TLS_SELF_SIGNED", conflicts_with = "tls_cert")]
    pub tls_self_signed: bool,
    /// Name or address that the self-signed certificate is for, beside localhost; the first is the
    /// host in the printed webhook configurations (repeatable)
    #[arg(
        long,
        value_name = "HOST",
        env = "SETGUARD_TLS_SAN",
        value_delimiter = ',',
        value_parser = host,
        conflicts_with = "tls_cert"
    )]
    pub tls_san: Vec<String>,
    /// A certificate that is managed in the cluster
    #[command(flatten)]
    pub managed: ManagedArgs,
    /// Accept only clients that show a certificate of these authorities (PEM); read again when it
    /// changes
    #[arg(long, value_name = "FILE", env = "SETGUARD_CLIENT_CA")]
    pub client_ca: Option<PathBuf>,
    // Drain and grace together stay below a pod's usual terminationGracePeriodSeconds of 30.
    /// How long to go on accepting after SIGTERM while reporting not ready, so that the cluster can
    /// take this server out of its Service; SIGINT does not wait
    #[arg(
        long,
        value_name = "DURATION",
        env = "SETGUARD_DRAIN_DELAY",
        default_value = "5s",
        value_parser = duration::from_arg
    )]
    pub drain_delay: Duration,
    /// How long requests in flight may take to finish after that
    #[arg(
        long,
        value_name = "DURATION",
        env = "SETGUARD_GRACE_PERIOD",
        default_value = "20s",
        value_parser = duration::from_arg
    )]
    pub grace_period: Duration,
    // Secrets and ConfigMaps reach a pod a minute late anyhow.
    /// How often files are looked at for changes
    #[arg(
        long,
        value_name = "DURATION",
        env = "SETGUARD_POLL_INTERVAL",
        default_value = "10s",
        value_parser = duration::from_arg,
        hide = true
    )]
    pub poll_interval: Duration,
    /// What the log looks like
    #[arg(long, value_enum, env = "SETGUARD_LOG_FORMAT", default_value_t)]
    pub log_format: LogFormat,
    /// What is logged, such as debug; without it RUST_LOG decides, and without that info
    #[arg(long, value_name = "FILTER", env = "SETGUARD_LOG_LEVEL")]
    pub log_level: Option<String>,
}
