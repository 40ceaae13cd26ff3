use crate::rules::prelude::*;
use crate::{
    inventory::labels::{Labels, Selector},
    kubernetes::managed_labels,
};

pub(super) static RULE: Rule = rule! {
    id: "selector-misses-pods", group: Names;
    title: "one label keeps the selector from the pods",
    summary: "a Service, budget or PodMonitor whose selector misses the pods by a single label",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// The most objects of a kind in a namespace that are compared with a set.
const MOST: usize = 200;
/// A different value of such a label means other pods.
const NAMES: [&str; 4] = ["app", "app.kubernetes.io/name", "k8s-app", "name"];
/// Programs add labels with such words to their pods themselves.
const ROLES: [&str; 8] =
    ["active", "leader", "master", "primary", "replica", "role", "slave", "standby"];

fn check(query: &Query<'_>, found: &mut Findings) {
    for kind in [Kind::Service, Kind::PodDisruptionBudget, Kind::PodMonitor] {
        for (item, miss) in missing(query, kind) {
            let effect = match kind {
                Kind::Service => "nothing answers there",
                Kind::PodMonitor => "Prometheus reads no metrics of them",
                _ => "it protects none of them",
            };
            report(item, "the pods have", "the template", &miss, effect, found);
        }
    }
    for (monitor, service, miss) in unmonitored(query) {
        let (has, effect) = (format!("{service} has"), "Prometheus reads no metrics of its pods");
        report(monitor, &has, "the Service", &miss, effect, found);
    }
}

fn report(
    item: &ObjectSummary,
    who_has: &str,
    what: &str,
    miss: &Miss<'_>,
    effect: &str,
    found: &mut Findings,
) {
    let (key, value) = miss.wanted;
    let (has, help) = match miss.own {
        Some((own, value)) => (format!("{own}={value}"), format!("select {own}: {value}")),
        None => (
            format!("no label {key}"),
            format!("remove {key} from the selector, or add it to the labels of {what}"),
        ),
    };
    let message =
        format!("the selector of {item} has {key}={value}, and {who_has} {has}, so {effect}");
    let is_unsure = miss.own.is_none();
    found.via(item.kind(), &TEMPLATE_LABELS, Reason::Invalid, message, help).noted_if(is_unsure);
}

/// The monitors that select no Service of the input, but would select one of these if they required one label less.
fn unmonitored<'a>(
    query: &Query<'a>,
) -> impl Iterator<Item = (&'a ObjectSummary, &'a ObjectSummary, Miss<'a>)> {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let own = &query.controller.labels;
    let monitors = inventory.in_namespace(Kind::ServiceMonitor, namespace).take(MOST);
    monitors.filter_map(move |monitor| {
        let wanted = labels(monitor)?;
        let services = || inventory.in_namespace(Kind::Service, namespace).take(MOST);
        let near = |it: &&ObjectSummary| {
            it.service().is_some_and(|it| lacks(wanted, &it.labels).take(2).count() < 2)
        };
        let mut near = services().filter(near);
        let (Some(service), None) = (near.next(), near.next()) else { return None };
        let it = service.service()?;
        let is_own =
            it.selector.iter().next().is_some() && lacks(&it.selector, own).next().is_none();
        let miss = Miss::of(wanted, &it.labels)?;
        is_own.then_some((monitor, service, miss))
    })
}

pub(super) struct Miss<'a> {
    wanted: (&'a str, &'a str),
    /// The label of the pods that the author meant.
    own: Option<(&'a str, &'a str)>,
}

