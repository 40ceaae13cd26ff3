//! Certificates: read before the port is bound, and again when their files change.
//!
//! Files are polled and compared by content. When a Secret changes, the kubelet swaps a symlink,
//! and a watch on the file itself would receive no further events.

pub(crate) mod authority;
pub(crate) mod self_signed;

use rustls::{
    DEFAULT_VERSIONS, InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{PrivateKeyDer, UnixTime, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
    version::TLS13,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

pub use self::self_signed::SelfSigner;
use super::{
    files::{self, Patience},
    metrics::Metrics,
};
use crate::server::prelude::*;

/// The source of the certificate and its key.
#[derive(Debug)]
pub enum Pair {
    /// Files that may change.
    Files {
        /// The certificate chain, leaf first.
        cert: PathBuf,
        /// The private key of the leaf.
        key: PathBuf,
    },
    /// A certificate that is created and renewed in memory.
    Memory(Slot),
}

/// A certificate and its key in memory. As with files, a [`Reloader`] picks up a change.
#[derive(Clone)]
pub struct Slot(Arc<ArcSwap<(String, String)>>);

impl Slot {
    /// Creates a slot with this certificate and key (PEM).
    pub fn new(cert: String, key: String) -> Self {
        Slot(Arc::new(ArcSwap::from_pointee((cert, key))))
    }

    /// Returns the certificate and the key (PEM).
    pub fn get(&self) -> Arc<(String, String)> {
        self.0.load_full()
    }

    /// Replaces the certificate and the key.
    pub fn put(&self, cert: String, key: String) {
        self.0.store(Arc::new((cert, key)));
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.0.load().0).finish()
    }
}

/// The oldest version of TLS that clients may use. rustls implements no version before 1.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MinVersion {
    /// TLS 1.2 and 1.3
    #[default]
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3 only
    #[value(name = "1.3")]
    Tls13,
}

impl MinVersion {
    fn accepted(self) -> &'static [&'static SupportedProtocolVersion] {
        static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];
        match self {
            MinVersion::Tls12 => DEFAULT_VERSIONS,
            MinVersion::Tls13 => &ONLY_TLS13,
        }
    }
}

/// The sources of everything that TLS needs.
#[derive(Debug)]
pub struct Source {
    /// The certificate and its key.
    pub pair: Pair,
    /// The CAs of client certificates, if clients must present one.
    pub client_ca: Option<PathBuf>,
    /// The oldest version of TLS that clients may use.
    pub min_version: MinVersion,
}

#[derive(Clone, PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// The TLS configuration in force.
#[derive(Debug)]
pub struct Tls {
    config: ArcSwap<ServerConfig>,
    clients: watch::Sender<Verifier>,
}

impl Tls {
    /// Returns the configuration for the next connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.config.load_full()
    }

    /// Returns the trust in clients from this call on. To miss no change, call this before [`config`](Self::config).
    pub fn trust(&self) -> Trust {
        Trust(self.clients.subscribe())
    }
}

/// `None` if clients need no certificate.
type Verifier = Option<Arc<dyn ClientCertVerifier>>;

/// The clients that are trusted, from the time of [`Tls::trust`] on.
#[derive(Debug)]
pub struct Trust(watch::Receiver<Verifier>);

