use super::plan::Lifetimes;
use crate::server::prelude::*;
use crate::server::tls::authority::seconds;
use crate::server::tls::host;

/// A running replica restores a lost Secret in less than a second.
const PATIENCE: Time = 10;

/// `--tls-managed`, and the flags that it requires.
#[derive(Clone, Debug, clap::Args)]
pub struct ManagedArgs {
    /// Keeps a CA in a Secret of the cluster, signs certificates with it, and keeps the caBundle of
    /// the webhook configurations up to date
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_self_signed", "tls_san"],
        requires_all = ["tls_managed_namespace", "tls_managed_secret", "tls_managed_dns_name",
            "tls_managed_webhook_config"])]
    pub tls_managed: bool,
    /// Namespace of the Secret
    #[arg(long, value_name = "NS", requires = "tls_managed", hide_short_help = true)]
    pub tls_managed_namespace: Option<String>,
    /// Name of the Secret with the CA. setguard creates it if it may
    #[arg(long, value_name = "NAME", requires = "tls_managed", hide_short_help = true)]
    pub tls_managed_secret: Option<String>,
    /// DNS name of the Service, such as setguard.setguard.svc (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = host, requires = "tls_managed", hide_short_help = true)]
    pub tls_managed_dns_name: Vec<String>,
    /// Name of both the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; either
    /// may be missing, or be created later
    #[arg(long, value_name = "NAME", requires = "tls_managed", hide_short_help = true)]
    pub tls_managed_webhook_config: Option<String>,
    // The flags below are for tests.
    /// Lifetime of a CA; a new one is created after two thirds of it
    #[arg(long, value_parser = duration::parse, default_value = "8760h", hide = true)]
    pub tls_managed_ca_lifetime: Duration,
    /// Lifetime of a leaf certificate; a new one is signed after two thirds of it
    #[arg(long, value_parser = duration::parse, default_value = "168h", hide = true)]
    pub tls_managed_leaf_lifetime: Duration,
    /// How long a CA is published before anything is signed with it
    #[arg(long, value_parser = duration::parse, default_value = "1m", hide = true)]
    pub tls_managed_settle: Duration,
    /// How often to check everything, in addition to after each change
    #[arg(long, value_parser = duration::parse, default_value = "1m", hide = true)]
    pub tls_managed_check_interval: Duration,
}

impl ManagedArgs {
    pub(crate) fn lifetimes(&self) -> Lifetimes {
        Lifetimes {
            authority: seconds(self.tls_managed_ca_lifetime),
            leaf: seconds(self.tls_managed_leaf_lifetime),
            settle: seconds(self.tls_managed_settle),
            patience: PATIENCE,
        }
    }
}
