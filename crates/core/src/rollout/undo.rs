//! The revision to roll a change back to.

/// How to undo a template that does not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// Roll back to the previous revision. It works, or the revisions are unknown.
    #[default]
    Before,
    /// Roll back to the revision with this number. The previous one does not work either.
    To(i64),
    /// Apply the previous manifest: the change is not in the template, so no revision helps.
    Manifest,
    /// There is no other revision.
    None,
}

impl Undo {
    /// Chooses the newest revision with an available pod. `others` contains the number of each revision except the
    /// newest, and whether one of its pods is available.
    pub fn among(others: impl IntoIterator<Item = (i64, bool)>) -> Self {
        let mut others: Vec<_> = others.into_iter().collect();
        others.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        let working = others.iter().find(|(_, works)| *works);
        match (others.first(), working) {
            (None, _) => Undo::None,
            (Some((before, _)), Some((working, _))) if before != working => Undo::To(*working),
            (Some(_), _) => Undo::Before,
        }
    }

    /// Returns the option that `kubectl rollout undo` needs, if any.
    pub fn option(self) -> Option<String> {
        match self {
            Undo::To(number) => Some(format!("--to-revision={number}")),
            Undo::Before | Undo::Manifest | Undo::None => None,
        }
    }
}
