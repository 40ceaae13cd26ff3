use k8s_openapi::api::core::v1::{Affinity, NodeSelectorRequirement, NodeSelectorTerm};

use crate::inventory::prelude::*;
use crate::kubernetes::node_selector;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nodes {
    selector: BTreeMap<String, String>,
    terms: Option<Vec<NodeSelectorTerm>>,
}

impl Nodes {
    pub(crate) fn of(pod: &PodSpec) -> Self {
        Nodes::by(pod.node_selector.as_ref(), pod.affinity.as_ref(), pod.node_name.as_deref())
    }

    pub(crate) fn by(
        selector: Option<&BTreeMap<String, String>>,
        affinity: Option<&Affinity>,
        name: Option<&str>,
    ) -> Self {
        let mut nodes = Nodes {
            selector: selector.cloned().unwrap_or_default(),
            terms: node_selector::required_terms(affinity).map(<[_]>::to_vec),
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            nodes.restrict_to(name);
        }
        nodes.copy_single_values();
        nodes
    }

    fn restrict_to(&mut self, name: &str) {
        let field = NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![name.to_owned()]),
        };
        let only =
            || NodeSelectorTerm { match_fields: Some(vec![field.clone()]), ..Default::default() };
        let Some(terms) = &mut self.terms else {
            self.terms = Some(vec![only()]);
            return;
        };
        // An empty term selects no node. With a requirement, it would select this node.
        terms.retain(|term| *term != NodeSelectorTerm::default());
        for term in terms {
            term.match_fields.get_or_insert_default().push(field.clone());
        }
    }

    /// Copies the single-valued `In` requirements of a lone term into the selector, so that node pools are quick
    /// to distinguish.
    fn copy_single_values(&mut self) {
        let copy = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        for (key, value) in self.single_values().map(copy).collect::<Vec<_>>() {
            // The term is kept, so a contradiction is still detected.
            self.selector.entry(key).or_insert(value);
        }
    }

    fn single_values(&self) -> impl Iterator<Item = (&str, &str)> {
        let lone = self.terms.as_deref().filter(|terms| terms.len() == 1).unwrap_or_default();
        let expressions = lone.iter().flat_map(|it| it.match_expressions.iter().flatten());
        expressions.filter(|it| it.operator == "In").filter_map(|it| {
            let [value] = it.values.as_deref()? else { return None };
            Some((it.key.as_str(), value.as_str()))
        })
    }

    /// Returns the nodes that match without the node affinity.
    pub(crate) fn without_affinity(&self) -> Nodes {
        let mut selector = self.selector.clone();
        for (key, value) in self.single_values() {
            if self.pin(key) == Some(value) {
                selector.remove(key);
            }
        }
        Nodes { selector, terms: None }
    }

    /// Returns the subsets that form the union.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = Alternative<'_>> {
        let terms = self.terms.iter().flatten().map(Some);
        let all = self.terms.is_none().then_some(None);
        terms.chain(all).map(|term| Alternative { selector: &self.selector, term })
    }

    pub(crate) fn pins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.selector.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the value of a label that all nodes of the set share.
    pub(crate) fn pin(&self, key: &str) -> Option<&str> {
        self.selector.get(key).map(String::as_str)
    }

    pub(crate) fn can_share(&self, other: &Nodes) -> bool {
        if self.pins().any(|(key, value)| other.pin(key).is_some_and(|its| its != value)) {
            return false;
        }
        let mut selector = self.selector.clone();
        selector.extend(other.selector.clone());
        let meets =
            |term: &NodeSelectorTerm| node_selector::why_not(Some(&selector), term, None).is_none();
        match (&self.terms, &other.terms) {
            (None, None) => true,
            (Some(terms), None) | (None, Some(terms)) => terms.iter().any(meets),
            (Some(ours), Some(theirs)) => ours.iter().any(|one| {
                // A term that matches no node, such as an empty one, matches none in combination either.
                meets(one) && theirs.iter().any(|other| meets(other) && meets(&both(one, other)))
            }),
        }
    }
}

/// Nodes that match a selector and, if set, one term of a node affinity.
#[derive(Clone, Copy)]
pub(crate) struct Alternative<'a> {
    selector: &'a BTreeMap<String, String>,
    term: Option<&'a NodeSelectorTerm>,
}

/// A requirement that an index can answer.
pub(crate) enum Wanted<'a> {
    Name(&'a str),
    OneOf(&'a str, Vec<&'a str>),
    Present(&'a str),
}

impl<'a> Alternative<'a> {
    pub(crate) fn matches(&self, name: &str, labels: &Labels) -> bool {
        let meets = |term| node_selector::matches(term, name, |key| labels.get(key));
        self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.term.is_none_or(meets)
    }

    pub(crate) fn requirements(&self) -> impl Iterator<Item = Wanted<'a>> {
        let labels = self.selector.iter().map(|(key, value)| Wanted::OneOf(key, vec![value]));
        let expressions = self.term.and_then(|term| term.match_expressions.as_deref());
        let fields = self.term.and_then(|term| term.match_fields.as_deref());
        let values = |it: &'a NodeSelectorRequirement| {
            it.values.as_deref().unwrap_or_default().iter().map(String::as_str)
        };
        let expressions = expressions.into_iter().flatten();
        let expressions = expressions.filter_map(move |it| match it.operator.as_str() {
            "In" if values(it).len() > 0 => Some(Wanted::OneOf(&it.key, values(it).collect())),
            "Exists" => Some(Wanted::Present(&it.key)),
            _ => None,
        });
        let fields = fields.into_iter().flatten().filter(|it| it.operator == "In");
        let names = fields.filter_map(move |it| values(it).next().map(Wanted::Name));
        labels.chain(expressions).chain(names)
    }
}

fn both(one: &NodeSelectorTerm, other: &NodeSelectorTerm) -> NodeSelectorTerm {
    let mut both = one.clone();
    let expressions = other.match_expressions.iter().flatten().cloned();
    both.match_expressions.get_or_insert_default().extend(expressions);
    both.match_fields.get_or_insert_default().extend(other.match_fields.iter().flatten().cloned());
    both
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn nodes(pod: Value) -> Nodes {
        let mut pod = pod;
        pod["containers"] = json!([]);
        Nodes::of(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_node_name_selects_one_node() {
        let on = |name: &str| nodes(json!({"nodeName": name}));
        let affine = |term: Value| {
            let required = json!({"nodeSelectorTerms": [term]});
            nodes(json!({"nodeName": "a", "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required}}}))
        };
        let field = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
        assert!(on("a").can_share(&on("a")) && !on("a").can_share(&on("b")));
        assert!(on("a").can_share(&nodes(json!({}))) && on("").can_share(&on("b")));
        assert!(on("a").can_share(&affine(field("a"))) && !on("a").can_share(&affine(field("b"))));
        assert!(!on("a").can_share(&affine(json!({}))), "an empty term selects no node");
    }
}
