//! Plain HTTP requests, for probes, metrics and etcd.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

/// The response to a GET, as far as it was received; empty if the connection fails.
pub fn get(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return answer };
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The response to a POST of JSON; in one piece, as HTTP/1.0 asks for.
pub fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let mut answer = String::new();
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!("POST {path} HTTP/1.0\r\nHost: x\r\nContent-Length: {}", body.len());
    write!(stream, "{head}\r\n\r\n{body}").expect("a request");
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}
