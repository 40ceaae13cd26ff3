//! The pods, claims, revisions and nodes in a cluster.

pub(super) mod neighbors;

use k8s_openapi::{
    api::core::v1::PodTemplateSpec, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use setguard_core::{
    inventory::view::{Freshness, View},
    kubernetes::{
        resource::WorkloadKind,
        selector::{self, matches_labels},
        semantic,
    },
    object::defaults,
    observed::{
        Event, LONGEST_GAP, LONGEST_WAIT, Node, Owner, PersistentVolume, PersistentVolumeClaim,
        PodDisruptionBudget, Revision, SLACK, StorageClass,
    },
    rollout::node::NodeInfo,
};

use crate::prelude::*;

/// Namespace and name.
type Name = (Box<str>, Box<str>);

type Labels = BTreeMap<String, String>;

#[derive(Debug)]
struct RevisionTemplate {
    kind: WorkloadKind,
    /// The value of the label on the pods.
    on_pods: String,
    /// The newest revision has the highest number.
    number: i64,
    template: PodTemplateSpec,
}

#[derive(Debug, Default)]
pub(super) struct PlannedCluster {
    /// Whether the input has all pods and claims, so no others exist.
    pub(super) is_whole: bool,
    has_pods: bool,
    pods: BTreeMap<Owner, Vec<Member>>,
    /// Pods without an owner, by namespace. A set with a matching selector adopts them.
    orphans: BTreeMap<Box<str>, Vec<Member>>,
    /// Pods whose owner isn't a set.
    strangers: BTreeSet<Name>,
    claims: BTreeMap<Name, PersistentVolumeClaim>,
    /// Claims with a deletion timestamp. Each exists until no pod uses it.
    ending_claims: BTreeMap<Name, PersistentVolumeClaim>,
    /// Whether the reclaim policy of a volume is `Retain`, by volume name.
    volumes: BTreeMap<Box<str>, bool>,
    /// Whether the reclaim policy of a StorageClass is `Retain`, by class name.
    classes: BTreeMap<Box<str>, bool>,
    /// The last PodDisruptionBudget of a name wins.
    budgets: BTreeMap<Name, PodDisruptionBudget>,
    ending: BTreeMap<Owner, Vec<Member>>,
    /// Terminating pods that no set owns.
    ending_orphans: Vec<Member>,
    /// The claims owned by a pod, by the pod's namespace and name, each with the uid of the pod. Deleting the pod
    /// deletes the claims.
    owned: BTreeMap<Name, Vec<(Box<str>, String)>>,
    /// The last refusals to create or delete pods, by the reason of the event.
    refusals: BTreeMap<(Owner, Box<str>), Event>,
    /// When the terminating namespaces were deleted.
    ending_namespaces: BTreeMap<Box<str>, String>,
    revisions: BTreeMap<Owner, Vec<RevisionTemplate>>,
    /// Revisions without an owner, by namespace, with all their labels.
    orphaned_revisions: BTreeMap<Box<str>, Vec<(Labels, RevisionTemplate)>>,
    /// `None` if the input has no nodes.
    pub(super) nodes: Option<Vec<NodeInfo>>,
    pub(super) dead_nodes: BTreeSet<String>,
    /// The nodes in the form that rules use.
    pub(super) view: View,
    pub(super) now: Timestamp,
    /// The newest time in the input, in seconds since 1970: the cluster was read then, or later.
    pub(super) seen: i64,
}

impl PlannedCluster {
    pub(super) fn add(
        &mut self,
        api_version: &str,
        kind: &str,
        json: &str,
    ) -> Result<(), serde_json::Error> {
        match (api_version, kind) {
            ("v1", "Pod") => self.add_pod(Member::read(json)?),
            ("v1", "PersistentVolumeClaim") => {
                let (name, claim) = PersistentVolumeClaim::read(json)?;
                if claim.deleted.is_some() {
                    self.ending_claims.insert(name, claim);
                } else {
                    for (pod, uid) in &claim.owner_pods {
                        let owned = self.owned.entry((name.0.clone(), pod.clone())).or_default();
                        owned.push((uid.clone(), name.1.to_string()));
                    }
                    self.claims.insert(name, claim);
                }
            }
            ("v1", "PersistentVolume") => {
                let (name, volume) = PersistentVolume::read(json)?;
                self.volumes.insert(name, volume.is_retained);
            }
            ("storage.k8s.io/v1", "StorageClass") => {
                let (name, class) = StorageClass::read(json)?;
                self.classes.insert(name, class.retains_volumes);
            }
            ("v1", "Node") => self.add_node(json)?,
            ("policy/v1", "PodDisruptionBudget") => {
                let budget = PodDisruptionBudget::read(json)?;
                self.budgets.insert((budget.namespace.clone(), budget.name.clone()), budget);
            }
            ("apps/v1", "ControllerRevision") => self.add_revision(json)?,
            ("v1", "Event") => self.add_event(json)?,
            ("v1", "Namespace") => {
                let metadata = &serde_json::from_str::<Value>(json)?["metadata"];
                let text = |key: &str| metadata[key].as_str();
                let ending = text("name").zip(text("deletionTimestamp"));
                self.ending_namespaces
                    .extend(ending.map(|(name, at)| (name.into(), at.to_owned())));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_event(&mut self, json: &str) -> Result<(), serde_json::Error> {
        let Some(((namespace, kind, name), event)) = Event::read(json)? else { return Ok(()) };
        let kind = match kind {
            Kind::DaemonSet => WorkloadKind::DaemonSet,
            Kind::StatefulSet => WorkloadKind::StatefulSet,
            _ => return Ok(()),
        };
        self.seen = self.seen.max(event.last);
        let key = (Owner { namespace, kind, name }, event.reason.clone());
        self.refusals
            .entry(key)
            .and_modify(|it| {
                if it.last < event.last {
                    *it = event.clone();
                }
            })
            .or_insert(event);
        Ok(())
    }

    /// Returns the last refusal to create or delete a pod of a set, for the reason of the event, while the controller
    /// tries again and nothing shows that it succeeded.
    pub(super) fn refused(&self, set: &SetQuery<'_>, reason: &str) -> Option<&Event> {
        let event = self.refusals.get(&(set.owner(), reason.into()))?;
        let succeeded = |it: &&Member| it.pod.created > event.last + LONGEST_GAP;
        let is_tried = event.last + LONGEST_WAIT + SLACK > self.seen;
        (is_tried && !self.given(set).iter().any(succeeded)).then_some(event)
    }

    /// Returns when a terminating namespace was deleted.
    pub(super) fn ends_since(&self, namespace: &str) -> Option<&str> {
        self.ending_namespaces.get(namespace).map(String::as_str)
    }

    fn add_node(&mut self, json: &str) -> Result<(), serde_json::Error> {
        let node = Node::read(json)?;
        self.seen = self.seen.max(node.heartbeat.unwrap_or_default());
        if node.not_ready.is_some() {
            self.dead_nodes.insert(node.place.name.clone());
        }
        self.nodes.get_or_insert_default().push(node.place);
        if let Some(item) = ObjectSummary::read(Kind::Node, json) {
            self.view.set_freshness(Kind::Node, Freshness::Fresh);
            self.view.inventory.put(item);
        }
        Ok(())
    }

    fn add_pod(&mut self, mut member: Member) {
        self.has_pods = true;
        self.seen = self.seen.max(member.pod.created).max(member.pod.ready.1);
        let name = (member.namespace.clone(), member.pod.name.clone());
        // A set doesn't adopt a terminating pod, and the pod's name is free soon.
        if member.pod.deleted.is_some() {
            match member.owner.take() {
                Some(owner) => self.ending.entry(owner).or_default().push(member),
                None => self.ending_orphans.push(member),
            }
        } else if let Some(owner) = member.owner.take() {
            self.pods.entry(owner).or_default().push(member);
        } else if member.orphan.is_some() {
            self.orphans.entry(member.namespace.clone()).or_default().push(member);
        } else {
            self.strangers.insert(name);
        }
    }

    fn add_revision(&mut self, json: &str) -> Result<(), serde_json::Error> {
        #[derive(Deserialize)]
        struct Data {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            template: PodTemplateSpec,
        }
        let (owner, revision) = Revision::read(json)?;
        let data = revision.data.as_deref().map(serde_json::from_str::<Data>);
        let Some(Ok(Data { spec: Spec { mut template } })) = data else { return Ok(()) };
        defaults::template(&mut template);
        let kind = match revision.hash.is_empty() {
            true => WorkloadKind::StatefulSet,
            false => WorkloadKind::DaemonSet,
        };
        let on_pods = revision.on_pods().to_owned();
        let number = revision.number.unwrap_or_default();
        let template = RevisionTemplate { kind, on_pods, number, template };
        if let Some(owner) = owner {
            self.revisions.entry(owner).or_default().push(template);
        } else if let Some(labels) = revision.orphan {
            let orphans = self.orphaned_revisions.entry(revision.namespace).or_default();
            orphans.push((labels, template));
        }
        Ok(())
    }

    /// Returns the pods that a set owns or adopts; `None` if some may be missing because the set's status counts more.
    ///
    /// Kubernetes: `ClaimPods`, pkg/controller/controller_ref_manager.go.
    pub(super) fn pods<'a>(&'a self, set: &SetQuery<'_>) -> Option<Vec<&'a Member>> {
        let pods = self.given(set);
        let count = pods.len() + self.ending(set).len();
        let are_all = set.pods.map_or(self.has_pods, |expected| count >= expected);
        (self.is_whole || are_all).then_some(pods)
    }

    /// Returns the pods of a set in the input, complete or not.
    pub(super) fn given<'a>(&'a self, set: &SetQuery<'_>) -> Vec<&'a Member> {
        let own = self.pods.get(&set.owner()).into_iter().flatten();
        own.chain(self.adopted(set)).collect()
    }

    pub(super) fn adopted<'a>(&'a self, set: &SetQuery<'_>) -> impl Iterator<Item = &'a Member> {
        let orphans = self.orphans.get(&*set.id.namespace).into_iter().flatten();
        orphans.filter(|member| {
            let is_member =
                set.kind == WorkloadKind::DaemonSet || member.pod.ordinal(&set.id.name).is_some();
            is_member && member.orphan.as_ref().is_some_and(|labels| set.selects(labels))
        })
    }

    /// Returns whether a pod outside of the set has this name.
    pub(super) fn is_taken(&self, set: &SetQuery<'_>, pod: &str) -> bool {
        let namespace = &*set.id.namespace;
        let mut orphans = self.orphans.get(namespace).into_iter().flatten();
        self.strangers.contains(&(namespace.into(), pod.into()))
            || orphans.any(|member| {
                &*member.pod.name == pod
                    && !member.orphan.as_ref().is_some_and(|labels| set.selects(labels))
            })
    }

    /// Returns the revision of a set with this template, as in the pods' label.
    pub(super) fn revision(&self, set: &SetQuery<'_>, template: &PodTemplateSpec) -> Option<&str> {
        let mut all = self.templates(set).into_iter();
        let found = all.find(|own| semantic::equal_templates(&own.template, template));
        found.map(|own| own.on_pods.as_str())
    }

    fn templates(&self, set: &SetQuery<'_>) -> Vec<&RevisionTemplate> {
        let own = self.revisions.get(&set.owner()).into_iter().flatten();
        let orphans = self.orphaned_revisions.get(&*set.id.namespace).into_iter().flatten();
        let adopted = orphans.filter(|(labels, own)| own.kind == set.kind && set.selects(labels));
        own.chain(adopted.map(|(_, own)| own)).collect()
    }

    /// Returns the target revision for a rollback of a change to this template: the newest other revision if one of
    /// its pods is available, otherwise the newest revision with an available pod.
    pub(super) fn undo(
        &self,
        set: &SetQuery<'_>,
        template: &PodTemplateSpec,
        min_ready: i64,
    ) -> Undo {
        let mut others = self.templates(set);
        if others.is_empty() {
            return Undo::Before;
        }
        others.retain(|own| !semantic::equal_templates(&own.template, template));
        let pods = self.pods(set).unwrap_or_default();
        let works = |own: &&RevisionTemplate| {
            let is_up = |it: &Pod| self.health(it, min_ready) == Health::Available;
            pods.iter().any(|it| it.pod.is_of(&own.on_pods) && is_up(&it.pod))
        };
        Undo::among(others.iter().map(|own| (own.number, works(own))))
    }

    pub(super) fn ending(&self, set: &SetQuery<'_>) -> &[Member] {
        self.ending.get(&set.owner()).map_or(&[], Vec::as_slice)
    }

    /// Returns the claims that terminating pods without a set take with them, if the pods have names of this set.
    pub(super) fn doomed_claims(&self, namespace: &str, set: &str) -> Vec<(i64, Vec<String>)> {
        let here = self.ending_orphans.iter().filter(|it| *it.namespace == *namespace);
        let named = here.filter_map(|it| {
            let claims = self.claims_owned_by(it);
            Some((it.pod.ordinal(set)?, claims.union(&self.claims_kept_by(it)).cloned().collect()))
        });
        let claims = named.filter(|(_, claims): &(i64, BTreeSet<String>)| !claims.is_empty());
        claims.map(|(ordinal, claims)| (ordinal, claims.into_iter().collect())).collect()
    }

    /// Returns the nodes with a terminating pod of a DaemonSet, and whether its deletion doesn't end.
    pub(super) fn ending_daemons(&self, set: &SetQuery<'_>) -> BTreeMap<&str, bool> {
        let mut nodes = BTreeMap::new();
        for Member { pod, .. } in self.ending(set) {
            let never_ends = pod.is_overdue(self.seen);
            if let Some(node) = pod.node.as_deref().filter(|_| never_ends || !pod.has_ended) {
                *nodes.entry(node).or_default() |= never_ends;
            }
        }
        nodes
    }

    pub(super) fn health(&self, pod: &Pod, min_ready_seconds: i64) -> Health {
        match pod.has_no_place(self.seen) {
            true => Health::Broken,
            false => pod.health(self.now).after(min_ready_seconds),
        }
    }

    /// Returns why a pod neither becomes available nor ends, if so: its node isn't ready, or its deletion is overdue.
    /// The API server deletes an ended pod at once, unless it has finalizers.
    pub(super) fn stranded(&self, pod: &Pod) -> Option<Waits> {
        let is_dead = |node: &str| !pod.has_ended && self.dead_nodes.contains(node);
        match pod.node.as_deref().is_some_and(is_dead) {
            true => Some(Waits::Node),
            false => pod.is_overdue(self.seen).then_some(Waits::Deletion),
        }
    }

    /// Returns the claims that a pod owns. Deleting the pod deletes the claims.
    ///
    /// Kubernetes: `updateClaimOwnerRefForSetAndPod`, pkg/controller/statefulset/stateful_set_utils.go.
    pub(super) fn claims_owned_by(&self, pod: &Member) -> BTreeSet<String> {
        let name = (pod.namespace.clone(), pod.pod.name.clone());
        let owned = self.owned.get(&name).into_iter().flatten();
        owned.filter(|(owner, _)| *owner == pod.uid).map(|(_, claim)| claim.clone()).collect()
    }

    /// Returns the claims that a StatefulSet owns.
    pub(super) fn claims_of_set(&self, set: &ObjectId) -> impl Iterator<Item = &str> {
        let here = self.claims.iter().filter(|((namespace, _), _)| **namespace == *set.namespace);
        let owned = here.filter(|(_, claim)| claim.owner_sets.iter().any(|it| **it == *set.name));
        owned.map(|((_, name), _)| &**name)
    }

    /// Returns the terminating claims that wait for this pod. An unscheduled pod doesn't hold a claim.
    ///
    /// Kubernetes: `podUsesPVC`, pkg/controller/volume/pvcprotection/pvc_protection_controller.go.
    pub(super) fn claims_kept_by(&self, pod: &Member) -> BTreeSet<String> {
        let claims = pod.pod.claims.iter().filter(|_| pod.pod.is_bound);
        let names = claims.map(|(_, claim)| (pod.namespace.clone(), claim.clone()));
        let ending = names.filter(|name| self.ending_claims.contains_key(name));
        ending.map(|(_, claim)| claim.into()).collect()
    }

    /// Returns whether a claim of a set exists; `None` if unknown, because the input has no pod of the set or lacks a
    /// claim that such a pod uses.
    pub(super) fn has_claim(&self, set: &SetQuery<'_>, name: &str) -> Option<bool> {
        let key = |name: &str| (Box::from(&*set.id.namespace), Box::from(name));
        if self.claims.contains_key(&key(name)) {
            return Some(true);
        }
        let is_given = |(_, claim): &(Box<str>, Box<str>)| {
            self.claims.contains_key(&key(claim)) || self.ending_claims.contains_key(&key(claim))
        };
        let pods = || self.pods(set).filter(|pods| !pods.is_empty() && !self.claims.is_empty());
        let are_all =
            || pods().is_some_and(|pods| pods.iter().all(|it| it.pod.claims.iter().all(is_given)));
        // A dump with the revisions and all pods of a set also has its claims. The revisions of a set that is being
        // deleted go before its pods.
        let is_late = || {
            self.pods(set).is_some_and(|it| it.is_empty())
                && !self.ending(set).is_empty()
                && self.claims.keys().any(|(namespace, _)| **namespace == *set.id.namespace)
        };
        let is_dump = || !self.templates(set).is_empty() && self.pods(set).is_some() || is_late();
        (self.is_whole || is_dump() || are_all()).then_some(false)
    }

    /// Returns whether the volume, or otherwise its StorageClass, certainly retains the data when the claim is
    /// deleted.
    pub(super) fn retains(&self, namespace: &str, claim: &str) -> bool {
        let name = (namespace.into(), claim.into());
        let claim = self.claims.get(&name);
        let Some(claim) = claim.or_else(|| self.ending_claims.get(&name)) else { return false };
        let volume = claim.volume.as_ref().and_then(|it| self.volumes.get(it));
        let class = claim.class.as_ref().and_then(|it| self.classes.get(it));
        volume.or(class).copied().unwrap_or(false)
    }
}

pub(super) struct SetQuery<'a> {
    pub(super) id: &'a ObjectId,
    pub(super) kind: WorkloadKind,
    pub(super) selector: Option<&'a LabelSelector>,
    /// The number of pods in the set's status; `None` if the set is new.
    pub(super) pods: Option<usize>,
}

impl SetQuery<'_> {
    fn owner(&self) -> Owner {
        let (namespace, name) = (&*self.id.namespace, &*self.id.name);
        Owner { namespace: namespace.into(), kind: self.kind, name: name.into() }
    }

    fn selects(&self, labels: &Labels) -> bool {
        // The API server rejects an invalid selector. An empty selector matches nothing here.
        let usable = |it: &&LabelSelector| selector::parses(it) && !selector::is_empty(it);
        self.selector.filter(usable).is_some_and(|it| matches_labels(it, Some(labels)))
    }
}
