use rustls::pki_types::ServerName;

/// A subject alternative name of a certificate: a DNS name or an IP address.
pub(crate) fn host(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("{text:?} is neither a DNS name nor an IP address")),
    }
}
