use rustls::{DEFAULT_VERSIONS, SupportedProtocolVersion, version::TLS13};

static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];

/// The oldest version of TLS that clients may use. rustls implements no version before 1.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MinVersion {
    /// TLS 1.2 and 1.3
    #[default]
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3 only
    #[value(name = "1.3")]
    Tls13,
}

impl MinVersion {
    pub(super) fn accepted(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            MinVersion::Tls12 => DEFAULT_VERSIONS,
            MinVersion::Tls13 => &ONLY_TLS13,
        }
    }
}
