//! The flags of `setguard serve`.

use setguard_cluster::live::InventoryArgs;
use setguard_files::policy_file::args::PolicyArgs;

use super::{
    activation::ActivationArgs,
    managed::ManagedArgs,
    policy::IfInvalid,
    telemetry::LogFormat,
    tls::{MinVersion, host},
};
use crate::server::prelude::*;

/// Run the admission webhook server
///
/// Every flag can also be set by an environment variable. Exit codes: 0 stopped by SIGTERM or SIGINT with every request
/// answered; 1 stopped with requests still in flight at the end of the grace period; 2 wrong flags, policy (see
/// --if-policy-invalid), certificate or address; 130 or 143 stopped immediately by a second signal.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  setguard serve | kubectl apply -f -      # guard a cluster from this machine
  setguard serve --tls-cert tls.crt --tls-key tls.key --policy policy.yaml")]
pub struct ServeArgs {
    /// Address for requests from the API server, over HTTPS; the default includes IPv4, and is
    /// 0.0.0.0:8443 on a machine without IPv6
    #[arg(long, value_name = "ADDR", default_value = "[::]:8443")]
    pub listen: SocketAddr,
    /// Address for probes and metrics, over plain HTTP
    #[arg(long, value_name = "ADDR", default_value = "[::]:8080", hide_short_help = true)]
    pub admin_listen: SocketAddr,
    /// The policy; its file is read again when it changes
    #[command(flatten, next_help_heading = "Policy")]
    pub policy: PolicyArgs,
    /// What to do at startup if the policy is invalid; later, the last valid one stays in force
    #[arg(long, value_name = "ACTION", value_enum, default_value_t, hide_short_help = true)]
    pub if_policy_invalid: IfInvalid,
    /// Certificate chain (PEM); read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    pub tls_cert: Option<PathBuf>,
    /// Private key (PEM); read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub tls_key: Option<PathBuf>,
    /// Creates a certificate in memory and prints webhook configurations that trust it; this is the
    /// default without --tls-cert and --tls-managed
    #[arg(long, conflicts_with = "tls_cert", help_heading = "TLS")]
    pub tls_self_signed: bool,
    /// Additional host name or IP address for the self-signed certificate, which always includes
    /// localhost; the first one is the host in the printed webhook configurations (repeatable)
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = host,
        conflicts_with = "tls_cert", help_heading = "TLS", hide_short_help = true)]
    pub tls_san: Vec<String>,
    // For tests only.
    /// Lifetime of the self-signed certificate; a new one is signed after two thirds of it
    #[arg(long, value_parser = duration::parse, default_value = "8760h", hide = true)]
    pub tls_self_signed_lifetime: Duration,
    /// The flags for a certificate that setguard manages in the cluster
    #[command(flatten, next_help_heading = "Managed certificate")]
    pub managed: ManagedArgs,
    /// The flags for arming the webhook configurations
    #[command(flatten, next_help_heading = "Activation")]
    pub arming: ActivationArgs,
    /// How long to wait for the first call of an API server before the log warns that none has called; 0 means for
    /// ever. With --arm-webhooks, setguard finds out by itself
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse,
        hide_short_help = true)]
    pub expect_call_within: Duration,
    /// The flags for the view of the cluster
    #[command(flatten, next_help_heading = "View of the cluster")]
    pub inventory: InventoryArgs,
    /// Accept only clients with a certificate from one of these CAs (PEM); read again when it
    /// changes
    #[arg(long, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub client_ca: Option<PathBuf>,
    /// The oldest version of TLS that clients may use
    #[arg(
        long,
        value_name = "VERSION",
        value_enum,
        default_value_t,
        help_heading = "TLS",
        hide_short_help = true
    )]
    pub tls_min_version: MinVersion,
    // The sum of the drain delay and the grace period is less than a pod's default
    // terminationGracePeriodSeconds of 30.
    /// How long to keep accepting connections after SIGTERM while reporting not ready, so that the
    /// cluster can remove this server from its Service; SIGINT skips this delay
    #[arg(long, value_name = "DURATION", default_value = "5s",
        value_parser = duration::parse, help_heading = "Shutdown", hide_short_help = true)]
    pub drain_delay: Duration,
    /// How long requests in flight may take to finish after the drain delay
    #[arg(long, value_name = "DURATION", default_value = "20s",
        value_parser = duration::parse, help_heading = "Shutdown", hide_short_help = true)]
    pub grace_period: Duration,
    // The kubelet takes about a minute to update a Secret or ConfigMap in a pod anyway.
    /// How often to check files for changes
    #[arg(long, value_name = "DURATION", default_value = "10s",
        value_parser = duration::parse, hide = true, help_heading = "Policy")]
    pub poll_interval: Duration,
    /// Log format
    #[arg(long, value_enum, default_value_t, help_heading = "Log", hide_short_help = true)]
    pub log_format: LogFormat,
    /// Log level or filter, such as debug; the default is RUST_LOG, and info if that is not set
    #[arg(long, value_name = "FILTER", help_heading = "Log")]
    pub log_level: Option<String>,
}