impl Trust {
    /// Waits until the client that presented this chain is no longer trusted.
    pub async fn lost(mut self, chain: &[CertificateDer<'static>]) {
        while self.0.changed().await.is_ok() {
            let verifier = self.0.borrow_and_update().clone();
            let trusted = verifier.is_none_or(|verifier| {
                chain.split_first().is_some_and(|(leaf, rest)| {
                    verifier.verify_client_cert(leaf, rest, UnixTime::now()).is_ok()
                })
            });
            if !trusted {
                return;
            }
        }
        // No reload will follow, so the client stays trusted.
        std::future::pending::<()>().await;
    }
}

struct Built {
    config: Arc<ServerConfig>,
    /// The earliest expiry of a certificate in the chain, in seconds since 1970.
    expiry: i64,
    clients: Verifier,
}

fn read_all(
    source: &Arc<Source>,
    patience: &mut Patience<anyhow::Result<Contents>>,
) -> anyhow::Result<Contents> {
    let source = source.clone();
    patience.wait(move || source.read()).unwrap_or_else(|error| {
        bail!("the files of the certificate and the client CA cannot be read: {error}")
    })
}

/// Reads the files again when they have changed.
pub struct Reloader {
    source: Arc<Source>,
    tls: Arc<Tls>,
    /// The result of the last read, valid or not, so that each change is tried and reported only once.
    seen: Result<Contents, String>,
    patience: Patience<anyhow::Result<Contents>>,
}

/// Reads everything for the first time. The error has the file, and the problem with it.
pub fn load(source: Source, metrics: &Metrics) -> anyhow::Result<(Arc<Tls>, Reloader)> {
    let (source, mut patience) = (Arc::new(source), Patience::default());
    let contents = read_all(&source, &mut patience)?;
    let Built { config, expiry, clients } = source.build(&contents)?;
    metrics.certificate_expiry.set(expiry);
    warn_if_expired(expiry);
    let tls = Arc::new(Tls { config: ArcSwap::new(config), clients: watch::Sender::new(clients) });
    Ok((tls.clone(), Reloader { source, tls, seen: Ok(contents), patience }))
}

impl Reloader {
    /// Applies changes since the last call. If the new files cannot be used, the failure is logged and counted, and the
    /// old configuration stays in use.
    pub fn poll(&mut self, metrics: &Metrics) {
        let read = read_all(&self.source, &mut self.patience);
        let now = read.as_ref().map(Clone::clone).map_err(ToString::to_string);
        if now == self.seen {
            return;
        }
        self.seen = now;
        match read.and_then(|contents| self.source.build(&contents)) {
            Ok(Built { config, expiry, clients }) => {
                self.tls.config.store(config);
                self.tls.clients.send_replace(clients);
                metrics.certificate_expiry.set(expiry);
                metrics.certificate_reloaded(true);
                tracing::info!(expiry, "the certificate was reloaded");
                warn_if_expired(expiry);
            }
            Err(error) => {
                metrics.certificate_reloaded(false);
                tracing::error!(
                    %error,
                    "the changed certificate cannot be used; the old one stays in use"
                );
            }
        }
    }
}

fn warn_if_expired(expiry: i64) {
    if expiry < jiff::Timestamp::now().as_second() {
        tracing::warn!(expiry, "the certificate has expired: the API server will not accept it");
    }
}

impl Source {
    /// Creates a source without client certificates, for the versions of TLS that are accepted by default.
    pub fn new(pair: Pair) -> Self {
        Source { pair, client_ca: None, min_version: MinVersion::default() }
    }

    fn read(&self) -> anyhow::Result<Contents> {
        let (cert, key) = match &self.pair {
            Pair::Files { cert, key } => (read(cert)?, read(key)?),
            Pair::Memory(slot) => {
                let (cert, key) = &*slot.get();
                (cert.clone().into_bytes(), key.clone().into_bytes())
            }
        };
        let client_ca = self.client_ca.as_deref().map(read).transpose()?;
        Ok(Contents { cert, key, client_ca })
    }

    fn build(&self, contents: &Contents) -> anyhow::Result<Built> {
        let memory = PathBuf::from("(in memory)");
        let (cert, key) = match &self.pair {
            Pair::Files { cert, key } => (cert, key),
            Pair::Memory(_) => (&memory, &memory),
        };
        let chain = certificates(cert, &contents.cert)?;
        let expiry = expiry(cert, &chain)?;
        let private = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| {
            content(key, format!("has no private key that can be read: {error}"))
        })?;

        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(self.min_version.accepted())
            .map_err(|error| anyhow!("TLS cannot be set up: {error}"))?;
        let client_ca = self.client_ca.as_deref().zip(contents.client_ca.as_deref());
        let clients = client_ca.map(|(path, pem)| verifier(path, pem, provider)).transpose()?;
        let builder = match clients.clone() {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        // This also checks that the key belongs to the certificate.
        let mut config = builder.with_single_cert(chain, private).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                let (cert, key) = (cert.display(), key.display());
                anyhow!("{key} is not the private key of the first certificate in {cert}")
            }
            error => content(cert, format!("cannot be served: {error}")),
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // The API server keeps its connections open, so resuming sessions would gain little. Also,
        // a client whose CA is no longer trusted must not be able to resume an old session.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Built { config: Arc::new(config), expiry, clients })
    }
}

/// A subject alternative name of a certificate: a DNS name or an IP address.
pub(crate) fn host(text: &str) -> Result<String, String> {
    match ServerName::try_from(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("{text:?} is neither a DNS name nor an IP address")),
    }
}

fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<u8>> {
    let path = path.as_ref();
    files::read(path).map_err(|error| content(path, format!("cannot be read: {error}")))
}

fn content(path: &Path, what: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{}: {what}", path.display())
}

fn certificates(path: &Path, pem: &[u8]) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let list: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let list = list.map_err(|error| content(path, format!("is not PEM: {error}")))?;
    if list.is_empty() {
        return Err(content(path, "has no certificate (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(list)
}

fn expiry(path: &Path, chain: &[CertificateDer<'_>]) -> anyhow::Result<i64> {
    let mut first = i64::MAX;
    for (i, der) in chain.iter().enumerate() {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| {
            content(path, format!("certificate {} cannot be read: {error}", i + 1))
        })?;
        first = first.min(certificate.validity().not_after.timestamp());
    }
    Ok(first)
}

fn verifier(
    path: &Path,
    pem: &[u8],
    provider: Arc<CryptoProvider>,
) -> anyhow::Result<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, pem)? {
        roots
            .add(certificate)
            .map_err(|error| content(path, format!("has an invalid CA certificate: {error}")))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| content(path, error))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    use setguard_cluster::live::Live;

    use super::*;

    fn write(dir: &Path, made: &(String, String)) -> Source {
        let (cert, key) = (dir.join("tls.crt"), dir.join("tls.key"));
        fs::write(&cert, &made.0).unwrap();
        fs::write(&key, &made.1).unwrap();
        Source::new(Pair::Files { cert, key })
    }

    fn made() -> Arc<(String, String)> {
        let (names, day) = (["localhost".to_owned()], Duration::from_secs(24 * 3600));
        SelfSigner::new(&names, day, SystemTime::now()).unwrap().slot().get()
    }

    #[test]
    fn a_fault_in_a_file_is_reported_with_its_name() {
        let metrics = Metrics::with_view(&Live::off());
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (made(), made());
        let wrong = |name: &str, text: &str| {
            let source = write(dir.path(), &one);
            fs::write(dir.path().join(name), text).unwrap();
            load(source, &metrics)
                .err()
                .unwrap()
                .to_string()
                .replace(dir.path().to_str().unwrap(), "D")
                .replace(std::path::MAIN_SEPARATOR, "/")
        };
        let half = &one.0[..one.0.len() / 2];
        assert!(
            wrong("tls.crt", half).starts_with("D/tls.crt: is not PEM: "),
            "{}",
            wrong("tls.crt", half)
        );
        assert_eq!(
            wrong("tls.crt", ""),
            "D/tls.crt: has no certificate (-----BEGIN CERTIFICATE-----)"
        );
        assert!(wrong("tls.key", "").starts_with("D/tls.key: has no private key"));
        assert_eq!(
            wrong("tls.key", &other.1),
            "D/tls.key is not the private key of the first certificate in D/tls.crt"
        );
        let source = write(dir.path(), &one);
        fs::remove_file(dir.path().join("tls.key")).unwrap();
        let error = load(source, &metrics).err().unwrap().to_string();
        assert!(error.contains("tls.key: cannot be read: "), "{error}");
    }

    #[test]
    fn a_bad_pair_leaves_the_old_one_in_force_and_is_counted_once() {
        let metrics = Metrics::with_view(&Live::off());
        let dir = tempfile::tempdir().unwrap();
        let (tls, mut reloader) = load(write(dir.path(), &made()), &metrics).unwrap();
        let before = tls.config();
        let failures = |n: u32| {
            let line = format!("setguard_certificate_reloads_total{{result=\"failure\"}} {n}");
            metrics.encode().lines().any(|have| have == line)
        };
        reloader.poll(&metrics);
        assert!(failures(0));
        let new = made();
        fs::write(dir.path().join("tls.crt"), &new.0).unwrap();
        reloader.poll(&metrics);
        reloader.poll(&metrics);
        assert!(Arc::ptr_eq(&before, &tls.config()) && failures(1));
        fs::write(dir.path().join("tls.key"), &new.1).unwrap();
        reloader.poll(&metrics);
        assert!(!Arc::ptr_eq(&before, &tls.config()) && failures(1));
        let hangs = reloader.patience.hang();
        reloader.poll(&metrics);
        reloader.poll(&metrics);
        assert!(failures(2), "a file system that hangs");
        drop(hangs);
        reloader.poll(&metrics);
        assert!(reloader.seen.is_ok() && failures(2));
    }
}
