#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configuration {
    Validating,
    Mutating,
}

impl Configuration {
    pub(crate) const ALL: [Configuration; 2] = [Configuration::Validating, Configuration::Mutating];

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Configuration::Validating => "ValidatingWebhookConfiguration",
            Configuration::Mutating => "MutatingWebhookConfiguration",
        }
    }
}
