use serde::Deserialize;

words! {
    /// An operation that the API server calls webhooks for.
    #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Operation {
        /// The object is new.
        Create => "CREATE",
        /// The object replaces an older one.
        Update => "UPDATE",
    }
}
