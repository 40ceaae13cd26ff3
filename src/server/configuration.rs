//! The two webhook configurations.

/// One of the two webhook configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configuration {
    /// The ValidatingWebhookConfiguration.
    Validating,
    /// The MutatingWebhookConfiguration.
    Mutating,
}

impl Configuration {
    /// Both configurations.
    pub(crate) const ALL: [Configuration; 2] = [Configuration::Validating, Configuration::Mutating];

    /// Returns the kind of the object.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Configuration::Validating => "ValidatingWebhookConfiguration",
            Configuration::Mutating => "MutatingWebhookConfiguration",
        }
    }
}
