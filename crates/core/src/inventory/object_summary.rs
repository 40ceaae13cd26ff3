//! The data of one object for the rules about several objects.

use std::{collections::BTreeSet, fmt, sync::Arc};

use k8s_openapi::{
    api::core::v1::{LimitRangeItem, PodSpec, PodTemplateSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{
    configs::{Keys, Use},
    demand::{Amounts, Demand},
    details::Details,
    host_port::HostPort,
    labels::{ALLOCATION, Labels, Selector},
    node::Node,
    nodes::Nodes,
};
use crate::{
    finding::{
        Field, Path,
        paths::{CONTAINERS, POD_SPEC, SELECTOR, SPEC, TEMPLATE_LABELS},
    },
    kubernetes::{containers::is_sidecar, kind::Kind, pod_security::FailedCheck},
    object::storage_class::StorageClass,
};

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
}

/// An object, reduced to the data that the rules about several objects need.
///
/// An item has no uid: two objects of one kind, namespace and name cannot exist at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSummary {
    pub(crate) kind: Kind,
    /// Whether the object sets its namespace. If not, the namespace of the user who applies it
    /// counts.
    pub(crate) sets_namespace: bool,
    /// Whether the API server generates the end of the name, so that each request creates a new
    /// object.
    pub(crate) is_generated: bool,
    /// Whether the object is being deleted. No rule holds such an object against another, as it
    /// will soon be gone, or reports it as missing, as it is still there.
    pub is_terminating: bool,
    /// The namespace; empty for a cluster-scoped object.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) role: Role,
    /// The position in its file, if the object comes from a file.
    pub(crate) location: Option<Box<Location>>,
    /// The memory that the item takes in an inventory.
    pub(super) memory: MemorySize,
}

/// The approximate number of bytes that an object takes, without the parts that it shares with
/// earlier objects. Two objects are equal whatever they take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemorySize(pub(super) u32);

impl PartialEq for MemorySize {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The role of an object for other objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// An object of which only the name matters.
    Named,
    Autoscaler(Box<Autoscaler>),
    Config(Keys),
    Limits(Vec<LimitRangeItem>),
    /// The limits of a quota for all pods.
    Quota(Amounts),
    DisruptionBudget(Box<DisruptionBudget>),
    StorageClass(StorageClass),
    Controller(Controller),
    Namespace(PodSecurity),
    Node(Node),
    Service(Service),
}

/// A controller of pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Controller {
    /// The selector of the pods that it adopts. `None` if another controller owns it, if its
    /// selector is generated, or if the API server rejects its selector.
    pub(crate) selector: Option<Selector>,
    /// The labels of its pods.
    pub(crate) labels: Labels,
    /// The ports of the node that the pods claim, if they claim any.
    pub(crate) ports: Option<Box<Ports>>,
    /// The claims that a StatefulSet in a cluster deletes when it is scaled down, if it does.
    pub(crate) scaled_claims: Option<Box<ScaledClaims>>,
    /// More data of a DaemonSet or StatefulSet that is evaluated.
    pub(crate) details: Option<Box<Details>>,
}

/// The claims that a StatefulSet deletes when it is scaled down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScaledClaims {
    /// The name of the first claim template.
    pub(crate) claim: Box<str>,
    /// The first ordinal.
    pub(crate) start: i64,
    /// The value of the annotation that permits to exceed limits.
    pub(crate) exceed: Option<Box<str>>,
}

/// The ports of the node that the pods of a controller claim, and the nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ports {
    pub(crate) host_ports: Box<[HostPort]>,
    pub(crate) nodes: Nodes,
}

/// A Service.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Service {
    pub(crate) is_headless: bool,
    /// Whether the Service is a name for a host outside the cluster.
    pub(crate) is_external: bool,
    /// Whether pods have DNS records before they are ready.
    pub(crate) publishes_unready: bool,
    /// The bytes that the variables of the Service take in each container of its namespace.
    pub(crate) variables: u32,
    pub(crate) selector: Labels,
    /// The ports of pods to which the Service connects by their names; only in an input.
    pub(crate) targets: Box<[NamedPort]>,
}

