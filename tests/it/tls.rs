//! TLS as the API server uses it: versions, HTTP/1.1 and HTTP/2, client certificates, rotation.

use std::{
    io::{ErrorKind, Write as _},
    os::unix::fs::symlink,
};

use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::{
    pki_types::{CertificateDer, pem::PemObject},
    version::{TLS12, TLS13},
};
use tempfile::NamedTempFile;

use crate::prelude::*;
use crate::{
    daemon::{SelfSigned, Tls},
    http2,
    serve::daemon,
};

#[test]
fn both_tls_versions_work_and_connections_are_kept_alive() {
    let (daemon, mut client) = daemon(&[]);
    let review = review("validate/daemonset-create");
    for version in [&TLS12, &TLS13] {
        client.versions = vec![version];
        let mut stream = client.connect(daemon.webhook).unwrap();
        assert_eq!(stream.conn.protocol_version(), Some(version.version));
        for _ in 0..2 {
            let reply = post(&mut stream, "/validate?timeout=5s", &review);
            assert_eq!(reply.status, 200, "{reply:?}");
            assert!(!reply.head.contains("connection: close"), "{}", reply.head);
        }
    }
}

#[test]
fn an_older_tls_version_is_refused_if_asked_for() {
    let (daemon, mut client) = daemon(&["--tls-min-version", "1.3"]);
    client.versions = vec![&TLS12];
    let error = client.connect(daemon.webhook).err().unwrap().to_string();
    assert!(error.contains("ProtocolVersion"), "{error}");
    client.versions = vec![&TLS12, &TLS13];
    let stream = client.connect(daemon.webhook).unwrap();
    assert_eq!(stream.conn.protocol_version(), Some(TLS13.version));
}

#[tokio::test]
async fn http_2_is_used_if_alpn_offers_it() {
    let (daemon, client) = daemon(&[]);
    let mut sender = http2::connect(&daemon, client).await.unwrap();
    let mut send = || {
        let review = review("mutate/pod-of-daemonset-controller");
        sender.send_request(http2::post(&daemon, "/mutate?timeout=5s", review))
    };
    let (one, other) = (send(), send());
    let replies = [one.await.unwrap(), other.await.unwrap()];
    assert!(replies.iter().all(|reply| reply.status() == 200), "{replies:?}");
}

#[tokio::test]
async fn only_some_connections_may_use_http_2() {
    let (daemon, mut client) = daemon(&[]);
    client.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let connect = || client.connect(daemon.webhook).unwrap();
    let is_http2 = |stream: &Tls| stream.conn.alpn_protocol() == Some(b"h2");
    let mut open: Vec<_> = (0..8).map(|_| connect()).collect();
    assert!(open.iter().all(is_http2));
    let mut ninth = connect();
    assert!(!is_http2(&ninth));
    assert_eq!(post(&mut ninth, "/validate", &review("validate/daemonset-create")).status, 200);
    drop(open.pop());
    eventually("room for HTTP/2", || is_http2(&connect()).then_some(()));
}

/// A new certificate authority, and a client certificate from it with its key, all as PEM.
fn client_of_new_authority() -> (String, String, String) {
    client_for(vec![ExtendedKeyUsagePurpose::ClientAuth])
}

fn client_for(usages: Vec<ExtendedKeyUsagePurpose>) -> (String, String, String) {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
    let mut leaf = CertificateParams::new(Vec::new()).unwrap();
    leaf.extended_key_usages = usages;
    let key = KeyPair::generate().unwrap();
    let leaf = leaf.signed_by(&key, &ca).unwrap();
    (ca.pem(), leaf.pem(), key.serialize_pem())
}

fn with_client_ca(authorities: &str) -> (NamedTempFile, Daemon, Client) {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, authorities).unwrap();
    let (daemon, client) = daemon(&["--client-ca", file.path().to_str().unwrap()]);
    (file, daemon, client)
}

