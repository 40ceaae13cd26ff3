//! CAs (authorities) and leaves as certificates: creates, reads and signs them.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _,
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

use crate::server::prelude::*;

/// Seconds since 1970.
pub(crate) type Time = i64;

/// A CA is valid from this many seconds before its creation, because clocks differ.
pub(crate) const BACKDATE: Time = 3600;
/// The name of a managed CA. Anyone can use it, so it proves nothing.
pub(crate) const MANAGED: &str = "setguard managed CA";
/// The most characters to log of each part of a foreign certificate.
const MAX_SHOWN: usize = 100;

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    /// DER.
    pub(crate) cert: Vec<u8>,
    /// PKCS#8 in DER.
    pub(crate) key: Vec<u8>,
    pub(crate) not_before: Time,
    pub(crate) not_after: Time,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) authorities: Vec<Authority>,
    /// Certificates (DER) without a key: setguard cannot sign with them.
    pub(crate) keyless: Vec<Vec<u8>>,
}

impl Authority {
    pub(crate) fn make(name: &str, now: Time, lifetime: Time) -> Result<Self, rcgen::Error> {
        let (not_before, not_after) = (now - BACKDATE, now + lifetime);
        let params = of_authority(name, not_before, not_after)?;
        // rcgen's default is ECDSA on P-256.
        let key = KeyPair::generate()?;
        let cert = params.self_signed(&key)?.der().to_vec();
        Ok(Authority { cert, key: key.serialize_der(), not_before, not_after })
    }

    /// Returns a certificate and its key, in PEM. `name` is the name that this CA was made with. The leaf's validity
    /// starts with the CA's, so that the leaf is valid even if this clock is ahead.
    pub(crate) fn sign(
        &self,
        name: &str,
        names: &[String],
        until: Time,
    ) -> Result<(String, String), rcgen::Error> {
        // The name and the key identifier match the certificates of `make`, and `read` accepts no others. rcgen's
        // feature to read them from the certificate would add a second version of a crate.
        let issuer = of_authority(name, self.not_before, self.not_after)?;
        let issuer = Issuer::new(issuer, KeyPair::try_from(&*self.key)?);
        let mut leaf = params(names, "setguard", self.not_before, until)?;
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let cert = leaf.signed_by(&key, &issuer)?;
        Ok((cert.pem(), key.serialize_pem()))
    }

    pub(crate) fn pem(&self) -> String {
        pem("CERTIFICATE", &self.cert)
    }
}

/// A CA that may sign only leaf certificates.
fn of_authority(
    name: &str,
    not_before: Time,
    not_after: Time,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(&[], name, not_before, not_after)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

/// rcgen's default validity is from 1975 to 4096.
fn params(
    names: &[String],
    common_name: &str,
    not_before: Time,
    not_after: Time,
) -> Result<CertificateParams, rcgen::Error> {
    let at = |time: Time| SystemTime::UNIX_EPOCH + Duration::from_secs(time.max(0).unsigned_abs());
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    (params.not_before, params.not_after) = (at(not_before).into(), at(not_after).into());
    Ok(params)
}

pub(crate) fn seconds(time: Duration) -> Time {
    Time::try_from(time.as_secs()).unwrap_or(Time::MAX / 4)
}

pub(crate) const fn two_thirds(time: Time) -> Time {
    time - time / 3
}

/// In PEM: the content of a `caBundle`.
pub(crate) fn bundle(authorities: &[Authority]) -> String {
    authorities.iter().map(Authority::pem).collect()
}

pub(crate) fn keys(authorities: &[Authority]) -> String {
    authorities.iter().map(|authority| pem("PRIVATE KEY", &authority.key)).collect()
}

fn pem(tag: &str, der: &[u8]) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(tag, der), config)
}

pub(crate) fn read(certs: &[u8], keys: &[u8]) -> Result<Stored, String> {
    let mut pairs = Vec::new();
    for der in PrivateKeyDer::pem_slice_iter(keys) {
        let der = der.map_err(|error| format!("ca.key is not PEM: {error}"))?;
        let pair = KeyPair::try_from(&der).map_err(|error| format!("ca.key: {error}"))?;
        pairs.push((pair.subject_public_key_info(), der.secret_der().to_vec()));
    }
    let mut stored = Stored::default();
    for der in CertificateDer::pem_slice_iter(certs) {
        let der = der.map_err(|error| format!("ca.crt is not PEM: {error}"))?.to_vec();
        let (_, certificate) = X509Certificate::from_der(&der)
            .map_err(|error| format!("ca.crt contains an invalid certificate: {error}"))?;
        let key = pairs.iter().position(|(public, _)| certificate.public_key().raw == public);
        let Some(key) = key else {
            stored.keyless.push(der);
            continue;
        };
        if !certificate.is_ca() || !is_ours(&certificate) {
            return Err("ca.crt contains something other than setguard CAs".to_owned());
        }
        let validity = certificate.validity();
        let (not_before, not_after) =
            (validity.not_before.timestamp(), validity.not_after.timestamp());
        let (_, key) = pairs.swap_remove(key);
        stored.authorities.push(Authority { cert: der, key, not_before, not_after });
    }
    if !pairs.is_empty() {
        return Err("ca.key contains a key that matches no certificate in ca.crt".to_owned());
    }
    if stored.authorities.is_empty() {
        return Err("it contains no CA with its key".to_owned());
    }
    Ok(stored)
}