/// A port of a pod with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPort {
    pub(crate) name: Box<str>,
    /// `TCP`, unless it is set.
    pub(crate) protocol: Box<str>,
}

/// A HorizontalPodAutoscaler, or a VerticalPodAutoscaler that replaces pods: the object that it scales, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Autoscaler {
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    /// The least replicas; of a VerticalPodAutoscaler those without which it replaces no pod, if it sets them.
    pub(crate) least: Option<i32>,
    pub(crate) most: i32,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DisruptionBudget {
    /// The pods that the budget protects; `None` if it protects none.
    pub(crate) selector: Option<Selector>,
    pub(crate) min_available: Option<IntOrString>,
    pub(crate) max_unavailable: Option<IntOrString>,
    /// Whether a pod that is not ready may be evicted at any time.
    pub(crate) evicts_unready: bool,
    /// Whether a controller, such as an operator, owns the budget.
    pub(crate) is_owned: bool,
}

/// The Pod Security Standards that a Namespace enforces: the values of its labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PodSecurity {
    pub(crate) level: Option<Box<str>>,
    pub(crate) version: Option<Box<str>>,
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
    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the namespace; `default` if the object does not set it, and empty for a
    /// cluster-scoped kind.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of the annotation `setguard.io/exceed`. In a cluster it is known only for a
    /// StatefulSet that deletes claims when it is scaled down.
    pub fn exceed(&self) -> Option<&str> {
        let controller = self.controller()?;
        let details = controller.details.as_ref().and_then(|it| it.exceed.as_deref());
        details.or_else(|| controller.scaled_claims.as_ref()?.exceed.as_deref())
    }

    /// Returns the value of the annotation `setguard.io/ignore`.
    pub fn ignore(&self) -> Option<&str> {
        self.details()?.ignore.as_deref()
    }

    /// Returns the fields that findings can be about, always in the same order.
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
        add(details.priority_class.is_some(), POD_SPEC.child("priorityClassName"));
        add(details.runtime_class.is_some(), POD_SPEC.child("runtimeClassName"));
        if let Some((field, _)) = &details.nodes {
            add(true, POD_SPEC.child(field));
        }
        add(self.kind == Kind::DaemonSet, POD_SPEC.child("tolerations"));
        if let Some(wait) = &details.waits {
            wait.at(|path| fields.push(path.to_field()));
        }
        for port in controller.host_ports() {
            port.at(|path| fields.push(path.to_field()));
        }
        fields.extend(details.misread.iter().map(|(field, _)| field.clone()));
        fields.extend(details.demand.iter().map(|it| it.field.clone()));
        fields.extend((0..details.claims.len()).map(Details::claim_field));
        fields.extend(details.configs.iter().map(|it| it.field.clone()));
        let named = details.storage_classes.iter().map(|(template, _)| template);
        let templates = named.chain(&details.default_classes);
        fields.extend(templates.map(|template| Details::storage_class_field(*template)));
        fields
    }

    /// Adds what a namespace may refuse in the pods, for when the template will be gone.
    #[must_use]
    pub fn with_refusals(mut self, template: &PodTemplateSpec) -> Self {
        if let Role::Controller(Controller { details: Some(details), .. }) = &mut self.role {
            details.refusals = FailedCheck::all(template).into();
            details.demand = template.spec.as_ref().map(Demand::all).unwrap_or_default();
        }
        self
    }

    /// Adds what the rules about an input need of the template, which will be gone.
    #[must_use]
    pub fn with_template(mut self, template: &PodTemplateSpec) -> Self {
        if let (Role::Controller(Controller { details: Some(details), .. }), Some(pod)) =
            (&mut self.role, &template.spec)
        {
            details.configs = Use::all(pod);
            details.ports = NamedPort::all(pod);
        }
        self
    }

    /// Notes whether the manifest sets the number of replicas, which a stored object always has.
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

    pub(crate) const fn controller(&self) -> Option<&Controller> {
        match &self.role {
            Role::Controller(controller) => Some(controller),
            _ => None,
        }
    }

    /// Returns whether findings can be about this item.
    pub fn is_evaluated(&self) -> bool {
        self.details().is_some()
    }

    pub(crate) fn details(&self) -> Option<&Details> {
        self.controller()?.details.as_deref()
    }

    pub(crate) const fn pod_security(&self) -> Option<&PodSecurity> {
        match &self.role {
            Role::Namespace(pod_security) => Some(pod_security),
            _ => None,
        }
    }

    /// Returns the keys of a ConfigMap or Secret; `None` if it may have others too.
    pub(crate) const fn keys(&self) -> Option<&BTreeSet<Box<str>>> {
        match &self.role {
            Role::Config(keys) => keys.0.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn limits(&self) -> Option<&[LimitRangeItem]> {
        match &self.role {
            Role::Limits(limits) => Some(limits),
            _ => None,
        }
    }

    pub(crate) const fn quota(&self) -> Option<&Amounts> {
        match &self.role {
            Role::Quota(hard) => Some(hard),
            _ => None,
        }
    }

    pub(crate) const fn autoscaler(&self) -> Option<&Autoscaler> {
        match &self.role {
            Role::Autoscaler(autoscaler) => Some(autoscaler),
            _ => None,
        }
    }

    pub(crate) const fn class(&self) -> Option<&StorageClass> {
        match &self.role {
            Role::StorageClass(class) => Some(class),
            _ => None,
        }
    }

    pub(crate) const fn budget(&self) -> Option<&DisruptionBudget> {
        match &self.role {
            Role::DisruptionBudget(budget) => Some(budget),
            _ => None,
        }
    }

    pub(crate) const fn service(&self) -> Option<&Service> {
        match &self.role {
            Role::Service(service) => Some(service),
            _ => None,
        }
    }

    /// Returns whether the item has this kind, namespace and name.
    pub(crate) fn is(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.kind == kind && &*self.namespace == namespace && &*self.name == name
    }

    /// Returns whether the item is a DaemonSet or a StatefulSet.
    pub(crate) const fn is_set(&self) -> bool {
        matches!(self.kind, Kind::DaemonSet | Kind::StatefulSet)
    }

    /// Returns the approximate number of bytes that the item takes, without the labels.
    pub(crate) fn bytes(&self) -> usize {
        let role = match &self.role {
            Role::Autoscaler(it) => size_of::<Autoscaler>() + it.kind.len() + it.name.len(),
            Role::Config(keys) => keys.bytes(),
            Role::Limits(limits) => limits.len() * size_of::<LimitRangeItem>(),
            Role::Quota(hard) => hard.len() * size_of::<(String, String)>(),
            Role::StorageClass(_) | Role::Named => 0,
            Role::DisruptionBudget(budget) => {
                size_of::<DisruptionBudget>() + budget.selector.as_ref().map_or(0, Selector::bytes)
            }
            Role::Controller(controller) => controller.bytes(),
            Role::Namespace(_) => 32,
            Role::Node(node) => node.bytes(),
            Role::Service(service) => service.selector.bytes(),
        };
        // The allocation also has the counts of the Arc.
        size_of::<ObjectSummary>() + 2 * ALLOCATION + self.name.len() + ALLOCATION + role
    }

    /// Returns whether both items are one object, which is in the input twice.
    pub fn is_same(&self, other: &ObjectSummary) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && self.namespace == other.namespace
            && !self.is_generated
    }

    /// Returns whether rules find the same in both items: one object, which a file has twice without a change.
    pub fn is_copy_of(&self, other: &ObjectSummary) -> bool {
        self.is_same(other)
            && self.file() == other.file()
            && self.sets_namespace == other.sets_namespace
            && self.is_terminating == other.is_terminating
            && self.role == other.role
    }
}

impl Controller {
    /// Returns the ports of the node that its pods claim.
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

/// `DaemonSet agent (deploy/agent.yaml:12)`.
impl fmt::Display for ObjectSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        match self.location.as_deref() {
            Some(Location { file, line }) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}
