//! `setguard serve` as a process, and a client that controls every byte it sends.

use std::{
    io::Read,
    process::{ChildStderr, ExitStatus},
    sync::mpsc::{self, Receiver},
    time::SystemTime,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use setguard::server::tls::SelfSigner;
use setguard_testing::harness::process;
use tempfile::TempDir;

use crate::prelude::*;

/// Generous, because a machine may be slow.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    process::eventually(what, || ask().ok_or("not yet"))
}

/// A `serve` command without flags from the environment.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command.env_clear().arg("serve").args(["--log-format", "json", "--poll-interval", "10ms"]);
    if !args.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    }
    command.args(args);
    command
}

fn certificate_flags(dir: &Path) -> [String; 4] {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    ["--tls-cert".to_owned(), path("tls.crt"), "--tls-key".to_owned(), path("tls.key")]
}

pub fn serve_fails(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command.env_clear().arg("serve").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Killed(command.spawn().unwrap());
    let status = eventually("the end", || child.0.try_wait().unwrap());
    let mut text = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (status.code(), text)
}

pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `setguard serve`, killed on drop.
pub struct Daemon {
    child: Killed,
    log: Receiver<String>,
    /// The log lines up to the start of listening.
    start: Vec<String>,
    pub webhook: SocketAddr,
    pub admin: SocketAddr,
    /// The certificate's folder, unless others share it.
    pub dir: Option<TempDir>,
}

impl Daemon {
    pub fn start(args: &[&str]) -> Self {
        Self::start_with_env(args, &[])
    }

    pub fn start_with_env(args: &[&str], env: &[(&str, &Path)]) -> Self {
        let (mut daemon, stderr) = Self::unread(command(args).envs(env.iter().copied()));
        let (send, log) = mpsc::channel();
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        daemon.log = log;
        daemon
    }

    fn unread(command: &mut Command) -> (Self, BufReader<ChildStderr>) {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = Killed(child.unwrap());
        let mut stderr = BufReader::new(child.0.stderr.take().unwrap());
        let mut start = Vec::new();
        loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it does not listen: {start:#?}");
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            start.push(line);
            let address = |field: &str| value["fields"][field].as_str().unwrap().parse().unwrap();
            if value["fields"]["message"] == "listening" {
                let ((_, log), webhook) = (mpsc::channel(), address("webhook"));
                let admin = address("admin");
                return (Daemon { child, log, start, webhook, admin, dir: None }, stderr);
            }
        }
    }

    pub fn with_files(dir: &Path, args: &[&str], env: &[(&str, &Path)]) -> Self {
        let files = certificate_flags(dir);
        let files = files.each_ref().map(String::as_str);
        let at_once = ["--drain-delay", "0"];
        let at_once = if args.contains(&at_once[0]) { &[][..] } else { &at_once };
        Self::start_with_env(&[&files[..], at_once, args].concat(), env)
    }

    /// Like [`Daemon::with_files`], but never reads the log after the start. While the caller holds the pipe, it fills
    /// up; after a drop, each write fails.
    pub fn with_unread_log(dir: &Path) -> (Self, BufReader<ChildStderr>) {
        Self::unread(command(&["--drain-delay", "0"]).args(certificate_flags(dir)))
    }

    pub fn logged(&self, message: &str) -> Value {
        self.logs_until(message).1
    }

    /// Like [`Daemon::logged`], for a line that may precede the start of listening.
    pub fn has_logged(&self, message: &str) -> Value {
        let read = |line: &String| serde_json::from_str::<Value>(line).unwrap_or_default();
        let mut start = self.start.iter().map(read);
        let found = start.find(|line| line["fields"]["message"] == message);
        found.unwrap_or_else(|| self.logged(message))
    }

