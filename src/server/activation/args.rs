use super::target::Target;
use crate::server::prelude::*;

/// `--arm-webhooks`, and the flags that require it.
#[derive(Clone, Debug, clap::Args)]
pub struct ActivationArgs {
    /// Name of both webhook configurations: write the rules that their annotation setguard.io/webhooks
    /// lists, once the API server can call this server
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub arm_webhooks: Option<String>,
    /// Namespace that becomes the owner of webhook configurations that Helm installed, so that it takes them along when
    /// it is deleted
    #[arg(long, value_name = "NS", requires = "arm_webhooks", hide_short_help = true)]
    pub arm_owner: Option<String>,
    /// ConfigMap that setguard patches with dryRun, to see that the API server calls it; the default is NAME-rehearsal
    /// in the namespace of --arm-owner, or else of the pod
    #[arg(long, value_name = "NAMESPACE/NAME", requires = "arm_webhooks", hide_short_help = true)]
    pub arm_rehearsal: Option<Target>,
    /// SHA-256 of the annotation setguard.io/webhooks of each configuration as the chart wrote it: another annotation
    /// counts as changed by another client (repeatable)
    #[arg(
        long,
        value_name = "SHA256",
        value_delimiter = ',',
        requires = "arm_webhooks",
        hide_short_help = true
    )]
    pub arm_annotations: Vec<String>,
    /// Compares the webhooks with the annotation and reports changes, but writes nothing
    #[arg(long, requires = "arm_webhooks", hide_short_help = true)]
    pub arm_compare_only: bool,
    // For tests.
    /// How often to check the rules, in addition to after each change
    #[arg(long, value_parser = duration::parse, default_value = "1m", hide = true)]
    pub arm_check_interval: Duration,
}