/// Whether a review gets an answer. With TLS 1.3, the client completes the handshake before the server sees the
/// client's certificate, so it may notice a rejection only on read.
fn answers(daemon: &Daemon, client: &Client) -> bool {
    let body = review("validate/daemonset-create");
    let Ok(stream) = client.connect(daemon.webhook) else { return false };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut stream = stream;
        post(&mut stream, "/validate", &body).status
    }))
    .is_ok_and(|status| status == 200)
}

#[test]
fn with_a_client_ca_only_its_clients_are_answered_and_it_can_be_replaced() {
    let (ca, cert, key) = client_of_new_authority();
    let (other_ca, other_cert, other_key) = client_of_new_authority();
    let (file, daemon, client) = with_client_ca(&ca);
    let one = client.clone().identified(&cert, &key);
    let other = client.clone().identified(&other_cert, &other_key);
    assert!(answers(&daemon, &one));
    assert!(!answers(&daemon, &client));
    assert!(!answers(&daemon, &other));
    daemon.measured(r#"setguard_tls_handshake_failures_total{reason="client-certificate"} 2"#);

    fs::write(&file, other_ca).unwrap();
    daemon.logged("the certificate was reloaded");
    assert!(answers(&daemon, &other));
    assert!(!answers(&daemon, &one));
}

/// A certificate without usages suits every use; `docs/operations.md` names the consequence.
#[test]
fn a_client_certificate_for_other_uses_is_refused_and_one_for_all_uses_is_not() {
    let clients = [vec![], vec![ExtendedKeyUsagePurpose::ServerAuth]].map(client_for);
    let authorities = clients.each_ref().map(|(ca, ..)| &**ca).concat();
    let (_file, daemon, client) = with_client_ca(&authorities);
    let answered =
        clients.map(|(_, cert, key)| answers(&daemon, &client.clone().identified(&cert, &key)));
    assert_eq!(answered, [true, false]);
}

/// Whether the server has closed a connection, without sending anything more.
fn is_closed(stream: &mut Tls) -> bool {
    let mut rest = Vec::new();
    // Without a close_notify, the end is an error.
    let ended = stream.read_to_end(&mut rest);
    rest.is_empty() && ended.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |_| true)
}

#[test]
fn connections_of_a_client_whose_ca_is_removed_close_after_their_request() {
    let (ca, cert, key) = client_of_new_authority();
    let (other_ca, other_cert, other_key) = client_of_new_authority();
    let (file, daemon, client) = with_client_ca(&ca);
    let body = review("validate/daemonset-create");
    let one = client.clone().identified(&cert, &key);
    let mut idle = one.connect(daemon.webhook).unwrap();
    assert_eq!(post(&mut idle, "/validate", &body).status, 200);

    // Adding the other CA doesn't affect connected clients.
    fs::write(&file, format!("{ca}{other_ca}")).unwrap();
    daemon.logged("the certificate was reloaded");
    assert_eq!(post(&mut idle, "/validate", &body).status, 200);
    let other = client.identified(&other_cert, &other_key);
    let mut kept = other.connect(daemon.webhook).unwrap();
    assert_eq!(post(&mut kept, "/validate", &body).status, 200);
    let mut busy = one.connect(daemon.webhook).unwrap();
    send(&mut busy, "/validate", &body, body.len() / 2);
    daemon.measured("setguard_in_flight_requests 1");

    fs::write(&file, &other_ca).unwrap();
    for _ in 0..2 {
        daemon.logged("a connection closes, since its client is no longer trusted");
    }
    assert!(is_closed(&mut idle));
    busy.write_all(&body.as_bytes()[body.len() / 2..]).unwrap();
    let reply = Reply::read(&mut busy);
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("connection: close"), "{}", reply.head);
    assert!(is_closed(&mut busy));
    assert_eq!(post(&mut kept, "/validate", &body).status, 200);
}

