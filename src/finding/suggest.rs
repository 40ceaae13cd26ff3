//! What a misspelt word was meant to be.

/// The word nearest to a misspelt one, if any is near enough to be meant.
pub(crate) fn nearest_of<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(word.len()) / 4)
        .min()
        .map(|(_, candidate)| candidate)
}
