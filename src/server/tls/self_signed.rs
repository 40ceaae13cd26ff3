//! A certificate in memory, so that one command is enough for a first try.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use rcgen::{CertifiedIssuer, KeyPair};

use super::params::{self, Validity};

/// The certificate exists only as long as the process, and a first try takes less than a year.
const VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);
/// The API server's clock may be behind ours.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// A certificate, its key and the CA that signed it, all in PEM.
#[derive(Clone)]
pub struct SelfSigned {
    /// The CA certificate; its key was discarded.
    pub ca: String,
    /// The serving certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

impl SelfSigned {
    /// A certificate for these names and addresses.
    ///
    /// # Errors
    /// If one of them is neither a DNS name nor an IP address.
    pub fn new(names: &[String]) -> Result<Self, rcgen::Error> {
        let now = SystemTime::now();
        let validity = Validity { not_before: now - CLOCK_SKEW, not_after: now + VALIDITY };
        let ca = params::authority("setguard self-signed CA", validity)?;
        // rcgen's default is ECDSA on P-256.
        let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
        let leaf = params::leaf(names, validity)?;
        let key = KeyPair::generate()?;
        let cert = leaf.signed_by(&key, &issuer)?;
        Ok(SelfSigned { ca: issuer.pem(), cert: cert.pem(), key: key.serialize_pem() })
    }
}

impl fmt::Debug for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfSigned").field("cert", &self.cert).finish_non_exhaustive()
    }
}
