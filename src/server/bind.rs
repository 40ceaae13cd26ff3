//! Listens on both IP families where the machine has both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::{io::Errno, net::sockopt::set_ipv6_v6only};
use tokio::net::TcpSocket;

use crate::server::prelude::*;

const BACKLOG: u32 = 1024;

/// `[::]` means all addresses of both IP families, or all IPv4 addresses on a machine without IPv6.
pub(super) async fn bind(flag: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = match listen(address).await {
        Err(error) => match without_ipv6(address, &error) {
            Some(instead) => {
                tracing::info!("{flag} {address}: there is no IPv6, listening on {instead}");
                listen(instead).await
            }
            None => Err(error),
        },
        listener => listener,
    };
    listener.with_context(|| match address.port() {
        0 => format!("{flag} {address}: cannot listen on this address"),
        port => format!("{flag} {address}: cannot listen on this address; is port {port} in use?"),
    })
}

async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if address.ip() != Ipv6Addr::UNSPECIFIED {
        return TcpListener::bind(address).await;
    }
    let socket = TcpSocket::new_v6()?;
    // Let IPv4 clients connect, whatever the system's default is.
    set_ipv6_v6only(&socket, false)?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn without_ipv6(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
    let is_absent = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    let any = address.ip() == Ipv6Addr::UNSPECIFIED && is_absent;
    any.then(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
}

/// An IPv4 loopback address exists even where pods have only IPv6.
pub(super) fn reachable(ip: IpAddr) -> IpAddr {
    if ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { ip }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_used_only_where_there_is_no_ipv6() {
        let any: SocketAddr = "[::]:8443".parse().unwrap();
        let errors = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        let instead = Some("0.0.0.0:8443".parse().unwrap());
        assert_eq!(without_ipv6(any, &errors(Errno::AFNOSUPPORT)), instead);
        assert_eq!(without_ipv6(any, &errors(Errno::ADDRNOTAVAIL)), instead);
        assert_eq!(without_ipv6(any, &errors(Errno::ADDRINUSE)), None);
        let one = "[fd00::1]:8443".parse().unwrap();
        assert_eq!(without_ipv6(one, &errors(Errno::AFNOSUPPORT)), None);
    }

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_this_machine() {
        for (ip, expected) in
            [("::", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("fd00::1", "fd00::1")]
        {
            assert_eq!(reachable(ip.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        }
    }
}
