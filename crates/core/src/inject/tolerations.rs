//! The tolerations that a daemon pod needs and has.

use json_patch::PatchOperation;
use k8s_openapi::api::core::v1::Toleration;

use super::patch::add;
use crate::{
    finding::{Findings, Path, Reason},
    kubernetes::tolerations::{covers, operator, text},
};

/// Compares the two on the taints that both tolerate. Only NoExecute tolerations can end.
fn ends_before(there: &Toleration, ours: &Toleration) -> bool {
    let executes = |it: &Toleration| matches!(text(&it.effect), "" | "NoExecute");
    there.toleration_seconds.is_some()
        && executes(there)
        && executes(ours)
        && (text(&there.key).is_empty() || text(&there.key) == text(&ours.key))
        && (operator(there) == "Exists" || text(&there.value) == text(&ours.value))
}

/// The API server adds such a toleration to each pod that has none for the taint, so the author of the pod has nothing
/// to fix. Kubernetes: `Admit`, plugin/pkg/admission/defaulttolerationseconds/admission.go.
fn is_of_the_api_server(toleration: &Toleration) -> bool {
    let keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    toleration.toleration_seconds == Some(300)
        && keys.contains(&text(&toleration.key))
        && text(&toleration.effect) == "NoExecute"
}

pub(super) struct List {
    /// With the index in `existing` to insert the toleration before; `None` for the end.
    added: Vec<(Option<usize>, Toleration)>,
    existing: Vec<Toleration>,
    changed: bool,
}

impl List {
    pub(super) fn new(existing: &[Toleration]) -> Self {
        List { added: Vec::new(), existing: existing.to_vec(), changed: false }
    }

    /// Skips a toleration that one in the list covers.
    fn append(&mut self, toleration: Toleration) {
        let added = self.added.iter().map(|(_, toleration)| toleration);
        if !self.existing.iter().chain(added).any(|there| covers(there, &toleration)) {
            self.added.push((None, toleration));
            self.changed = true;
        }
    }

    /// Adds a toleration before any that ends sooner, unless one in the list covers it.
    ///
    /// The first toleration that matches a taint decides how long a pod stays on the node. If one with
    /// `tolerationSeconds` came first, the daemon pod would be evicted, its controller would recreate it on the same
    /// node, and so on. Kubernetes: `GetMatchingTolerations`, pkg/apis/core/v1/helper/helpers.go.
    pub(super) fn add(&mut self, toleration: Toleration, path: &Path<'_>, found: &mut Findings) {
        let limited = self.existing.iter().position(|there| ends_before(there, &toleration));
        let Some(index) = limited else { return self.append(toleration) };
        let ahead = &self.existing[..index];
        let added = self.added.iter().filter(|(at, _)| at.is_some_and(|at| at <= index));
        if ahead.iter().chain(added.map(|(_, t)| t)).any(|there| covers(there, &toleration)) {
            return;
        }
        self.added.push((Some(index), toleration.clone()));
        self.changed = true;
        if is_of_the_api_server(&self.existing[index]) {
            return;
        }
        let limited_path = path.index(index);
        found.report(
            &limited_path.child("tolerationSeconds"),
            Reason::Invalid,
            format!(
                "after {} seconds the pod would be evicted and recreated on the same node, so an \
                 unlimited toleration of {} is inserted before this one",
                self.existing[index].toleration_seconds.unwrap_or_default(),
                text(&toleration.key),
            ),
            "remove tolerationSeconds",
        );
    }

    pub(super) fn added_keys(&self) -> Vec<&str> {
        self.added.iter().map(|(_, toleration)| text(&toleration.key)).collect()
    }

    pub(super) const fn take_changed(&mut self) -> bool {
        std::mem::replace(&mut self.changed, false)
    }

    pub(super) fn patch(self, spec: &Path<'_>, patch: &mut Vec<PatchOperation>) {
        let path = spec.child("tolerations");
        if self.existing.is_empty() {
            // The list may be absent, null or empty. Adding the whole list works for all three.
            let all: Vec<_> = self.added.iter().map(|(_, toleration)| json(toleration)).collect();
            if !all.is_empty() {
                patch.push(add(&path, None, all.into()));
            }
            return;
        }
        // From the back, so that the remaining indexes stay valid, and tolerations with the same index stay in order.
        let (mut inserted, appended): (Vec<_>, Vec<_>) =
            self.added.into_iter().partition(|(at, _)| at.is_some());
        inserted.reverse();
        inserted.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, toleration) in &inserted {
            let at = at.map(|at| at.to_string());
            patch.push(add(&path, at.as_deref(), json(toleration)));
        }
        for (_, toleration) in &appended {
            patch.push(add(&path, Some("-"), json(toleration)));
        }
    }
}

/// In Kubernetes' order.
fn json(toleration: &Toleration) -> serde_json::Value {
    let fields = [
        ("key", &toleration.key),
        ("operator", &toleration.operator),
        ("value", &toleration.value),
        ("effect", &toleration.effect),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        let text = |s: &str| (!s.is_empty()).then(|| s.to_owned());
        Toleration {
            key: text(key),
            operator: text(operator),
            value: text(value),
            effect: text(effect),
            toleration_seconds: None,
        }
    }

    #[test]
    fn a_broader_toleration_covers_a_narrower_one() {
        let ours = toleration("k", "Exists", "", "NoSchedule");
        assert!(covers(&toleration("", "Exists", "", ""), &ours));
        assert!(covers(&toleration("k", "Exists", "", ""), &ours));
        assert!(covers(&ours, &ours));
        assert!(!covers(&toleration("k", "", "", "NoSchedule"), &ours), "Equal to an empty value");
        assert!(!covers(&toleration("k", "Equal", "v", "NoSchedule"), &ours));
        assert!(!covers(&toleration("k", "Exists", "", "NoExecute"), &ours));
        assert!(!covers(&toleration("j", "Exists", "", "NoSchedule"), &ours));
        let equal = toleration("k", "Equal", "v", "NoSchedule");
        assert!(covers(&toleration("k", "", "v", ""), &equal), "an empty operator is Equal");
        assert!(!covers(&toleration("k", "Equal", "w", "NoSchedule"), &equal));
        assert!(!covers(&equal, &toleration("k", "Equal", "v", "")), "all effects are more");
        let limited = Toleration { toleration_seconds: Some(300), ..ours.clone() };
        assert!(!covers(&limited, &ours) && covers(&ours, &limited));
    }

    #[test]
    fn a_limited_toleration_is_overtaken() {
        let limit = |it: &Toleration| Toleration { toleration_seconds: Some(9), ..it.clone() };
        let all = toleration("k", "Exists", "", "");
        assert!(ends_before(&limit(&toleration("k", "Exists", "", "NoExecute")), &all));
        assert!(ends_before(&limit(&toleration("", "Exists", "", "NoExecute")), &all));
        let equal = toleration("k", "Equal", "v", "NoExecute");
        assert!(ends_before(&limit(&equal), &equal));
        assert!(!ends_before(&limit(&toleration("k", "Equal", "w", "NoExecute")), &equal));
        assert!(!ends_before(&limit(&all), &toleration("k", "Exists", "", "NoSchedule")));
        assert!(!ends_before(&all, &all), "without an end");
    }
}