    /// Waits for a log line with this message. Returns all lines up to it, and the parsed line.
    pub fn logs_until(&self, message: &str) -> (Vec<String>, Value) {
        let mut before = Vec::new();
        loop {
            let line = self.log.recv_timeout(DEADLINE);
            let line = line.unwrap_or_else(|_| panic!("no {message:?} after {before:#?}"));
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            before.push(line);
            if value["fields"]["message"] == message {
                return (before, value);
            }
        }
    }

    pub fn stdout(&mut self) -> String {
        let mut text = String::new();
        self.child.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        eventually("the end", || self.child.0.try_wait().unwrap())
    }

    pub fn get(&self, path: &str) -> Reply {
        let mut stream = TcpStream::connect(self.admin).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        Reply::read(&mut stream)
    }

    pub fn measured(&self, line: &str) {
        eventually(line, || self.get("/metrics").body.lines().any(|l| l == line).then_some(()));
    }
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn read(stream: &mut impl Read) -> Self {
        // Byte-wise reading would take longer than the server does.
        let mut read_more = |bytes: &mut Vec<u8>| {
            let mut chunk = [0; 4 << 10];
            let count = stream.read(&mut chunk).unwrap();
            assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(bytes));
            bytes.extend_from_slice(&chunk[..count]);
        };
        let mut head = Vec::new();
        let end = loop {
            if let Some(at) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            read_more(&mut head);
        };
        let mut body = head.split_off(end);
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap().parse().unwrap();
        while body.len() < length {
            read_more(&mut body);
        }
        assert_eq!(body.len(), length, "more than one answer");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head, body: String::from_utf8(body).unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

#[derive(Clone)]
pub struct Client {
    roots: RootCertStore,
    pub versions: Vec<&'static rustls::SupportedProtocolVersion>,
    identity: Option<(String, String)>,
    /// The offered ALPN protocols, in order of preference.
    pub alpn: Vec<Vec<u8>>,
}

impl Client {
    pub fn trusting(authorities: &[&str]) -> Self {
        let mut roots = RootCertStore::empty();
        for pem in authorities {
            roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
        }
        Client { roots, versions: rustls::ALL_VERSIONS.to_vec(), identity: None, alpn: Vec::new() }
    }

    pub fn identified(mut self, cert: &str, key: &str) -> Self {
        self.identity = Some((cert.to_owned(), key.to_owned()));
        self
    }

    pub fn config(&self) -> ClientConfig {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![cert], key).unwrap()
            }
        };
        config.alpn_protocols = self.alpn.clone();
        config
    }

    pub fn connect(&self, address: SocketAddr) -> std::io::Result<Tls> {
        let name = ServerName::from(address.ip());
        let connection = ClientConnection::new(Arc::new(self.config()), name).unwrap();
        let socket = TcpStream::connect(address)?;
        // Head and body are two writes; the second must not wait for the acknowledgement of the first.
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(DEADLINE))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }
}

pub fn send(stream: &mut impl Write, path: &str, body: &str, part: usize) {
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: setguard\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{}",
        &body[..part]
    )
    .unwrap();
    stream.flush().unwrap();
}

pub fn post(stream: &mut (impl Read + Write), path: &str, body: &str) -> Reply {
    send(stream, path, body, body.len());
    Reply::read(stream)
}

/// A certificate, its key and its CA, in PEM.
pub struct SelfSigned {
    pub ca: String,
    pub cert: String,
    pub key: String,
}

impl SelfSigned {
    pub fn make() -> Self {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let day = Duration::from_secs(24 * 3600);
        let signer = SelfSigner::new(&names, day, SystemTime::now()).unwrap();
        let (cert, key) = (*signer.slot().get()).clone();
        SelfSigned { ca: signer.ca(), cert, key }
    }
}

pub fn certificate_in(dir: &Path) -> SelfSigned {
    let made = SelfSigned::make();
    fs::write(dir.join("tls.crt"), &made.cert).unwrap();
    fs::write(dir.join("tls.key"), &made.key).unwrap();
    made
}

pub fn review(case: &str) -> String {
    support::read(&format!("tests/fixtures/wire/{case}/request.json"))
}
