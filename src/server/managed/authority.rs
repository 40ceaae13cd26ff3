//! CAs (authorities) and leaves as certificates: creates, reads and signs them.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use rcgen::{Issuer, KeyPair, PublicKeyData as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

use super::time::{BACKDATE, Time};
use crate::server::tls::params::{self, Validity};

/// The common name of every CA that setguard creates. All others in a `caBundle` are dropped.
const NAME: &str = "setguard managed CA";

/// A certificate authority (CA).
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    /// The certificate, DER.
    pub(crate) cert: Vec<u8>,
    /// The private key, PKCS#8 in DER. `None` if only the certificate was found, in a `caBundle`.
    pub(crate) key: Option<Vec<u8>>,
    /// The start of its validity.
    pub(crate) not_before: Time,
    /// The end of its validity.
    pub(crate) not_after: Time,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .field("key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

/// A leaf certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct SignedLeaf {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Authority {
    /// Creates a CA with an ECDSA key on P-256.
    pub(crate) fn make(now: Time, lifetime: Time) -> Result<Self, rcgen::Error> {
        let (not_before, not_after) = (now - BACKDATE, now + lifetime);
        let params = params::authority(NAME, validity(not_before, not_after))?;
        let key = KeyPair::generate()?;
        let cert = params.self_signed(&key)?.der().to_vec();
        Ok(Authority { cert, key: Some(key.serialize_der()), not_before, not_after })
    }

    /// Signs a leaf for these names.
    ///
    /// Its validity starts with that of the CA, so that it is valid even if our clock is ahead.
    pub(crate) fn sign(&self, names: &[String], until: Time) -> Result<SignedLeaf, rcgen::Error> {
        let key = self.key.as_deref().ok_or(rcgen::Error::CouldNotParseKeyPair)?;
        // The name and the key identifier are those of `make`, and `read` accepts no others.
        // rcgen's feature to read them from the certificate would add a second version of a crate.
        let issuer = params::authority(NAME, validity(self.not_before, self.not_after))?;
        let issuer = Issuer::new(issuer, KeyPair::try_from(key)?);
        let leaf = params::leaf(names, validity(self.not_before, until))?;
        let key = KeyPair::generate()?;
        let cert = leaf.signed_by(&key, &issuer)?;
        Ok(SignedLeaf { cert: cert.pem(), key: key.serialize_pem() })
    }

    fn from_der(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        certificate.is_ca().then(|| Authority {
            cert: der.to_vec(),
            key: None,
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
        })
    }

    fn is_ours(&self) -> bool {
        X509Certificate::from_der(&self.cert).is_ok_and(|(_, certificate)| {
            let mut names = certificate.subject().iter_common_name();
            names.next().is_some_and(|name| name.as_str() == Ok(NAME))
        })
    }

    fn has_key(&self, key: &KeyPair) -> bool {
        X509Certificate::from_der(&self.cert).is_ok_and(|(_, certificate)| {
            certificate.public_key().raw == key.subject_public_key_info()
        })
    }
}

fn validity(not_before: Time, not_after: Time) -> Validity {
    let at = |time: Time| SystemTime::UNIX_EPOCH + Duration::from_secs(time.max(0).unsigned_abs());
    Validity { not_before: at(not_before), not_after: at(not_after) }
}

/// The certificates as PEM: the content of a `caBundle`.
pub(crate) fn bundle(authorities: &[Authority]) -> String {
    authorities.iter().map(|authority| pem("CERTIFICATE", &authority.cert)).collect()
}

/// The known keys as PEM.
pub(crate) fn keys(authorities: &[Authority]) -> String {
    let keys = authorities.iter().filter_map(|authority| authority.key.as_deref());
    keys.map(|key| pem("PRIVATE KEY", key)).collect()
}

fn pem(tag: &str, der: &[u8]) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(tag, der), config)
}