/// Returns whether a certificate has the name that [`Authority::sign`] writes as the issuer.
fn is_ours(certificate: &X509Certificate<'_>) -> bool {
    let mut names = certificate.subject().iter_common_name();
    names.next().is_some_and(|name| name.as_str() == Ok(MANAGED))
}

/// Returns the certificates (DER) of a `caBundle`, and whether it has only these, in the form that setguard writes.
pub(crate) fn published(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let certs = CertificateDer::pem_slice_iter(bytes).map_while(Result::ok);
    let certs: Vec<Vec<u8>> = certs.map(|der| der.to_vec()).collect();
    let written: String = certs.iter().map(|der| pem("CERTIFICATE", der)).collect();
    (certs, written.as_bytes() == bytes)
}

/// Describes a certificate (DER) for the log; `None` if it has expired, so that no client trusts it anyway.
pub(crate) fn describe(der: &[u8], now: Time) -> Option<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return Some("something that is not a certificate".to_owned());
    };
    let (serial, not_after) =
        (certificate.raw_serial_as_string(), certificate.validity().not_after);
    let name: String = certificate.subject().to_string().chars().take(MAX_SHOWN).collect();
    let serial: String = serial.chars().take(MAX_SHOWN).collect();
    (now < not_after.timestamp()).then(|| format!("{name:?}, serial {serial}, until {not_after}"))
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const DAY: Time = 24 * 3600;
    const NOW: Time = 1_800_000_000;

    #[test]
    fn what_is_written_is_read_again() {
        let old = Authority::make(MANAGED, NOW, DAY).unwrap();
        let new = Authority::make(MANAGED, NOW + DAY, 365 * DAY).unwrap();
        let all = [new.clone(), old];
        let text = bundle(&all);
        let stored = read(text.as_bytes(), keys(&all).as_bytes()).unwrap();
        assert_eq!(stored, Stored { authorities: all.to_vec(), keyless: Vec::new() });
        let certs = all.iter().map(|authority| authority.cert.clone()).collect();
        assert_eq!(published(text.as_bytes()), (certs, true));
        assert_eq!((new.not_before, new.not_after), (NOW + DAY - BACKDATE, NOW + 366 * DAY));
    }

    #[test]
    fn a_certificate_without_its_key_is_not_an_authority() {
        let (ours, other) = (
            Authority::make(MANAGED, NOW, DAY).unwrap(),
            Authority::make(MANAGED, NOW, DAY).unwrap(),
        );
        let certs = bundle(&[other.clone(), ours.clone()]);
        let stored = read(certs.as_bytes(), keys(slice::from_ref(&ours)).as_bytes()).unwrap();
        assert_eq!(stored, Stored { authorities: vec![ours], keyless: vec![other.cert] });
    }

    #[test]
    fn what_is_not_as_we_write_it_is_said() {
        let (one, other) = (
            Authority::make(MANAGED, NOW, DAY).unwrap(),
            Authority::make(MANAGED, NOW, DAY).unwrap(),
        );
        let (crt, key) = (bundle(slice::from_ref(&one)), keys(slice::from_ref(&one)));
        let leaf = one.sign(MANAGED, &["localhost".to_owned()], NOW + 60).unwrap();
        let both = keys(&[one, other]);
        for (crt, key, error) in [
            ("", "", "it contains no CA with its key"),
            (&*crt, "", "it contains no CA with its key"),
            (&crt[..crt.len() / 2], &*key, "ca.crt is not PEM"),
            (&leaf.0, &leaf.1, "ca.crt contains something other than setguard CAs"),
            (&crt, &key[..key.len() / 2], "ca.key is not PEM"),
            (&crt, &both, "ca.key contains a key that matches no certificate in ca.crt"),
        ] {
            let told = read(crt.as_bytes(), key.as_bytes()).unwrap_err();
            assert!(told.starts_with(error), "{told}");
        }
    }

    #[test]
    fn a_bundle_is_read_whatever_it_contains() {
        let cert = Authority::make(MANAGED, NOW, DAY).unwrap();
        let (text, certs) = (bundle(slice::from_ref(&cert)), vec![cert.cert]);
        assert_eq!(published(text.as_bytes()), (certs.clone(), true));
        assert_eq!(published(format!("{text}\n").as_bytes()), (certs.clone(), false));
        assert_eq!(published(format!("nonsense\n{text}").as_bytes()), (certs, false));
        assert_eq!(published(b"nonsense"), (Vec::new(), false));
        assert_eq!(published(b""), (Vec::new(), true));
    }

    #[test]
    fn a_certificate_is_described_until_it_expires() {
        let Authority { cert, .. } = Authority::make(MANAGED, NOW, DAY).unwrap();
        let text = describe(&cert, NOW).unwrap();
        assert!(text.starts_with("\"CN=setguard managed CA\", serial "), "{text}");
        assert_eq!(describe(&cert, NOW + DAY), None);
        assert!(describe(b"nonsense", NOW).is_some());
    }
}
