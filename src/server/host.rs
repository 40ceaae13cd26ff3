//! Names of hosts on the command line.

use rustls::pki_types::ServerName;

/// What a certificate can be for.
pub(crate) fn host(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("{text:?} is neither a DNS name nor an IP address")),
    }
}
