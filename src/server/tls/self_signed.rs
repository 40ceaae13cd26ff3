//! A certificate in memory, so that one command is enough for a first try.

use rcgen::{CertifiedIssuer, KeyPair};

use super::{
    params::{self, Validity},
    slot::Slot,
};
use crate::server::prelude::*;

/// The CA exists only as long as the process, so ten years are enough. It cannot be renewed,
/// because every client that trusts it has a copy.
const AUTHORITY_VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The API server's clock may be behind ours.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// A CA in memory that signs a certificate, and a new certificate before the old one expires.
pub struct SelfSigner {
    issuer: CertifiedIssuer<'static, KeyPair>,
    names: Vec<String>,
    lifetime: Duration,
    slot: Slot,
    due: SystemTime,
}

impl SelfSigner {
    /// Creates a CA, and a certificate for these names and addresses. Fails if one of them is neither a DNS name nor an
    /// IP address.
    pub fn new(
        names: &[String],
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Self, rcgen::Error> {
        let (issuer, lifetime) = (issuer(now)?, lifetime.min(AUTHORITY_VALIDITY));
        let (cert, key) = sign(&issuer, names, now, lifetime)?;
        let (names, slot) = (names.to_vec(), Slot::new(cert, key));
        Ok(SelfSigner { issuer, names, lifetime, slot, due: now + two_thirds(lifetime) })
    }

    /// Returns the CA certificate, as PEM.
    pub fn ca(&self) -> String {
        self.issuer.pem()
    }

    /// Returns the slot with the current certificate.
    pub fn slot(&self) -> Slot {
        self.slot.clone()
    }

    /// Signs a new certificate, if two thirds of the lifetime of the current one have passed. Fails if the certificate
    /// cannot be signed.
    pub fn renew(&mut self, now: SystemTime) -> Result<(), rcgen::Error> {
        if now >= self.due {
            let (cert, key) = sign(&self.issuer, &self.names, now, self.lifetime)?;
            self.slot.put(cert, key);
            self.due = now + two_thirds(self.lifetime);
        }
        Ok(())
    }
}

impl fmt::Debug for SelfSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfSigner").field("names", &self.names).finish_non_exhaustive()
    }
}

fn two_thirds(time: Duration) -> Duration {
    time - time / 3
}

fn issuer(now: SystemTime) -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let validity = Validity { not_before: now - CLOCK_SKEW, not_after: now + AUTHORITY_VALIDITY };
    let ca = params::authority("setguard self-signed CA", validity)?;
    // rcgen's default is ECDSA on P-256.
    CertifiedIssuer::self_signed(ca, KeyPair::generate()?)
}

/// Both results are PEM.
fn sign(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    names: &[String],
    now: SystemTime,
    lifetime: Duration,
) -> Result<(String, String), rcgen::Error> {
    let validity = Validity { not_before: now - CLOCK_SKEW, not_after: now + lifetime };
    let key = KeyPair::generate()?;
    let cert = params::leaf(names, validity)?.signed_by(&key, issuer)?;
    Ok((cert.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_replaced_when_two_thirds_of_its_lifetime_have_passed() {
        let start = SystemTime::now();
        let day = Duration::from_secs(24 * 3600);
        let mut signer = SelfSigner::new(&["localhost".to_owned()], 3 * day, start).unwrap();
        let slot = signer.slot();
        let mut replaced = |now| {
            let before = slot.get();
            signer.renew(now).unwrap();
            before != slot.get()
        };
        assert!(!replaced(start) && !replaced(start + day));
        assert!(replaced(start + 2 * day) && !replaced(start + 3 * day));
        assert!(replaced(start + 4 * day));
    }
}
