//! Events that are counted by a label.

/// What happens to a certificate that is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedEvent {
    /// A new authority was made and stored.
    AuthorityMade,
    /// The API server could not be asked, or refused.
    ApiServerFailed,
    /// The `caBundle`s of a webhook configuration were written.
    BundleWritten,
    /// A leaf was signed.
    LeafSigned,
    /// The Secret was gone, or could not be read, and is written again.
    SecretRestored,
    /// The server did not get an answer from itself.
    SelfCheckFailed,
}

impl ManagedEvent {
    /// All of them.
    pub const ALL: [ManagedEvent; 6] = [
        ManagedEvent::AuthorityMade,
        ManagedEvent::ApiServerFailed,
        ManagedEvent::BundleWritten,
        ManagedEvent::LeafSigned,
        ManagedEvent::SecretRestored,
        ManagedEvent::SelfCheckFailed,
    ];

    /// As a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            ManagedEvent::AuthorityMade => "authority-made",
            ManagedEvent::ApiServerFailed => "api-server-failed",
            ManagedEvent::BundleWritten => "bundle-written",
            ManagedEvent::LeafSigned => "leaf-signed",
            ManagedEvent::SecretRestored => "secret-restored",
            ManagedEvent::SelfCheckFailed => "self-check-failed",
        }
    }
}

/// Why a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The client showed no certificate, or one that is not trusted.
    ClientCertificate,
    /// The client went away.
    Eof,
    /// Neither of the others: what came was not TLS, or no version and cipher in common.
    Protocol,
    /// The client does not trust our certificate.
    RefusedByClient,
    /// It took too long.
    Timeout,
}

impl HandshakeFailure {
    /// All of them.
    pub const ALL: [HandshakeFailure; 5] = [
        HandshakeFailure::ClientCertificate,
        HandshakeFailure::Eof,
        HandshakeFailure::Protocol,
        HandshakeFailure::RefusedByClient,
        HandshakeFailure::Timeout,
    ];

    /// As a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            HandshakeFailure::ClientCertificate => "client-certificate",
            HandshakeFailure::Eof => "eof",
            HandshakeFailure::Protocol => "protocol",
            HandshakeFailure::RefusedByClient => "refused-by-client",
            HandshakeFailure::Timeout => "timeout",
        }
    }
}
