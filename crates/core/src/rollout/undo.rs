//! The revision to roll a change back to.

/// How to undo a template that does not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// Roll back to the previous revision: the revisions are unknown.
    #[default]
    Before,
    /// Roll back to the revision with this number. A second run finds no such revision: without the number, it would go
    /// back to the broken template.
    To(i64),
    /// Apply the previous manifest: the change is not in the template, so no revision helps.
    Manifest,
    /// There is no other revision.
    None,
}

impl Undo {
    /// Chooses the newest revision with an available pod, or else the newest. `others` contains the number of each
    /// revision except the current one, and whether one of its pods is available.
    pub fn among(others: impl IntoIterator<Item = (i64, bool)>) -> Self {
        let best = others.into_iter().max_by_key(|(number, works)| (*works, *number));
        best.map_or(Undo::None, |(number, _)| Undo::To(number))
    }

    /// Returns the option that `kubectl rollout undo` needs, if any.
    pub fn option(self) -> Option<String> {
        match self {
            Undo::To(number) => Some(format!("--to-revision={number}")),
            Undo::Before | Undo::Manifest | Undo::None => None,
        }
    }
}
