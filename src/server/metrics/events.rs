/// An event in the life of a managed certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedEvent {
    /// A CA that the Secret does not vouch for was removed from a `caBundle` or from the Secret.
    AuthorityDropped,
    /// A new CA was created and stored.
    AuthorityMade,
    /// A call to the API server failed.
    ApiServerFailed,
    /// The `caBundle`s of a webhook configuration were written.
    BundleWritten,
    /// A leaf certificate was signed.
    LeafSigned,
    /// The Secret was missing or invalid, and was written again.
    SecretRestored,
    /// The server could not call its own port.
    SelfCheckFailed,
}

impl ManagedEvent {
    /// All events.
    pub const ALL: [ManagedEvent; 7] = [
        ManagedEvent::AuthorityDropped,
        ManagedEvent::AuthorityMade,
        ManagedEvent::ApiServerFailed,
        ManagedEvent::BundleWritten,
        ManagedEvent::LeafSigned,
        ManagedEvent::SecretRestored,
        ManagedEvent::SelfCheckFailed,
    ];

    /// Returns the value of the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            ManagedEvent::AuthorityDropped => "authority-dropped",
            ManagedEvent::AuthorityMade => "authority-made",
            ManagedEvent::ApiServerFailed => "api-server-failed",
            ManagedEvent::BundleWritten => "bundle-written",
            ManagedEvent::LeafSigned => "leaf-signed",
            ManagedEvent::SecretRestored => "secret-restored",
            ManagedEvent::SelfCheckFailed => "self-check-failed",
        }
    }
}

/// The reason why a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The client presented no certificate, or one that is not trusted.
    ClientCertificate,
    /// The connection was closed or failed.
    Eof,
    /// Any other TLS error: the client did not speak TLS, or shares no version or cipher with setguard.
    Protocol,
    /// The client does not trust setguard's certificate.
    RefusedByClient,
    /// The handshake took too long.
    Timeout,
}

impl HandshakeFailure {
    /// All reasons.
    pub const ALL: [HandshakeFailure; 5] = [
        HandshakeFailure::ClientCertificate,
        HandshakeFailure::Eof,
        HandshakeFailure::Protocol,
        HandshakeFailure::RefusedByClient,
        HandshakeFailure::Timeout,
    ];

    /// Returns the value of the label.
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
