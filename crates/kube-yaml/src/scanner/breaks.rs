//! Line breaks inside a scalar.

/// The line breaks between two parts of a scalar with several lines.
#[derive(Debug, Default)]
pub(super) struct Breaks {
    pub(super) first: &'static str,
    pub(super) others: String,
}

impl Breaks {
    /// Folds the breaks: a single one becomes a space, and of several the first is dropped. A break
    /// other than a newline stays.
    pub(super) fn fold_into(&mut self, text: &mut String) {
        if self.first != "\n" {
            text.push_str(self.first);
        } else if self.others.is_empty() {
            text.push(' ');
        }
        text.push_str(&self.others);
        self.first = "";
        self.others.clear();
    }
}
