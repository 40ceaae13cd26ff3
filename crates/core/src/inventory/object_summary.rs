//! The data of an object for rules about several objects.

use std::fmt;

use k8s_openapi::api::core::v1::{LimitRangeItem, PodTemplateSpec};

use super::{
    access::Access,
    configs::{Config, Rare, Refused, Use},
    demand::{Amounts, Demand},
    details::Details,
    fixed::Fixed,
    labels::ALLOCATION,
    removed_keys,
    traffic::{Traffic, TrafficPolicy},
};
use crate::inventory::prelude::*;
use crate::{
    finding::paths::{CONTAINERS, ROLLING_UPDATE, SELECTOR, SPEC, TEMPLATE_LABELS},
    kubernetes::{containers::is_sidecar, pod_security::FailedCheck},
};

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
}

/// An object, reduced to the data for rules about several objects.
///
/// It has no uid: two objects of one kind, namespace and name cannot exist at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSummary {
    pub(crate) kind: Kind,
    /// Whether the object sets its namespace. Otherwise, the namespace of the user who applies it counts.
    pub(crate) sets_namespace: bool,
    /// Whether the API server generates the end of the name, so that each request creates a new object.
    pub(crate) is_generated: bool,
    /// Whether the object is being deleted. Rules ignore it as a conflict, because it goes away soon, and don't report
    /// it as missing, because it still exists.
    pub is_terminating: bool,
    /// Empty for a cluster-scoped object.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) role: Role,
    /// What the API server refuses to change in an object other than a set; only in an input.
    pub fixed: Option<Box<Fixed>>,
    pub(crate) location: Option<Box<Location>>,
}

