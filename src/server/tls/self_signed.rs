//! A certificate in memory, for a first try: one command and it answers.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// It lives as long as the process, and a year is longer than a first try.
const VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);
/// The API server's clock may be behind ours.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// A certificate, its key and the authority that signed it, all PEM.
#[derive(Clone)]
pub struct SelfSigned {
    /// The authority's certificate; its key is gone.
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
    /// When one of them is neither a DNS name nor an IP address.
    pub fn new(names: &[String]) -> Result<Self, rcgen::Error> {
        let mut ca = params(&[], "setguard self-signed CA")?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        // rcgen's default is ECDSA on P-256.
        let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut leaf = params(names, "setguard")?;
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let cert = leaf.signed_by(&key, &issuer)?;
        Ok(SelfSigned { ca: issuer.pem(), cert: cert.pem(), key: key.serialize_pem() })
    }
}

/// rcgen's own default is valid from 1975 to 4096.
fn params(names: &[String], common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + VALIDITY).into();
    Ok(params)
}

impl fmt::Debug for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfSigned").field("cert", &self.cert).finish_non_exhaustive()
    }
}
