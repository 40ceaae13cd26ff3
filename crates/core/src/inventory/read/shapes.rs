use k8s_openapi::{
    api::{
        admissionregistration::v1::ServiceReference,
        apps::v1::{StatefulSetOrdinals, StatefulSetPersistentVolumeClaimRetentionPolicy},
        autoscaling::v1::CrossVersionObjectReference,
        core::v1::{Affinity, ContainerPort, LimitRangeSpec, NodeSpec, ResourceQuotaSpec},
        policy::v1::PodDisruptionBudgetSpec,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference},
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::services::ServiceSpec;
use crate::inventory::prelude::*;
use crate::{
    inventory::{
        access::Access,
        configs::{Config, Refused},
        object_summary::{
            Autoscaler, Called, DisruptionBudget, Monitor, PodSecurity, Ports, ScaledClaims,
            Service,
        },
        traffic::TrafficPolicy,
        unserved,
    },
    kubernetes::pod_security::{ENFORCE_LABEL, VERSION_LABEL, WARN_LABEL, WARN_VERSION_LABEL},
    object::{annotations::EXCEED_ANNOTATION, namespace_or_default, whole::Whole},
};

/// `M` is the type of the labels and of the annotations.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound = "M: DeserializeOwned")]
pub(in crate::inventory) struct Metadata<M = IgnoredAny> {
    pub(in crate::inventory) name: Option<String>,
    pub(super) generate_name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) deletion_timestamp: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    pub(in crate::inventory) labels: Option<M>,
    pub(in crate::inventory) annotations: Option<M>,
}

type Texts = BTreeMap<String, String>;

/// Labels or annotations that may have values that the API server refuses.
pub(in crate::inventory) type Marks = BTreeMap<Box<str>, Value>;

#[derive(Deserialize)]
struct OfKind {
    kind: String,
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Template<S> {
    metadata: Option<Metadata<Texts>>,
    spec: Option<S>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "S: DeserializeOwned")]
struct ControllerSpec<S> {
    selector: Option<LabelSelector>,
    manual_selector: Option<bool>,
    replicas: Option<i32>,
    template: Option<Template<S>>,
    volume_claim_templates: Option<Vec<ClaimTemplate>>,
    persistent_volume_claim_retention_policy:
        Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    ordinals: Option<StatefulSetOrdinals>,
}

