use setguard_core::{kubernetes::names, words};

use crate::prelude::*;

words! {
    /// The kinds that the view contains.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
    pub enum Mode {
        /// None.
        #[default]
        Off => "off",
        /// DaemonSets, StatefulSets, Services, PodDisruptionBudgets, Namespaces, StorageClasses and
        /// PriorityClasses.
        Workloads => "workloads",
        /// Deployments and Nodes too.
        Full => "full",
    }
}

/// `--inventory`, and the flags that belong to it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InventoryArgs {
    /// Which objects of the cluster to watch, for the rules about several objects: none (off), those
    /// that belong to DaemonSets and StatefulSets (workloads), or Deployments and Nodes as well (full)
    #[arg(
        long,
        value_enum,
        value_name = "KINDS",
        default_value_t,
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub inventory: Mode,
    /// Watches only this namespace, where a Role is enough; Namespaces, Nodes and classes are then not
    /// watched (repeatable)
    #[arg(long, value_name = "NS", value_delimiter = ',', value_parser = namespace, hide_short_help = true)]
    pub inventory_namespaces: Vec<String>,
    /// Reads from the metrics of the API server which feature gates are on; needs the right to get
    /// /metrics
    #[arg(long, hide_short_help = true)]
    pub discover_feature_gates: bool,
    // For tests only.
    /// Divides all times of the view, such as the minute of a watch, by this number
    #[arg(long, value_name = "N", default_value_t = 1, hide = true,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub inventory_speed_up: u32,
}

impl InventoryArgs {
    pub(super) fn times(&self) -> Times {
        Times::divided_by(self.inventory_speed_up)
    }
}

/// Parses the name of a namespace. It becomes part of a path. Fails if the name is invalid.
pub fn namespace(text: &str) -> Result<String, String> {
    if !names::dns1123_label(text).is_empty() {
        return Err(format!("{text:?} is not the name of a namespace"));
    }
    Ok(text.to_owned())
}

/// The kinds that the view watches. It never watches Pods, ReplicaSets, Secrets and ConfigMaps: they are too many, or
/// their content is private. Small kinds come first: once a kind is complete, its rules can report.
const KINDS: [(Kind, Mode); 9] = [
    (Kind::PriorityClass, Mode::Workloads),
    (Kind::StorageClass, Mode::Workloads),
    (Kind::Namespace, Mode::Workloads),
    (Kind::DaemonSet, Mode::Workloads),
    (Kind::StatefulSet, Mode::Workloads),
    (Kind::PodDisruptionBudget, Mode::Workloads),
    (Kind::Service, Mode::Workloads),
    (Kind::Node, Mode::Full),
    (Kind::Deployment, Mode::Full),
];

/// Returns the kinds of a mode. Roles in some namespaces do not allow reading cluster-scoped objects.
pub(super) fn kinds(mode: Mode, cluster_wide: bool) -> impl Iterator<Item = Kind> {
    let kinds = KINDS.into_iter().filter(move |(_, from)| *from <= mode).map(|(kind, _)| kind);
    kinds.filter(move |kind| cluster_wide || kind.is_namespaced())
}
