//! Plain HTTP requests, for probes and metrics.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

/// The response to a GET, as far as it was received; empty if the connection fails.
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return answer };
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let _ = stream.read_to_string(&mut answer);
    answer
}