/// Reads the content of a Secret.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(certs: &[u8], keys: &[u8]) -> Result<Vec<Authority>, String> {
    let mut authorities = Vec::new();
    for der in CertificateDer::pem_slice_iter(certs) {
        let der = der.map_err(|error| format!("ca.crt is not PEM: {error}"))?;
        let authority = Authority::from_der(&der).filter(Authority::is_ours);
        authorities.push(authority.ok_or("ca.crt contains something other than setguard CAs")?);
    }
    if authorities.is_empty() {
        return Err("ca.crt contains no certificate".to_owned());
    }
    for der in PrivateKeyDer::pem_slice_iter(keys) {
        let der = der.map_err(|error| format!("ca.key is not PEM: {error}"))?;
        let key = KeyPair::try_from(&der).map_err(|error| format!("ca.key: {error}"))?;
        let owner = authorities.iter_mut().find(|authority| authority.has_key(&key));
        let owner = owner.ok_or("ca.key contains a key that matches no certificate in ca.crt")?;
        owner.key = Some(der.secret_der().to_vec());
    }
    Ok(authorities)
}

/// Reads a `caBundle`. Returns setguard's CAs in it, and whether it is exactly what setguard would
/// write for them.
pub(crate) fn published(bytes: &[u8]) -> (Vec<Authority>, bool) {
    let certs = CertificateDer::pem_slice_iter(bytes).map_while(Result::ok);
    let ours: Vec<Authority> =
        certs.filter_map(|der| Authority::from_der(&der)).filter(Authority::is_ours).collect();
    let clean = bundle(&ours).as_bytes() == bytes;
    (ours, clean)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const DAY: Time = 24 * 3600;
    const NOW: Time = 1_800_000_000;

    #[test]
    fn what_is_written_is_read_again() {
        let old = Authority { key: None, ..Authority::make(NOW, DAY).unwrap() };
        let new = Authority::make(NOW + DAY, 365 * DAY).unwrap();
        let all = [new.clone(), old];
        let text = bundle(&all);
        assert_eq!(read(text.as_bytes(), keys(&all).as_bytes()).unwrap(), all);
        let keyless: Vec<_> = all.iter().map(|a| Authority { key: None, ..a.clone() }).collect();
        assert_eq!(published(text.as_bytes()), (keyless, true));
        assert_eq!((new.not_before, new.not_after), (NOW + DAY - BACKDATE, NOW + 366 * DAY));
    }

    #[test]
    fn what_is_not_as_we_write_it_is_said() {
        let (one, other) = (Authority::make(NOW, DAY).unwrap(), Authority::make(NOW, DAY).unwrap());
        let (crt, key) = (bundle(slice::from_ref(&one)), keys(slice::from_ref(&one)));
        let leaf = one.sign(&["localhost".to_owned()], NOW + 60).unwrap();
        for (crt, key, error) in [
            ("", &*key, "ca.crt contains no certificate"),
            (&crt[..crt.len() / 2], &key, "ca.crt is not PEM"),
            (&leaf.cert, &key, "ca.crt contains something other than setguard CAs"),
            (&crt, &key[..key.len() / 2], "ca.key is not PEM"),
            (&crt, &keys(&[other]), "ca.key contains a key that matches no certificate in ca.crt"),
        ] {
            let told = read(crt.as_bytes(), key.as_bytes()).unwrap_err();
            assert!(told.starts_with(error), "{told}");
        }
    }

    #[test]
    fn of_a_bundle_only_our_authorities_are_kept() {
        let ours = Authority::make(NOW, DAY).unwrap();
        let foreign = crate::server::tls::SelfSigned::new(&["localhost".to_owned()]).unwrap().ca;
        let text = bundle(slice::from_ref(&ours));
        let keyless = vec![Authority { key: None, ..ours }];
        assert_eq!(published(format!("{foreign}{text}").as_bytes()), (keyless.clone(), false));
        assert_eq!(published(format!("{text}\n").as_bytes()), (keyless, false));
        assert_eq!(published(foreign.as_bytes()), (Vec::new(), false));
        assert_eq!(published(b"nonsense"), (Vec::new(), false));
        assert_eq!(published(b""), (Vec::new(), true));
    }
}