/// The objects that select no pods of the input, but would select the pods of this set if they required one label less.
pub(super) fn missing<'a>(
    query: &Query<'a>,
    kind: Kind,
) -> impl Iterator<Item = (&'a ObjectSummary, Miss<'a>)> {
    let (set, inventory, query) = (query.item, query.inventory(), *query);
    // Only an input shows which objects belong together. Objects of other kinds may have the pods.
    let is_known = !query.knows_all(kind) && query.knows(kind, set.namespace());
    let is_known = is_known && inventory.all(Kind::Pod).all(|it| it.controller().is_some());
    let all = inventory.in_namespace(kind, set.namespace()).take(MOST).filter(move |_| is_known);
    all.filter_map(move |item| {
        let own = &query.controller.labels;
        // service-selects-nothing reports the Service that a StatefulSet names.
        let governing = query.details.service_name.as_deref().filter(|_| kind == Kind::Service);
        let wanted = labels(item).filter(|_| governing != Some(item.name()))?;
        // Drains skip the pods of a DaemonSet, so a budget is seldom meant for them.
        let may_be_meant = kind == Kind::PodMonitor || set.kind() == Kind::StatefulSet;
        let is_meant = |it: &Miss<'_>| it.own.is_some() || may_be_meant;
        let is_named_so = kind == Kind::Service && item.name() == set.name();
        let of_name = || Miss::of_name(wanted, own).filter(|_| is_named_so);
        let miss = Miss::of(wanted, own).filter(is_meant).or_else(of_name)?;
        // The object selects these pods, or may be meant for them too.
        let is_other = |it: &ObjectSummary| {
            let labels = it.controller().map(|it| &it.labels);
            labels.is_some_and(|it| lacks(wanted, it).take(2).count() < 2) && !it.is_same(set)
        };
        (!inventory.items().any(|(_, it)| is_other(it))).then_some((item, miss))
    })
}

fn labels(item: &ObjectSummary) -> Option<&Labels> {
    if let Some(service) = item.service() {
        return Some(&service.selector).filter(|_| !service.is_external);
    }
    match item.pod_selector()? {
        Selector::Labels(labels) => Some(labels),
        Selector::Needs(_) => None,
    }
}

fn lacks<'a>(wanted: &'a Labels, own: &Labels) -> impl Iterator<Item = (&'a str, &'a str)> {
    wanted.iter().filter(|(key, value)| own.get(key) != Some(*value))
}

impl<'a> Miss<'a> {
    /// The difference from the pods of a set with the name of the Service: the same keys, with other values.
    fn of_name(wanted: &'a Labels, own: &'a Labels) -> Option<Self> {
        let has_all = wanted.iter().all(|(key, _)| own.get(key).is_some());
        let is_role = |text: &str| ROLES.iter().any(|it| text.contains(it));
        let mut lacking = lacks(wanted, own).filter(|_| has_all);
        let (key, value) =
            lacking.next().filter(|(key, value)| !is_role(key) && !is_role(value))?;
        Some(Miss { wanted: (key, value), own: own.get(key).map(|its| (key, its)) })
    }

    /// `None` unless exactly one label differs, and it is not one that is added to the pods.
    fn of(wanted: &'a Labels, own: &'a Labels) -> Option<Self> {
        let mut lacking = lacks(wanted, own);
        let (key, value) = lacking.next().filter(|_| lacking.next().is_none())?;
        let managed = |kind| managed_labels::of(kind).contains(&key);
        let is_added = managed(WorkloadKind::DaemonSet)
            || managed(WorkloadKind::StatefulSet)
            || ROLES.iter().any(|it| key.contains(it) || value.contains(it));
        if is_added {
            return None;
        }
        let is_of_app = wanted.iter().any(|(own, _)| own != key && NAMES.contains(&own));
        let own = match own.get(key) {
            Some(its) if near(value, its) || is_of_app && !NAMES.contains(&key) => Some((key, its)),
            Some(_) => return None,
            None => own.iter().find(|(own, its)| {
                *its == value && (near(key, own) || NAMES.contains(&key) && NAMES.contains(own))
            }),
        };
        (own.is_some() || is_of_app).then_some(Miss { wanted: (key, value), own })
    }
}

/// A typo, not the number of a sibling.
fn near(wanted: &str, own: &str) -> bool {
    let letters = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    wanted.len() > 3 && letters(wanted) != letters(own) && nearest_of(wanted, [own]).is_some()
}
