//! A plain HTTPS client: one connection, kept alive, sequential requests.
//!
//! It does as little as possible, so that the benchmark measures the server.

use std::io::{self, Read as _, Write as _};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use crate::prelude::*;

/// Trusts only the certificate in this file.
pub fn trust(certificate: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
    roots.add(certificate).expect("a certificate that can be trusted");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

pub fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    request("POST", path, headers, body)
}

pub fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-apiserver-admission\r\n\
         Accept: application/json, */*\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    received: Vec<u8>,
}

impl Connection {
    /// Connects. The TLS handshake follows with the first request.
    pub fn open(address: SocketAddr, tls: &Arc<ClientConfig>) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        let name = ServerName::from(address.ip());
        let session = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
        Ok(Connection { stream: StreamOwned::new(session, socket), received: Vec::new() })
    }

    pub fn send(&mut self, request: &[u8]) -> io::Result<(u16, &[u8])> {
        self.stream.write_all(request)?;
        self.stream.flush()?;
        self.received.clear();
        let head = self.read_until(0, b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(&self.received[..head]).to_ascii_lowercase();
        let status = text.get(9..12).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not HTTP: {text}")))?;
        let body = head + 4;
        let header = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let end = if let Some(length) = header("content-length:") {
            let end = body + length.parse::<usize>().map_err(io::Error::other)?;
            while self.received.len() < end {
                self.read_more()?;
            }
            end
        } else {
            // Chunked. The chunk headers stay in the body: callers only search it for a word.
            self.read_until(body, b"0\r\n\r\n")?
        };
        Ok((status, &self.received[body..end]))
    }

    fn read_until(&mut self, from: usize, mark: &[u8]) -> io::Result<usize> {
        loop {
            let tail = &self.received[from..];
            if let Some(at) = tail.windows(mark.len()).position(|window| window == mark) {
                return Ok(from + at);
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let n = self.stream.read(&mut chunk)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.received.extend_from_slice(&chunk[..n]);
        Ok(())
    }
}
