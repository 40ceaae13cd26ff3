//! A certificate in memory, so that one command is enough for a first try.

use super::{
    Slot,
    authority::{Authority, seconds, two_thirds},
};
use crate::server::prelude::*;

const NAME: &str = "setguard self-signed CA";
/// The CA exists only as long as the process, so ten years are enough. It cannot be renewed,
/// because every client that trusts it has a copy.
const AUTHORITY_VALIDITY: Time = 10 * 365 * 24 * 3600;

/// A CA in memory that signs a certificate, and a new certificate before the old one expires.
pub struct SelfSigner {
    authority: Authority,
    names: Vec<String>,
    lifetime: Time,
    slot: Slot,
    due: Time,
}

impl SelfSigner {
    /// Creates a CA, and a certificate for these names and addresses. Fails if one of them is neither a DNS name nor an
    /// IP address.
    pub fn new(
        names: &[String],
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Self, rcgen::Error> {
        let now = since_1970(now);
        let authority = Authority::make(NAME, now, AUTHORITY_VALIDITY)?;
        let (names, lifetime) = (names.to_vec(), seconds(lifetime).min(AUTHORITY_VALIDITY));
        let (cert, key) = authority.sign(NAME, &names, now + lifetime)?;
        let (slot, due) = (Slot::new(cert, key), now + two_thirds(lifetime));
        Ok(SelfSigner { authority, names, lifetime, slot, due })
    }

    /// Returns the CA certificate, as PEM.
    pub fn ca(&self) -> String {
        self.authority.pem()
    }

    /// Returns the slot with the current certificate.
    pub fn slot(&self) -> Slot {
        self.slot.clone()
    }

    /// Signs a new certificate, if two thirds of the lifetime of the current one have passed. Fails if the certificate
    /// cannot be signed.
    pub fn renew(&mut self, now: SystemTime) -> Result<(), rcgen::Error> {
        let now = since_1970(now);
        if now >= self.due {
            let (cert, key) = self.authority.sign(NAME, &self.names, now + self.lifetime)?;
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

pub(crate) fn since_1970(time: SystemTime) -> Time {
    seconds(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
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
