//! Line breaks inside a scalar.

#[derive(Debug, Default)]
pub(super) struct Breaks {
    pub(super) first: &'static str,
    pub(super) others: String,
}

impl Breaks {
    /// A single break becomes a space, and the first of several is dropped. A break other than a newline stays.
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
