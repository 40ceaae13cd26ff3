use std::str::FromStr;

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

/// The ConfigMap that setguard patches with dryRun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub namespace: String,
    pub name: String,
}

impl FromStr for Target {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Ok(Target { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("expected NAMESPACE/NAME"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_namespace_and_a_name() {
        let target = Target { namespace: "guards".to_owned(), name: "setguard-x".to_owned() };
        assert_eq!("guards/setguard-x".parse(), Ok(target));
        for text in ["", "guards", "/x", "guards/"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