#[test]
fn a_client_that_does_not_trust_the_server_is_counted_and_logged() {
    let (daemon, _) = daemon(&[]);
    let stranger = SelfSigned::make();
    assert!(!answers(&daemon, &Client::trusting(&[&stranger.ca])));
    let line = daemon.logged(
        "a TLS handshake failed; further failures within a minute are logged at debug level",
    );
    assert!(line["fields"]["hint"].as_str().unwrap().contains("caBundle"), "{line}");
    daemon.measured(r#"setguard_tls_handshake_failures_total{reason="refused-by-client"} 1"#);
}

/// A Secret as the kubelet mounts it: the files are symlinks into `..data`, a symlink to a folder that each update
/// replaces.
struct Mount<'a> {
    root: &'a Path,
    generation: u32,
}

impl Mount<'_> {
    fn swap(&mut self, cert: &str, key: &str) {
        self.generation += 1;
        let folder = format!("..generation-{}", self.generation);
        let path = self.root.join(&folder);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("tls.crt"), cert).unwrap();
        fs::write(path.join("tls.key"), key).unwrap();
        symlink(&folder, self.root.join("..data_tmp")).unwrap();
        fs::rename(self.root.join("..data_tmp"), self.root.join("..data")).unwrap();
        if self.generation == 1 {
            for name in ["tls.crt", "tls.key"] {
                symlink(Path::new("..data").join(name), self.root.join(name)).unwrap();
            }
        } else {
            let old = format!("..generation-{}", self.generation - 1);
            fs::remove_dir_all(self.root.join(old)).unwrap();
        }
    }
}

fn served(daemon: &Daemon, client: &Client) -> CertificateDer<'static> {
    let stream = client.connect(daemon.webhook).unwrap();
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn a_self_signed_certificate_is_renewed_under_the_ca_that_was_printed() {
    let mut daemon = Daemon::start(&["--tls-self-signed-lifetime", "3s"]);
    let configuration: Value =
        serde_json::from_str(&support::to_json(&daemon.stdout())[0]).unwrap();
    let ca = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap();
    let ca = String::from_utf8(STANDARD.decode(ca).unwrap()).unwrap();
    let client = Client::trusting(&[&ca]);
    let first = served(&daemon, &client);
    eventually("a new certificate", || (served(&daemon, &client) != first).then_some(()));
    daemon.logged("the certificate was reloaded");
}

#[test]
fn a_rotated_secret_is_served_and_a_bad_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (old, half, new) = (SelfSigned::make(), SelfSigned::make(), SelfSigned::make());
    let der = |made: &SelfSigned| CertificateDer::from_pem_slice(made.cert.as_bytes()).unwrap();
    let mut mount = Mount { root: dir.path(), generation: 0 };
    mount.swap(&old.cert, &old.key);
    let daemon = Daemon::with_files(dir.path(), &[], &[]);
    let client = Client::trusting(&[&old.ca, &half.ca, &new.ca]);
    // This connection outlives the rotation.
    let mut kept = client.connect(daemon.webhook).unwrap();
    assert_eq!(served(&daemon, &client), der(&old));

    let refused = "the changed certificate cannot be used; the old one stays in use";
    mount.swap(&half.cert[..half.cert.len() / 2], &half.key);
    let error = daemon.logged(refused)["fields"]["error"].to_string();
    assert!(error.contains("tls.crt: is not PEM"), "{error}");
    mount.swap(&half.cert, &old.key);
    let error = daemon.logged(refused)["fields"]["error"].to_string();
    assert!(error.contains("is not the private key of the first certificate in"), "{error}");
    assert_eq!(served(&daemon, &client), der(&old));
    daemon.measured(r#"setguard_certificate_reloads_total{result="failure"} 2"#);

    mount.swap(&new.cert, &new.key);
    eventually("the new certificate", || (served(&daemon, &client) == der(&new)).then_some(()));
    daemon.measured(r#"setguard_certificate_reloads_total{result="success"} 1"#);
    assert_eq!(post(&mut kept, "/validate", &review("validate/daemonset-create")).status, 200);
}
