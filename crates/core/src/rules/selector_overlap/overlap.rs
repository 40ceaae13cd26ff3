use crate::inventory::labels::Labels;
use crate::rules::prelude::*;

pub(super) enum Overlap<'a> {
    /// The other selector matches this one's pods.
    Ours(&'a Labels),
    /// This selector matches the other's pods.
    Theirs(&'a Labels),
    /// Both selectors match pods with these labels.
    Both(Labels),
}

impl<'a> Overlap<'a> {
    pub(super) fn of(own: &'a Controller, theirs: &'a Controller) -> Option<Self> {
        let (selector, other) = own.selector.as_ref().zip(theirs.selector.as_ref())?;
        if selector.matches(&theirs.labels) {
            Some(Overlap::Theirs(&theirs.labels))
        } else if other.matches(&own.labels) {
            Some(Overlap::Ours(&own.labels))
        } else if selector.keys_are_subset_of(other) || other.keys_are_subset_of(selector) {
            selector.common(other).map(Overlap::Both)
        } else {
            None
        }
    }

    pub(super) fn message(&self, other: &ObjectSummary) -> String {
        match self {
            Overlap::Theirs(labels) => {
                format!("this also selects the pods of {other}, which have the labels {labels}")
            }
            Overlap::Ours(labels) => {
                format!("the pods, which have the labels {labels}, are also selected by {other}")
            }
            Overlap::Both(labels) => {
                format!("a pod with the labels {labels} is selected by this and by {other}")
            }
        }
    }
}
