use super::neighbors::services;
use crate::{
    inventory::{
        Inventory, access::Access, configs::Refused, fixed::Refusals, object_summary::Service,
    },
    rules::prelude::*,
};

pub(super) static RULE: Rule = rule! {
    id: "neighbor-refused", group: NeverStarts;
    title: "the API server refuses what the pods need",
    summary: "a ConfigMap, Secret, Service or the like that the API server refuses",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// Returns the alternative to a change that the API server refuses.
pub const fn instead(kind: Kind) -> &'static str {
    match kind {
        Kind::PersistentVolumeClaim => "leave the field as it is, or move the data to a new claim",
        _ => "give it another name, or delete it and apply it again",
    }
}

fn check(query: &Query<'_>, found: &mut Findings) {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let details = query.details;
    let account = details
        .service_account
        .as_ref()
        .map(|name| (Kind::ServiceAccount, name, POD_SPEC.child("serviceAccountName").to_field()));
    let configs = details.configs.iter().map(|it| (it.kind, &it.name, it.field.clone()));
    // Several containers often read the same object.
    let mut seen = HashSet::new();
    for (kind, name, field) in configs.chain(account).filter(|it| seen.insert((it.0, it.1))) {
        let mut all = inventory.named(kind, namespace, name);
        let (Some(item), None) = (all.next(), all.next()) else { continue };
        let Some(Refused { why, help }) = item.refused() else { continue };
        let message = format!(
            "the API server refuses its {item}, because {why}, and without it the pods never start"
        );
        found.via(kind, field, Reason::NotFound, message, help.to_string());
    }
    for (item, service) in services::of_pods(query) {
        let refused = item.refused().cloned().or_else(|| taken(query, item, service));
        let Some(Refused { why, help }) = refused else { continue };
        let is_governing = details.service_name.as_deref() == Some(item.name());
        let field = if is_governing { SPEC.child("serviceName") } else { TEMPLATE_LABELS };
        let message = format!(
            "the API server refuses the {item}, because {why}, so nothing can connect to it"
        );
        found.via(Kind::Service, &field, Reason::NotFound, message, String::from(help));
    }
    // It stops the whole input, so one set is enough.
    let mut sets = SETS.iter().flat_map(|kind| inventory.all(*kind));
    if sets.find(|it| it.is_evaluated()).is_some_and(|it| it.is_same(query.item)) {
        for item in inventory.all(Kind::Unserved) {
            let Some(Refused { why, help }) = item.refused() else { continue };
            let message = format!(
                "no cluster serves {item} {why}, so kubectl apply ends with an error, and Helm and Argo CD apply nothing"
            );
            let reason = Reason::NotSupported;
            found.via(item.kind(), &TEMPLATE_LABELS, reason, message, help.to_string());
        }
    }
    let Some(refusals) = query.refusals().filter(|it| !it.is_empty()) else { return };
    for (kind, field, message) in changes(refusals, inventory, query.item) {
        found.via(kind, field, Reason::Forbidden, message, instead(kind));
    }
}

/// An earlier Service of the same file has the nodePort. Services of two files may never be applied together.
///
/// Kubernetes: `allocHealthCheckNodePort` and `initNodePorts`, pkg/registry/core/service/storage/alloc.go.
fn taken(query: &Query<'_>, item: &ObjectSummary, own: &Service) -> Option<Refused> {
    let place = item.location.as_deref()?;
    own.node_ports.iter().find_map(|port| {
        let other = query.inventory().with_node_port(*port).next()?;
        let before = other.location.as_deref()?;
        let is_before = before.file == place.file && before.line < place.line;
        (is_before && !other.is_same(item)).then(|| {
            let help = "give it another nodePort, or leave the field out";
            Refused::new(format!("{other} has nodePort {port} too"), help)
        })
    })
}

/// Returns the objects that a set uses and whose change the API server refuses, each with its kind, the field of the
/// set and the message.
pub fn changes<'a>(
    refusals: &'a Refusals,
    inventory: &'a Inventory,
    set: &'a ObjectSummary,
) -> impl Iterator<Item = (Kind, Field, String)> + 'a {
    let mut seen = HashSet::new();
    let namespace = set.namespace();
    let configs = set.details().into_iter().flat_map(|it| &it.configs).filter_map(move |it| {
        let id = (it.kind, namespace, &*it.name);
        let (item, why) = refusals.of(inventory, id).filter(|_| seen.insert(id))?;
        Some((item, why, it.field.clone()))
    });
    let others = OTHERS.into_iter().flat_map(move |kind| {
        let namespace = (kind == Kind::Service).then_some(namespace);
        refusals.all(inventory, kind, namespace)
    });
    let others = others.filter_map(|(item, why)| Some((item, why, field(set, item)?)));
    configs.chain(others).map(|(item, why, field)| {
        (item.kind(), field, format!("the API server refuses the change of its {item}: {why}"))
    })
}

/// The kinds whose objects a set does not name one by one.
const OTHERS: [Kind; 5] = [
    Kind::ClusterRoleBinding,
    Kind::PriorityClass,
    Kind::RoleBinding,
    Kind::Service,
    Kind::StorageClass,
];

/// Returns where a set uses an object.
fn field(set: &ObjectSummary, item: &ObjectSummary) -> Option<Field> {
    let details = set.details()?;
    let is = |name: &Option<Box<str>>| name.as_deref() == Some(item.name());
    match item.kind() {
        Kind::PriorityClass if is(&details.priority_class) => {
            Some(POD_SPEC.child("priorityClassName").to_field())
        }
        Kind::StorageClass => {
            let mut all = details.storage_classes.iter();
            let (template, _) = all.find(|it| *it.1 == *item.name())?;
            Some(Details::storage_class_field(*template))
        }
        Kind::Service => {
            let (selector, labels) = (&item.service()?.selector, &set.controller()?.labels);
            let selects = selector.iter().next().is_some()
                && selector.iter().all(|(key, value)| labels.get(key) == Some(value));
            is(&details.service_name)
                .then(|| SPEC.child("serviceName").to_field())
                .or_else(|| selects.then(|| TEMPLATE_LABELS.to_field()))
        }
        Kind::ClusterRoleBinding | Kind::RoleBinding => {
            let Access::Binding(_, _, accounts) = item.access()? else { return None };
            let is_own = accounts.iter().any(|(namespace, name)| {
                details.service_account.as_ref() == Some(name)
                    && namespace.as_deref().unwrap_or(item.namespace()) == set.namespace()
            });
            is_own.then(|| POD_SPEC.child("serviceAccountName").to_field())
        }
        _ => None,
    }
}