/// The namespace, the name and the port of a Service.
pub(crate) type Called = (Box<str>, Box<str>, i64);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    Named,
    /// An object whose fault is all that counts.
    Refused(Box<Refused>),
    Access(Access),
    Autoscaler(Box<Autoscaler>),
    Config(Config),
    Limits(Vec<LimitRangeItem>),
    /// A PodMonitor or ServiceMonitor.
    Monitor(Box<Monitor>),
    /// The limits of a quota for all pods.
    Quota(Amounts),
    DisruptionBudget(Box<DisruptionBudget>),
    StorageClass(StorageClass),
    Controller(Controller),
    Namespace(PodSecurity),
    Node(Node),
    Service(Service),
    /// A NetworkPolicy.
    Traffic(Box<TrafficPolicy>),
    /// The Services of webhooks that writes depend on.
    Webhooks(Box<[Called]>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Controller {
    /// `None` if a controller owns this one, if the selector is generated, or if the API server rejects it.
    pub(crate) selector: Option<Selector>,
    pub(crate) labels: Labels,
    pub(crate) ports: Option<Box<Ports>>,
    /// The claims that a stored StatefulSet deletes when it is scaled down.
    pub(crate) scaled_claims: Option<Box<ScaledClaims>>,
    /// Set for a DaemonSet or StatefulSet that rules evaluate.
    pub(crate) details: Option<Box<Details>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScaledClaims {
    pub(crate) claim: Box<str>,
    pub(crate) start: i64,
    pub(crate) exceed: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ports {
    pub(crate) host_ports: Box<[HostPort]>,
    pub(crate) nodes: Nodes,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Service {
    pub(crate) is_headless: bool,
    /// Whether the Service is an alias for an external host.
    pub(crate) is_external: bool,
    pub(crate) refused: Option<Box<Refused>>,
    /// Whether pods have DNS records before they are ready.
    pub(crate) publishes_unready: bool,
    /// Whether each node connects only to its own pods.
    pub(crate) is_local: bool,
    /// The bytes of the Service's environment variables in each container of its namespace.
    pub(crate) variables: u32,
    pub(crate) selector: Labels,
    /// The ports on all nodes; only in an input.
    pub(crate) node_ports: Box<[i64]>,
    /// The ports of the Service, each with its port of the pods; only in an input.
    pub(crate) targets: Box<[(i64, NamedPort)]>,
    /// The names of the ports; only in an input.
    pub(crate) names: Box<[Box<str>]>,
    /// The Service's own labels; only in an input.
    pub(crate) labels: Labels,
}

/// The pods or Services of its own namespace that a PodMonitor or ServiceMonitor selects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Monitor {
    pub(crate) selector: Selector,
    /// The names of the ports, each with whether Prometheus keeps all of its targets.
    pub(crate) ports: Box<[(Box<str>, bool)]>,
}

/// A port of a pod with a name, or a number in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPort {
    pub(crate) name: Box<str>,
    /// `TCP`, unless it is set.
    pub(crate) protocol: Box<str>,
}

/// A resource, and the container if only one counts.
type MeasuredUse = (Box<str>, Option<Box<str>>);

/// A HorizontalPodAutoscaler, a ScaledObject, or a VerticalPodAutoscaler that replaces pods: its target and its limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Autoscaler {
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    /// The fewest replicas. A VerticalPodAutoscaler replaces no pods below this number, if set.
    pub(crate) least: Option<i32>,
    pub(crate) most: i32,
    /// Whether a ScaledObject owns it, or it takes over an existing HorizontalPodAutoscaler.
    pub(crate) is_shared: bool,
    /// The resources whose use in percent of the requests it measures, each in all containers or in one.
    pub(crate) by_use: Box<[MeasuredUse]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DisruptionBudget {
    pub(crate) selector: Option<Selector>,
    pub(crate) min_available: Option<IntOrString>,
    pub(crate) max_unavailable: Option<IntOrString>,
    pub(crate) evicts_unready: bool,
    pub(crate) is_owned: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PodSecurity {
    pub(crate) level: Option<Box<str>>,
    pub(crate) version: Option<Box<str>>,
    /// The level that the API server warns about.
    pub(crate) warned: Option<Box<str>>,
    pub(crate) warned_version: Option<Box<str>>,
}

impl NamedPort {
    pub(super) fn of(name: &str, protocol: Option<&str>) -> Self {
        NamedPort { name: name.into(), protocol: protocol.unwrap_or("TCP").into() }
    }

    /// Returns the ports of a pod that Services find: `FindPort`, endpointslice utils.go.
    fn all(pod: &PodSpec) -> Box<[Self]> {
        let sidecars = pod.init_containers.iter().flatten().filter(|it| is_sidecar(it));
        let ports = pod.containers.iter().chain(sidecars).flat_map(|it| it.ports.iter().flatten());
        let named = ports.filter_map(|it| Some((it.name.as_deref()?, it.protocol.as_deref())));
        named.map(|(name, protocol)| NamedPort::of(name, protocol)).collect()
    }
}

impl ObjectSummary {
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the namespace: `default` if the object sets none, empty if it is cluster-scoped.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the annotation `setguard.io/exceed`. The summary of a stored object has it only if the
    /// object is a StatefulSet that deletes claims when scaled down.
    pub fn exceed(&self) -> Option<&str> {
        let controller = self.controller()?;
        let details = controller.details.as_ref().and_then(|it| it.exceed.as_deref());
        details.or_else(|| controller.scaled_claims.as_ref()?.exceed.as_deref())
    }

    /// Returns the annotation `setguard.io/ignore`.
    pub fn ignore(&self) -> Option<&str> {
        self.details()?.ignore.as_deref()
    }

    /// Returns the fields that findings may be about, in a fixed order.
    pub fn fields(&self) -> Vec<Field> {
        let (Some(controller), Some(details)) = (self.controller(), self.details()) else {
            return Vec::new();
        };
        let mut fields =
            vec![TEMPLATE_LABELS.to_field(), POD_SPEC.to_field(), CONTAINERS.to_field()];
        let mut add = |has: bool, field: Path<'_>| fields.extend(has.then(|| field.to_field()));
        add(controller.selector.is_some(), SELECTOR);
        add(self.kind == Kind::StatefulSet, SPEC.child("replicas"));
        add(details.service_name.is_some(), SPEC.child("serviceName"));
        add(details.service_account.is_some(), POD_SPEC.child("serviceAccountName"));
        add(details.mounts_token == Some(false), POD_SPEC.child("automountServiceAccountToken"));
        add(details.priority_class.is_some(), POD_SPEC.child("priorityClassName"));
        add(details.runtime_class.is_some(), POD_SPEC.child("runtimeClassName"));
        if let Some(lookups) = &details.lookups {
            add(true, POD_SPEC.child(lookups.field));
        }
        add(details.replaces_all, ROLLING_UPDATE.child("maxUnavailable"));
        if let Some((field, _)) = &details.nodes {
            add(true, POD_SPEC.child(field));
            add(*field == "nodeSelector", POD_SPEC.child("affinity"));
        }
        add(self.kind == Kind::DaemonSet, POD_SPEC.child("tolerations"));
        fields.extend(details.waits.iter().map(|it| it.field.clone()));
        fields.extend(controller.host_ports().iter().map(HostPort::field));
        fields.extend(details.misread.iter().map(|(field, _)| field.clone()));
        fields.extend(details.demand.iter().map(|it| it.field.clone()));
        fields.extend((0..details.claims.len()).map(Details::claim_field));
        fields.extend(details.configs.iter().map(|it| it.field.clone()));
        let loopback = details.traffic.iter().flat_map(|it| &it.on_loopback);
        fields.extend(loopback.map(|it| it.0.clone()));
        let named = details.storage_classes.iter().map(|(template, _)| template);
        let templates = named.chain(&details.default_classes);
        fields.extend(templates.map(|template| Details::storage_class_field(*template)));
        fields
    }

    /// Records what a namespace may refuse, before the template is dropped.
    #[must_use]
    pub fn with_refusals(mut self, template: &PodTemplateSpec) -> Self {
        if let Role::Controller(Controller { details: Some(details), .. }) = &mut self.role {
            details.refusals = FailedCheck::all(template).into();
            details.demand = template.spec.as_ref().map(Demand::all).unwrap_or_default();
        }
        self
    }

    /// Adds the data of the template that the rules about an input need, before the template is dropped.
    #[must_use]
    pub fn with_template(mut self, template: &PodTemplateSpec) -> Self {
        if let (Role::Controller(Controller { details: Some(details), .. }), Some(pod)) =
            (&mut self.role, &template.spec)
        {
            details.configs = Use::all(pod);
            details.removed_keys = removed_keys::of_pod(pod);
            details.ports = NamedPort::all(pod);
            details.traffic = Some(Box::new(Traffic::of(pod)));
        }
        self
    }

    /// Records whether the manifest sets `replicas`; a stored object always has the field.
    #[must_use]
    pub fn with_replicas_set(mut self, is_set: bool) -> Self {
        if let Role::Controller(Controller { details: Some(details), .. }) = &mut self.role {
            details.sets_replicas = is_set;
        }
        self
    }

    /// Sets the position in its file.
    pub fn set_location(&mut self, file: Arc<str>, line: usize) {
        self.location = Some(Box::new(Location { file, line }));
    }

    /// Returns the name of its file, if it comes from a file.
    pub fn file(&self) -> Option<&str> {
        self.location.as_deref().map(|it| &*it.file)
    }

    /// Returns whether findings may be about this object.
    pub fn is_evaluated(&self) -> bool {
        self.details().is_some()
    }

    pub(crate) fn details(&self) -> Option<&Details> {
        self.controller()?.details.as_deref()
    }

    /// Returns the keys of a ConfigMap or Secret; `None` if it may have others too.
    pub(crate) fn keys(&self) -> Option<&BTreeSet<Box<str>>> {
        self.config()?.keys.as_ref()
    }

    pub(crate) fn hosts(&self) -> &[(Box<str>, Box<str>)] {
        self.config().map_or(&[], |it| &it.hosts)
    }

    /// Returns whether a ConfigMap, Secret or claim stays in the cluster when the manifests no longer have it.
    pub fn is_kept(&self) -> bool {
        self.rare().is_some_and(|it| it.order.is_kept())
    }

    /// Returns whether a hook of Helm makes a ConfigMap, Secret or claim.
    pub fn is_hook(&self) -> bool {
        self.rare().is_some_and(|it| it.order.helm.is_some())
    }

    /// Returns the data that few ConfigMaps and Secrets have.
    pub(crate) fn rare(&self) -> Option<&Rare> {
        self.config()?.rare.as_deref()
    }

    /// Returns whether no cluster serves the version of the object.
    pub fn is_unserved(&self) -> bool {
        self.kind == Kind::Unserved
    }

    /// Returns why the API server refuses a neighbor.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        match &self.role {
            Role::Config(_) => self.rare()?.refused.as_ref(),
            Role::Service(service) => service.refused.as_deref(),
            Role::Refused(refused) => Some(refused),
            _ => None,
        }
    }

    /// Returns the selector of a budget or a monitor.
    pub(crate) fn pod_selector(&self) -> Option<&Selector> {
        match &self.role {
            Role::DisruptionBudget(budget) => budget.selector.as_ref(),
            Role::Monitor(monitor) => Some(&monitor.selector),
            _ => None,
        }
    }

    pub(crate) fn monitor(&self) -> Option<&Monitor> {
        match &self.role {
            Role::Monitor(monitor) => Some(monitor),
            _ => None,
        }
    }

    pub(crate) const fn access(&self) -> Option<&Access> {
        match &self.role {
            Role::Access(access) => Some(access),
            _ => None,
        }
    }

    pub(crate) fn webhooks(&self) -> &[Called] {
        match &self.role {
            Role::Webhooks(services) => services,
            _ => &[],
        }
    }

    pub(crate) fn is(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.kind == kind && &*self.namespace == namespace && &*self.name == name
    }

    pub(crate) const fn is_set(&self) -> bool {
        matches!(self.kind, Kind::DaemonSet | Kind::StatefulSet)
    }

    pub(crate) fn bytes(&self) -> usize {
        let role = match &self.role {
            Role::Access(access) => access.bytes(),
            Role::Autoscaler(it) => size_of::<Autoscaler>() + it.kind.len() + it.name.len(),
            Role::Config(config) => config.bytes(),
            Role::Monitor(monitor) => size_of::<Monitor>() + monitor.selector.bytes(),
            Role::Limits(limits) => limits.len() * size_of::<LimitRangeItem>(),
            Role::Quota(hard) => hard.len() * size_of::<(String, String)>(),
            Role::StorageClass(_) | Role::Named => 0,
            Role::Refused(refused) => size_of::<Refused>() + refused.bytes(),
            Role::DisruptionBudget(budget) => {
                size_of::<DisruptionBudget>() + budget.selector.as_ref().map_or(0, Selector::bytes)
            }
            Role::Controller(controller) => controller.bytes(),
            Role::Namespace(_) => 32,
            Role::Node(node) => node.bytes(),
            Role::Service(service) => service.selector.bytes(),
            Role::Traffic(_) => size_of::<TrafficPolicy>(),
            Role::Webhooks(texts) => {
                texts.iter().map(|it| it.0.len() + it.1.len() + 4 * ALLOCATION).sum()
            }
        };
        // The allocation also contains the counts of the Arc.
        size_of::<ObjectSummary>() + 2 * ALLOCATION + self.name.len() + ALLOCATION + role
    }

    /// Returns whether both are the same object, given twice.
    pub fn is_same(&self, other: &ObjectSummary) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && self.namespace == other.namespace
            && !self.is_generated
    }

    /// Returns whether both are the same object, and its file contains it twice without a difference.
    pub fn is_copy_of(&self, other: &ObjectSummary) -> bool {
        self.is_same(other)
            && self.file() == other.file()
            && self.sets_namespace == other.sets_namespace
            && self.is_terminating == other.is_terminating
            && self.role == other.role
    }
}

