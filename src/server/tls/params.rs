use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
};

/// rcgen's default is from 1975 to 4096.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
}

/// A CA that may sign only leaf certificates.
pub(crate) fn authority(
    common_name: &str,
    validity: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(&[], common_name, validity)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

pub(crate) fn leaf(
    names: &[String],
    validity: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(names, "setguard", validity)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn params(
    names: &[String],
    common_name: &str,
    Validity { not_before, not_after }: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = not_before.into();
    params.not_after = not_after.into();
    Ok(params)
}
