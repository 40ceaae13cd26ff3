//! Sets with fields of two others.

use serde_json::{Map, Value};

use crate::Dice;

const PARTS: [&str; 9] = [
    "/metadata", "/spec", "/spec/updateStrategy", "/spec/updateStrategy/rollingUpdate",
    "/spec/template/metadata", "/spec/template/spec", "/spec/template/spec/containers/0",
    "/spec/template/spec/affinity", "/spec/volumeClaimTemplates/0/spec",
];

/// The fields that belong together in a set.
const KEPT: [&str; 5] = ["name", "namespace", "selector", "labels", "uid"];

/// Crosses sets, so that faults meet settings that no fixture combines.
pub(super) struct Crossing<'a> {
    pub(super) parents: &'a [Value],
    pub(super) dice: Dice,
}

impl Crossing<'_> {
    /// Returns a set, and a second one with some fields of a third.
    pub(super) fn next(&mut self) -> (Value, Value) {
        let parent = self.dice.pick(self.parents);
        let mut child = parent.clone();
        for _ in 0..=self.dice.below(4) {
            let donor = self.dice.pick(self.parents);
            let part = self.dice.pick(&PARTS);
            self.exchange(&mut child, &donor, part);
        }
        (parent, child)
    }

    fn exchange(&mut self, child: &mut Value, donor: &Value, part: &str) {
        // The kinds share the template, but not the rest of the spec.
        let is_shared = part.starts_with("/spec/template") || part == "/metadata";
        if !is_shared && child["kind"] != donor["kind"] {
            return;
        }
        let Some(target) = child.pointer_mut(part).and_then(Value::as_object_mut) else { return };
        let given = donor.pointer(part).and_then(Value::as_object);
        let given: Map<_, _> = given.cloned().unwrap_or_default();
        let mut names: Vec<&String> = given.keys().filter(|key| is_exchanged(key)).collect();
        if names.is_empty() {
            return;
        }
        // Only a sorted list gives the same sets for the same seed.
        names.sort();
        let name = self.dice.pick(&names);
        if self.dice.percent(20) && name != "template" && name != "containers" {
            target.remove(name);
        } else {
            target.insert(name.clone(), given[name].clone());
        }
    }
}

fn is_exchanged(key: &str) -> bool {
    !KEPT.contains(&key)
}
