/// Returns the known word closest to a misspelt one, if one is close enough.
pub fn nearest_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let near = |candidate: &str| 1 + candidate.len().min(word.len()) / 4;
    known
        .into_iter()
        // The distance takes time and memory for each pair of characters, and input can be long. It is at least the
        // difference of the lengths.
        .filter(|candidate| length.abs_diff(candidate.chars().count()) <= near(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= near(candidate))
        .min()
        .map(|(_, candidate)| candidate)
}
