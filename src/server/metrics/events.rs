use setguard_core::words;

words! {
    all
    /// An event in the life of a managed certificate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ManagedEvent {
        /// A CA that the Secret does not vouch for was removed from a `caBundle` or from the Secret.
        AuthorityDropped => "authority-dropped",
        /// A new CA was created and stored.
        AuthorityMade => "authority-made",
        /// A call to the API server failed.
        ApiServerFailed => "api-server-failed",
        /// The `caBundle`s of a webhook configuration were written.
        BundleWritten => "bundle-written",
        /// A leaf certificate was signed.
        LeafSigned => "leaf-signed",
        /// The Secret was missing or invalid, and was written again.
        SecretRestored => "secret-restored",
        /// The server could not call its own port.
        SelfCheckFailed => "self-check-failed",
    }
}

words! {
    all
    /// The reason why a TLS handshake failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HandshakeFailure {
        /// The client presented no certificate, or one that is not trusted.
        ClientCertificate => "client-certificate",
        /// The connection was closed or failed.
        Eof => "eof",
        /// Any other TLS error: the client did not speak TLS, or shares no version or cipher with setguard.
        Protocol => "protocol",
        /// The client does not trust setguard's certificate.
        RefusedByClient => "refused-by-client",
        /// The handshake took too long.
        Timeout => "timeout",
    }
}

words! {
    all
    /// The source of the release that objects are checked against.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReleaseSource {
        /// No source: the newest release that setguard knows applies.
        Default => "default",
        /// The policy file or a flag.
        Policy => "policy",
        /// The API server.
        Cluster => "cluster",
    }
}
