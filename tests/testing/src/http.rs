//! Plain HTTP: requests for probes, metrics and etcd, and a reader for stand-in servers.

use std::io::{self, BufRead, Read as _, Write as _};

use crate::prelude::*;

/// A kubeconfig for an API server at this address, without authentication.
pub fn kubeconfig(server: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    config.to_string()
}

/// The response to a GET, as far as received; empty if the connection fails.
pub fn get(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return answer };
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The response to a POST of JSON. HTTP/1.0, to get the body in one piece.
pub fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let mut answer = String::new();
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!("POST {path} HTTP/1.0\r\nHost: x\r\nContent-Length: {}", body.len());
    write!(stream, "{head}\r\n\r\n{body}").expect("a request");
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Serves each connection to a new loopback port on a thread of its own, until the tests end.
pub fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            // The client may disconnect at any time.
            thread::spawn(move || drop(serve(stream)));
        }
    });
    address
}

/// The header of an answer that is the last of its connection.
pub const LAST: &str = "Connection: close\r\n";

pub fn answer(
    to: &mut impl io::Write,
    status: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
) -> io::Result<()> {
    let (body, json) = (body.as_ref(), "Content-Type: application/json");
    let length = body.len();
    write!(to, "HTTP/1.1 {status}\r\n{headers}{json}\r\nContent-Length: {length}\r\n\r\n")?;
    to.write_all(body)?;
    to.flush()
}

#[derive(Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request; `None` at the end of the connection.
    pub fn read(stream: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut request = Request { head: String::new(), body: Vec::new() };
        while !request.head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut request.head)? == 0 {
                return Ok(None);
            }
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse);
        request.body = vec![0; length.map_err(io::Error::other)?];
        stream.read_exact(&mut request.body)?;
        Ok(Some(request))
    }

    /// The method and the path.
    pub fn line(&self) -> (&str, &str) {
        let mut words = self.head.split(' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = headers.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }
}
