const MOST_NAMES: usize = 5;

/// Joins the lines of a different program's message, and removes the final full stop.
pub(in crate::rules) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// `a, b and 3 more`
pub(in crate::rules) fn names<'n>(list: impl IntoIterator<Item = &'n str>) -> String {
    let mut list = list.into_iter();
    let mut text = list.by_ref().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    match list.count() {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}
