//! The revision to which a change has to be rolled back.

/// The way back from a template that does not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// To the revision before. It works, or nothing is known about revisions.
    #[default]
    Before,
    /// To the revision with this number. The one before does not work either.
    To(i64),
    /// Not by a revision: the change is not in the template, so the previous manifest has to be applied.
    Manifest,
    /// There is no other revision.
    None,
}

impl Undo {
    /// Chooses between revisions other than the newest, each with its number, and whether a pod of it is available:
    /// the newest with such a pod.
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

    /// Returns the option for `kubectl rollout undo`, if it needs one.
    pub fn option(self) -> Option<String> {
        match self {
            Undo::To(number) => Some(format!("--to-revision={number}")),
            Undo::Before | Undo::Manifest | Undo::None => None,
        }
    }
}