#[derive(Deserialize)]
struct ClaimTemplate {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct ReplicationControllerSpec {
    selector: Option<Texts>,
    template: Option<Template<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodPorts {
    host_network: Option<bool>,
    init_containers: Option<Vec<Container>>,
    containers: Option<Vec<Container>>,
    node_selector: Option<Texts>,
    affinity: Option<Affinity>,
    node_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    ports: Option<Vec<ContainerPort>>,
    restart_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutoscalerSpec {
    scale_target_ref: CrossVersionObjectReference,
    min_replicas: Option<i32>,
    max_replicas: i32,
    metrics: Option<Vec<Value>>,
    /// Of version 1.
    #[serde(rename = "targetCPUUtilizationPercentage")]
    target_utilization: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScaledSpec {
    scale_target_ref: CrossVersionObjectReference,
    min_replica_count: Option<i32>,
    max_replica_count: Option<i32>,
}

/// The annotations of a ScaledObject that does not scale.
const PAUSED: [&str; 2] = ["autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"];

/// The annotation of a ScaledObject that uses an existing HorizontalPodAutoscaler.
const TAKES_OVER: &str = "scaledobject.keda.sh/transfer-hpa-ownership";

/// Where kinds that controllers turn into Secrets have the Secret's name.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MakerSpec {
    secret_name: Option<String>,
    target: Option<MadeName>,
    destination: Option<MadeName>,
    template: Option<MadeTemplate>,
}

#[derive(Deserialize)]
struct MadeName {
    name: Option<String>,
}

#[derive(Deserialize)]
struct MadeTemplate {
    metadata: Option<MadeName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerticalSpec {
    target_ref: Option<CrossVersionObjectReference>,
    update_policy: Option<Update>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update {
    update_mode: Option<String>,
    min_replicas: Option<i32>,
}

#[derive(Deserialize)]
struct WebhookConfiguration {
    metadata: Metadata,
    webhooks: Option<Vec<Webhook>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    failure_policy: Option<String>,
    client_config: ClientConfig,
}

/// The spec of a CustomResourceDefinition.
#[derive(Deserialize)]
struct Conversions {
    conversion: Option<Conversion>,
}

#[derive(Deserialize)]
struct Conversion {
    webhook: Option<Webhook>,
}

#[derive(Deserialize)]
struct ClientConfig {
    service: Option<ServiceReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MonitorSpec {
    selector: Option<LabelSelector>,
    #[serde(alias = "podMetricsEndpoints")]
    endpoints: Option<Vec<Endpoint>>,
    namespace_selector: Option<Namespaces>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    port: Option<Box<str>>,
    relabelings: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Namespaces {
    #[serde(default)]
    any: bool,
    match_names: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    allocatable: Option<BTreeMap<String, Quantity>>,
}

pub(super) fn read(kind: Kind, json: &str) -> Option<ObjectSummary> {
    Some(match kind {
        Kind::DaemonSet | Kind::Deployment | Kind::StatefulSet => {
            item(kind, controller_with_ports(json)?)
        }
        Kind::ReplicaSet | Kind::Job => item(kind, replica_set_or_job(kind, json)?),
        Kind::ReplicationController => item(kind, replication_controller(json)?),
        Kind::Service => item(kind, service(json)?),
        Kind::PodDisruptionBudget => item(kind, disruption_budget(json)?),
        Kind::PodMonitor | Kind::ServiceMonitor => item(kind, monitor(json)?),
        Kind::Namespace => item(kind, namespace(json)?),
        Kind::NetworkPolicy => item(kind, network_policy(json)?),
        Kind::Node => item(kind, node(json)?),
        Kind::Pod => item(kind, pod(json)?),
        Kind::PersistentVolume | Kind::PriorityClass | Kind::RuntimeClass => {
            item(kind, (metadata::<IgnoredAny>(json)?, Role::Named))
        }
        Kind::ServiceAccount => {
            let metadata = metadata::<Marks>(json)?;
            let refused = Refused::of_metadata(&metadata);
            let account: AccountShape = serde_json::from_str(json).ok()?;
            let role = match (refused, account.automount_service_account_token) {
                (Some(it), _) => Role::Refused(Box::new(it)),
                (None, Some(false)) => Role::Access(Access::NoToken),
                (None, _) => Role::Named,
            };
            item(kind, (metadata, role))
        }
        Kind::ConfigMap | Kind::PersistentVolumeClaim | Kind::Secret => {
            let (metadata, config) = Config::read(kind, json)?;
            item(kind, (metadata, Role::Config(config)))
        }
        Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::Role | Kind::RoleBinding => {
            item(kind, (metadata::<IgnoredAny>(json)?, Role::Access(Access::read(json)?)))
        }
        Kind::ExternalSecret => item(kind, maker(json)?),
        Kind::LimitRange => {
            let (metadata, LimitRangeSpec { limits }) = whole::<_, IgnoredAny>(json)?;
            item(kind, (metadata, Role::Limits(limits)))
        }
        Kind::ResourceQuota => item(kind, quota(json)?),
        Kind::StorageClass => {
            let (_, class) = StorageClass::read(json).ok()?;
            item(kind, (metadata::<IgnoredAny>(json)?, Role::StorageClass(class)))
        }
        Kind::HorizontalPodAutoscaler => item(kind, autoscaler(json)?),
        Kind::ScaledObject => item(kind, scaled_object(json)?),
        Kind::VerticalPodAutoscaler => item(kind, vertical_autoscaler(json)?),
        Kind::MutatingWebhookConfiguration | Kind::ValidatingWebhookConfiguration => {
            item(kind, webhooks(json)?)
        }
        Kind::Unserved => item(kind, unserved::read(json)?),
        Kind::ControllerRevision | Kind::EndpointSlice | Kind::Event | Kind::Policy => return None,
    })
}

fn item<M>(kind: Kind, (metadata, role): (Metadata<M>, Role)) -> ObjectSummary {
    let set = metadata.namespace.filter(|namespace| !namespace.is_empty());
    let namespace = if kind.is_namespaced() { namespace_or_default(set.as_deref()) } else { "" };
    let name = metadata.name.filter(|name| !name.is_empty());
    ObjectSummary {
        kind,
        sets_namespace: set.is_some(),
        is_generated: name.is_none(),
        is_terminating: metadata.deletion_timestamp.is_some(),
        namespace: namespace.into(),
        name: name.or(metadata.generate_name).unwrap_or_default().into(),
        role,
        fixed: None,
        location: None,
    }
}

fn controller_with_ports(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<ControllerSpec<PodPorts>, _>(json)?;
    let mut controller = controller(&metadata, spec.selector.as_ref(), spec.template.as_ref());
    let pod = spec.template.as_ref().and_then(|it| it.spec.as_ref());
    controller.ports = pod.filter(|_| spec.replicas != Some(0)).and_then(ports);
    controller.scaled_claims = spec.scaled_claims().map(|claims| {
        let annotations = self::metadata::<Marks>(json).and_then(|it| it.annotations);
        let exceed = annotations.and_then(|it| it.get(EXCEED_ANNOTATION)?.as_str().map(Into::into));
        Box::new(ScaledClaims { exceed, ..claims })
    });
    Some((metadata, Role::Controller(controller)))
}

fn replica_set_or_job(kind: Kind, json: &str) -> Option<(Metadata, Role)> {
    let (metadata, mut spec) = whole::<ControllerSpec<IgnoredAny>, _>(json)?;
    // The API server generates all other selectors of Jobs, each for one Job only.
    if kind == Kind::Job && spec.manual_selector != Some(true) {
        spec.selector = None;
    }
    let controller = controller(&metadata, spec.selector.as_ref(), spec.template.as_ref());
    Some((metadata, Role::Controller(controller)))
}

fn replication_controller(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<ReplicationControllerSpec, _>(json)?;
    let labels = labels(spec.template.as_ref()).cloned();
    let match_labels = spec.selector.filter(|map| !map.is_empty()).or(labels);
    let selector = LabelSelector { match_labels, match_expressions: None };
    let controller = controller(&metadata, Some(&selector), spec.template.as_ref());
    Some((metadata, Role::Controller(controller)))
}

fn service(json: &str) -> Option<(Metadata<Marks>, Role)> {
    let (metadata, spec) = whole::<ServiceSpec, Marks>(json)?;
    let labels = metadata.labels.iter().flatten();
    let service = Service {
        is_headless: spec.cluster_ip.as_deref() == Some("None"),
        is_external: spec.type_.as_deref() == Some("ExternalName"),
        refused: spec
            .refused()
            .or_else(|| Refused::of_metadata(&metadata))
            .or_else(|| Refused::of_service_name(metadata.name.as_deref()?))
            .map(Box::new),
        publishes_unready: spec.publish_not_ready_addresses == Some(true),
        is_local: spec.internal_traffic_policy.as_deref() == Some("Local"),
        variables: spec.variables(metadata.name_length()),
        selector: spec.selector.iter().flatten().map(|it| (it.0, written(it.1))).collect(),
        node_ports: spec.node_ports(),
        targets: spec.targets(),
        names: spec.names(),
        labels: labels.filter_map(|(key, value)| Some((key, value.as_str()?))).collect(),
    };
    Some((metadata, Role::Service(service)))
}

/// The text that a number or boolean was meant to be.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Reads a quota. Keeps only the name of one with a scope, because that is for some pods only.
fn quota(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<ResourceQuotaSpec, _>(json)?;
    let is_for_some = spec.scope_selector.is_some() || spec.scopes.is_some_and(|it| !it.is_empty());
    let hard = spec.hard.filter(|_| !is_for_some);
    Some((metadata, hard.map_or(Role::Named, Role::Quota)))
}

fn disruption_budget(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<PodDisruptionBudgetSpec, _>(json)?;
    let budget = DisruptionBudget {
        selector: spec.selector.as_ref().and_then(Selector::of_any),
        min_available: spec.min_available,
        max_unavailable: spec.max_unavailable,
        evicts_unready: spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow"),
        is_owned: metadata.is_owned(),
    };
    Some((metadata, Role::DisruptionBudget(Box::new(budget))))
}

/// Reads a PodMonitor or ServiceMonitor. Keeps only the name of one for other namespaces.
fn monitor(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<MonitorSpec, _>(json)?;
    let selector = spec.selector.as_ref().and_then(Selector::of_any);
    let is_own = |it: &Namespaces| {
        !it.any && it.match_names.iter().flatten().all(|it| Some(it) == metadata.namespace.as_ref())
    };
    let selector = selector.filter(|_| spec.namespace_selector.as_ref().is_none_or(is_own));
    let ports = spec.endpoints.into_iter().flatten();
    let ports = ports.filter_map(|it| Some((it.port?, it.relabelings.is_none()))).collect();
    let monitor = selector.map(|selector| Role::Monitor(Box::new(Monitor { selector, ports })));
    Some((metadata, monitor.unwrap_or(Role::Named)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountShape {
    automount_service_account_token: Option<bool>,
}

/// Reads a NetworkPolicy. Keeps only the name of one in a different API group.
fn network_policy(json: &str) -> Option<(Metadata, Role)> {
    match whole::<TrafficPolicy, _>(json) {
        Some((metadata, policy)) => Some((metadata, Role::Traffic(Box::new(policy)))),
        None => Some((metadata(json)?, Role::Named)),
    }
}

fn namespace(json: &str) -> Option<(Metadata<Texts>, Role)> {
    let mut metadata = metadata::<Texts>(json)?;
    let mut labels = metadata.labels.take().unwrap_or_default();
    let mut label = |name: &str| labels.remove(name).map(Into::into);
    let pod_security = PodSecurity {
        level: label(ENFORCE_LABEL),
        version: label(VERSION_LABEL),
        warned: label(WARN_LABEL),
        warned_version: label(WARN_VERSION_LABEL),
    };
    Some((metadata, Role::Namespace(pod_security)))
}

fn node(json: &str) -> Option<(Metadata<Texts>, Role)> {
    let Whole::<Metadata<_>, Option<NodeSpec>, NodeStatus> { metadata, spec, status } =
        serde_json::from_str(json).ok()?;
    let taints = spec.and_then(|spec| spec.taints).unwrap_or_default();
    let labels = Labels::of(metadata.labels.as_ref());
    let node = Node::of(labels, taints, status.allocatable.as_ref());
    Some((metadata, Role::Node(node)))
}

fn autoscaler(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<AutoscalerSpec, _>(json)?;
    let CrossVersionObjectReference { kind, name, .. } = spec.scale_target_ref;
    let (least, most) = (Some(spec.min_replicas.unwrap_or(1)), spec.max_replicas);
    let metrics = spec.metrics.into_iter().flatten();
    let of_pods = |metric: &Value, key: &str| {
        let it = &metric[key];
        it["target"]["averageUtilization"].as_i64()?;
        Some((it["name"].as_str()?.into(), it["container"].as_str().map(Into::into)))
    };
    let kinds = ["resource", "containerResource"];
    let by_use = metrics.flat_map(|it| kinds.map(|kind| of_pods(&it, kind)));
    let mut by_use: Vec<_> = by_use.flatten().collect();
    by_use.extend(spec.target_utilization.map(|_| ("cpu".into(), None)));
    let (kind, name, by_use) = (kind.into(), name.into(), by_use.into());
    let is_shared = metadata.is_owned();
    let autoscaler = Autoscaler { kind, name, least, most, is_shared, by_use };
    Some((metadata, Role::Autoscaler(Box::new(autoscaler))))
}

/// Reads KEDA's ScaledObject. Keeps only the name of a paused one.
///
/// KEDA: `ScaleTarget` and `GetHPAMaxReplicas`, apis/keda/v1alpha1/scaledobject_types.go.
fn scaled_object(json: &str) -> Option<(Metadata<Texts>, Role)> {
    let (metadata, spec) = whole::<ScaledSpec, Texts>(json)?;
    if PAUSED.iter().any(|it| metadata.annotations.iter().any(|all| all.contains_key(*it))) {
        return Some((metadata, Role::Named));
    }
    let CrossVersionObjectReference { kind, name, .. } = spec.scale_target_ref;
    let autoscaler = Autoscaler {
        kind: if kind.is_empty() { "Deployment".into() } else { kind.into() },
        name: name.into(),
        least: Some(spec.min_replica_count.unwrap_or(0)),
        most: spec.max_replica_count.unwrap_or(100),
        is_shared: metadata.annotations.iter().any(|it| it.contains_key(TAKES_OVER)),
        by_use: Box::default(),
    };
    Some((metadata, Role::Autoscaler(Box::new(autoscaler))))
}

/// Reads a VerticalPodAutoscaler. Keeps only the name of one that replaces no pods: `RunOnce`,
/// pkg/updater/logic/updater.go.
fn vertical_autoscaler(json: &str) -> Option<(Metadata, Role)> {
    let (metadata, spec) = whole::<VerticalSpec, _>(json)?;
    let Update { update_mode, min_replicas: least } = spec.update_policy.unwrap_or_default();
    let replaces = match update_mode.as_deref() {
        None | Some("" | "Auto" | "Recreate") => true,
        // With enough replicas it replaces a pod only as the last resort.
        Some("InPlaceOrRecreate") => least.is_none(),
        _ => false,
    };
    let target = spec.target_ref.filter(|_| replaces);
    let Some(CrossVersionObjectReference { kind, name, .. }) = target else {
        return Some((metadata, Role::Named));
    };
    let (kind, name, by_use) = (kind.into(), name.into(), Box::default());
    let autoscaler = Autoscaler { kind, name, least, most: i32::MAX, is_shared: false, by_use };
    Some((metadata, Role::Autoscaler(Box::new(autoscaler))))
}

/// Reads the labels of a Pod without a controller. Keeps only the name of an object that a controller makes pods from,
/// and of a CustomResourceDefinition also the Service of its webhook.
fn pod(json: &str) -> Option<(Metadata, Role)> {
    let OfKind { kind, metadata } = serde_json::from_str(json).ok()?;
    if kind == "CustomResourceDefinition" {
        // The schemas can be long.
        let spec = whole::<Conversions, IgnoredAny>(json).map(|(_, spec)| spec);
        let service = spec.and_then(|it| it.conversion?.webhook?.client_config.service);
        return Some((metadata, Role::Webhooks(service.into_iter().map(called).collect())));
    }
    if kind != "Pod" {
        return Some((metadata, Role::Named));
    }
    let labels = Labels::of(self::metadata::<Texts>(json)?.labels.as_ref());
    let role = Role::Controller(Controller { labels, ..Controller::default() });
    (!metadata.is_owned()).then_some((metadata, role))
}

fn maker(json: &str) -> Option<(Metadata, Role)> {
    let Whole::<Metadata, Option<MakerSpec>> { mut metadata, spec, .. } =
        serde_json::from_str(json).ok()?;
    let MakerSpec { secret_name, target, destination, template } = spec.unwrap_or_default();
    let template = template.and_then(|it| it.metadata);
    let made = [target, destination, template].into_iter().flatten().find_map(|it| it.name);
    metadata.name = secret_name.or(made).or(metadata.name);
    Some((metadata, Role::Named))
}

fn webhooks(json: &str) -> Option<(Metadata, Role)> {
    let WebhookConfiguration { metadata, webhooks } = serde_json::from_str(json).ok()?;
    let needed =
        webhooks.into_iter().flatten().filter(|it| it.failure_policy.as_deref() != Some("Ignore"));
    let services = needed.filter_map(|it| it.client_config.service);
    Some((metadata, Role::Webhooks(services.map(called).collect())))
}

fn called(it: ServiceReference) -> Called {
    (it.namespace.into(), it.name.into(), it.port.unwrap_or(443).into())
}

fn whole<S: DeserializeOwned, M: DeserializeOwned>(json: &str) -> Option<(Metadata<M>, S)> {
    let Whole::<_, Option<S>> { metadata, spec, .. } = serde_json::from_str(json).ok()?;
    Some((metadata, spec?))
}

fn metadata<M: DeserializeOwned>(json: &str) -> Option<Metadata<M>> {
    serde_json::from_str::<Whole<_>>(json).ok().map(|whole| whole.metadata)
}

fn labels<S>(template: Option<&Template<S>>) -> Option<&Texts> {
    template?.metadata.as_ref()?.labels.as_ref()
}

fn controller<S>(
    metadata: &Metadata,
    selector: Option<&LabelSelector>,
    template: Option<&Template<S>>,
) -> Controller {
    let selector = selector.filter(|_| !metadata.is_owned()).and_then(Selector::of);
    Controller::of(selector, Labels::of(labels(template)))
}

fn ports(pod: &PodPorts) -> Option<Box<Ports>> {
    let inits = pod.init_containers.iter().flatten().enumerate();
    // `IsRestartableInitContainer`
    let sidecars = inits.filter(|(_, init)| init.restart_policy.as_deref() == Some("Always"));
    let sidecars = sidecars.map(|(i, container)| ("initContainers", i, &container.ports));
    let others = pod.containers.iter().flatten().enumerate();
    let others = others.map(|(i, container)| ("containers", i, &container.ports));
    let host_ports = HostPort::of(pod.host_network == Some(true), sidecars.chain(others));
    Ports::of(host_ports, || {
        Nodes::by(pod.node_selector.as_ref(), pod.affinity.as_ref(), pod.node_name.as_deref())
    })
}

impl<S> ControllerSpec<S> {
    fn scaled_claims(&self) -> Option<ScaledClaims> {
        let retention = self.persistent_volume_claim_retention_policy.as_ref()?;
        retention.when_scaled.as_deref().filter(|when| *when == "Delete")?;
        let claim =
            self.volume_claim_templates.as_ref()?.first()?.metadata.as_ref()?.name.as_deref()?;
        let start = self.ordinals.as_ref().and_then(|it| it.start).unwrap_or_default();
        Some(ScaledClaims { claim: claim.into(), start: start.into(), exceed: None })
    }
}

impl<M> Metadata<M> {
    /// The API server generates five characters.
    fn name_length(&self) -> usize {
        let generated = || self.generate_name.as_ref().map_or(0, |prefix| prefix.len() + 5);
        self.name.as_ref().map_or_else(generated, String::len)
    }

    fn is_owned(&self) -> bool {
        self.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
    }
}