/// Declares a method for the data of each of these roles.
macro_rules! roles {
    ($($name:ident: $role:ident($data:ty),)*) => {
        impl ObjectSummary {
            $(pub(crate) fn $name(&self) -> Option<&$data> {
                match &self.role {
                    Role::$role(it) => Some(it),
                    _ => None,
                }
            })*
        }
    };
}

roles! {
    config: Config(Config),
    controller: Controller(Controller),
    pod_security: Namespace(PodSecurity),
    limits: Limits([LimitRangeItem]),
    quota: Quota(Amounts),
    autoscaler: Autoscaler(Autoscaler),
    class: StorageClass(StorageClass),
    budget: DisruptionBudget(DisruptionBudget),
    service: Service(Service),
    traffic: Traffic(TrafficPolicy),
}

impl Controller {
    pub(crate) fn host_ports(&self) -> &[HostPort] {
        self.ports.as_ref().map_or(&[], |ports| &ports.host_ports)
    }

    fn bytes(&self) -> usize {
        let ports = self.ports.as_ref().map_or(0, |ports| {
            size_of::<Ports>() + ports.host_ports.len() * size_of::<HostPort>() + 256
        });
        let claims = self.scaled_claims.as_ref().map_or(0, |it| {
            let exceed = it.exceed.as_ref().map_or(0, |text| text.len() + ALLOCATION);
            size_of::<ScaledClaims>() + it.claim.len() + 2 * ALLOCATION + exceed
        });
        self.labels.bytes() + self.selector.as_ref().map_or(0, Selector::bytes) + ports + claims
    }
}

/// `DaemonSet agent (deploy/agent.yaml:12)`
impl fmt::Display for ObjectSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            // Its name begins with its kind.
            Kind::Unserved => f.write_str(&self.name)?,
            kind => write!(f, "{kind} {}", self.name)?,
        }
        match self.location.as_deref() {
            Some(Location { file, line }) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}
