use crate::rules::prelude::*;
use crate::{
    observed::StatefulSet,
    rollout::stateful_set::{Settings, Strategy},
};

pub(in crate::rules) const ORDERED: &str = "with podManagementPolicy OrderedReady";

pub(in crate::rules) struct Replicas<'a> {
    pub(in crate::rules) set: &'a StatefulSet,
    pub(in crate::rules) settings: Settings,
    pub(in crate::rules) pods: BTreeMap<i64, &'a Pod>,
    name: &'a str,
}

/// The pods of a StatefulSet outside the range of its ordinals that are not deleted yet.
pub(crate) struct ScaleDown {
    pub(crate) pods: usize,
    pub(crate) loses_claims: bool,
    pub(crate) text: String,
}

impl StatusQuery<'_> {
    /// Kubernetes: `processCondemned`, pkg/controller/statefulset/stateful_set_control.go.
    pub(crate) fn scale_down(&self) -> Option<ScaleDown> {
        let replicas = Replicas::of(self)?;
        let pods: Vec<_> = replicas.outside().rev().collect();
        let (ordinal, _) = pods.first()?;
        let settings = &replicas.settings;
        let loses_claims =
            settings.deletes_claims && settings.claims_of(**ordinal).next().is_some();
        let list = names(pods.iter().map(|(_, pod)| &*pod.name));
        let claims = match loses_claims {
            true => ", and whenScaled: Delete deletes the claims too, with their data",
            false => "",
        };
        let text = format!("; the scale-down of {list} then goes on{claims}");
        Some(ScaleDown { pods: pods.len(), loses_claims, text })
    }
}

impl<'a> Replicas<'a> {
    /// Returns `None` for a DaemonSet, or if the pods are unknown.
    pub(in crate::rules) fn of(query: &StatusQuery<'a>) -> Option<Self> {
        let WorkloadState::StatefulSet(set) = &query.set.state else { return None };
        let (observed, name) = (query.audit.observed, query.set.name());
        let is_open = query.has_pods_to_look_at();
        let settings = Settings::of(name, &set.spec, query.audit.cluster).filter(|_| is_open)?;
        let pods = observed.pods(query.set).iter();
        let pods = pods.filter_map(|pod| Some((pod.ordinal(name)?, pod)));
        Some(Replicas { set, settings, pods: pods.collect(), name })
    }

    pub(in crate::rules) fn pod_name(&self, ordinal: i64) -> String {
        format!("{}-{ordinal}", self.name)
    }

    /// Returns the pods outside the range of ordinals that are not being deleted.
    pub(in crate::rules) fn outside(&self) -> impl DoubleEndedIterator<Item = (&i64, &&'a Pod)> {
        let ordinals = &self.settings.ordinals;
        self.pods.iter().filter(|(at, pod)| !ordinals.contains(at) && pod.deleted.is_none())
    }

    /// Returns the ordinal of the first missing pod.
    pub(in crate::rules) fn first_missing(&self) -> Option<i64> {
        let mut ordinals = self.settings.ordinals.clone();
        ordinals.find(|ordinal| !self.pods.contains_key(ordinal))
    }

    /// Returns the index below which pods keep the old template.
    pub(in crate::rules) const fn partition(&self) -> i64 {
        match self.settings.strategy {
            Strategy::RollingUpdate { partition, .. } => partition,
            Strategy::OnDelete | Strategy::Recreate => 0,
        }
    }

    pub(in crate::rules) fn replaces(&self, ordinal: i64) -> bool {
        self.settings.replaced().contains(&ordinal)
    }

    /// Returns whether the controller makes this pod from the old template if it is deleted during a rollout.
    pub(in crate::rules) fn comes_back_old(&self, ordinal: i64) -> bool {
        let current = self.current_revision();
        current != self.update_revision()
            && self.settings.creates_old(ordinal, self.others_of_current(ordinal))
    }

    /// Returns the first pod that the controller makes from the old template and deletes, without end: it is missing, or
    /// was made since the change.
    pub(in crate::rules) fn made_without_end(&self, changed: i64) -> Option<i64> {
        let is_young = |pod: &&Pod| pod.created > changed && pod.is_of(self.current_revision());
        let mut ordinals = self.settings.ordinals.clone();
        ordinals.find(|it| {
            let left = self.others_of_current(*it).saturating_sub(1);
            self.settings.unavailable_first
                && self.comes_back_old(*it)
                && self.settings.creates_old(*it, left)
                && self.pods.get(it).is_none_or(is_young)
        })
    }

    fn current_revision(&self) -> &'a str {
        self.set.status.current_revision.as_deref().unwrap_or_default()
    }

    fn others_of_current(&self, ordinal: i64) -> usize {
        let is_old = |pod: &Pod| pod.deleted.is_none() && pod.is_of(self.current_revision());
        self.pods.iter().filter(|(at, pod)| **at != ordinal && is_old(pod)).count()
    }

    pub(in crate::rules) fn update_revision(&self) -> &'a str {
        self.set.status.update_revision.as_deref().unwrap_or_default()
    }

    /// A set that was created again without its pods has only one revision in its status.
    pub(in crate::rules) fn is_updating(&self) -> bool {
        let (status, new) = (&self.set.status, self.update_revision());
        let mut replaced = self.pods.range(self.settings.replaced());
        let mut has_old = || !new.is_empty() && replaced.any(|(_, pod)| !pod.is_of(new));
        status.current_revision != status.update_revision || has_old()
    }

    /// Returns whether an update replaces pods that is not complete.
    pub(in crate::rules) fn is_replacing(&self) -> bool {
        self.is_updating() && !matches!(self.settings.strategy, Strategy::OnDelete)
    }

    /// Returns whether the update still has pods to replace.
    pub(in crate::rules) fn has_old(&self) -> bool {
        let mut replaced = self.pods.range(self.settings.replaced());
        let is_old = |pod: &Pod| pod.deleted.is_none() && !pod.is_of(self.update_revision());
        self.is_replacing() && replaced.any(|(_, pod)| is_old(pod))
    }

    /// Returns the effect of a pod that an update waits for; `None` if no other pod waits to be replaced.
    pub(in crate::rules) fn holds_up(&self) -> Option<String> {
        self.has_old().then(|| match self.settings.is_ordered {
            true => format!("{ORDERED} the other pods keep the old template"),
            false => "the update waits for it before it replaces other pods".to_owned(),
        })
    }
}
