//! The manifests to check, and facts from the files around them.

use std::convert::Infallible;

use super::{manifest_check::InputContext, workers};
use setguard_files::manifests::layout::Wrong;
use setguard_files::prelude::*;

/// The bytes of text kept from the first read until the check. The check reads the rest again.
const KEPT: usize = 32 << 20;

#[derive(Debug)]
pub(super) struct NewManifests {
    /// All sources, in order. Sources that can be read only once are already read.
    pub(super) sources: Vec<Result<Source, FileError>>,
    pub(super) context: InputContext,
    pub(super) not_checked: Vec<NotChecked>,
    pub(super) wrong: Vec<Wrong>,
}

impl NewManifests {
    /// Looks at each source, and prints the notes about the folders.
    pub(super) fn read(
        listing: Listing,
        clusters: &Clusters,
        stdin_path: Option<&str>,
        progress: &mut Progress,
    ) -> Self {
        listing.notes.iter().for_each(|note| report::note(note));
        let mut context = InputContext { paths: listing.contexts, ..InputContext::default() };
        let paths = listing.sources.into_iter().map(|it| it.map(|it| clusters.assign(it)));
        let paths: Vec<_> = paths.collect();
        // This reads each source; the check comes later.
        progress.set_steps(2 * paths.len());
        let (mut sources, mut room) = (Vec::with_capacity(paths.len()), KEPT);
        let Ok::<_, Infallible>(()) = workers::in_order(
            paths,
            |source| look(source?, stdin_path),
            |looked| {
                sources.push(looked.map(|(source, is_telling)| {
                    if is_telling {
                        context.add(source.text());
                    }
                    let unread = if source.text().len() > room { source.unread() } else { None };
                    unread.unwrap_or_else(|| {
                        room = room.saturating_sub(source.text().len());
                        source
                    })
                }));
                progress.advance();
                Ok(())
            },
        );
        let Listing { not_checked, wrong, .. } = listing;
        NewManifests { sources, context, not_checked, wrong }
    }
}

/// Reads a source. Also returns whether its text affects other objects.
fn look(source: Source, stdin_path: Option<&str>) -> Result<(Source, bool), FileError> {
    let is_stdin = matches!(source, Source::Stdin);
    let mut source = source.read()?;
    if let Some(name) = stdin_path.filter(|_| is_stdin) {
        source.rename(name);
    }
    let is_telling = InputContext::may_learn_from(source.text());
    Ok((source, is_telling))
}
