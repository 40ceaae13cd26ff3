use crate::server::managed::cluster::CallError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Call(#[from] CallError),
    /// The next rounds will probably succeed.
    #[error("{0}")]
    NotYet(String),
    /// The API server does not call setguard, or its call fails.
    #[error("{0}")]
    NotCalled(String),
    /// The webhooks have their rules, but an API server does not call setguard through them.
    #[error("{0}")]
    NoLonger(String),
    #[error(
        "{kind} {name} does not exist, although it was installed together with the other one: setguard is \
         not called by it; helm upgrade creates it again"
    )]
    Deleted { kind: &'static str, name: String },
    #[error(
        "neither webhook configuration {0} exists, so setguard is not called: helm upgrade creates them"
    )]
    Absent(String),
}

/// Source ports differ each time: `read tcp 10.0.0.1:34567->10.0.0.2:8443` becomes `read tcp 10.0.0.1->10.0.0.2:8443`.
pub(super) fn without_source_ports(text: &str) -> String {
    let (connections, last) = text.rsplit_once("->").unwrap_or(("", text));
    if connections.is_empty() {
        return text.to_owned();
    }
    let cut = |part: &str| {
        let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
        format!("{}->", bare.strip_suffix(':').unwrap_or(part))
    };
    connections.split("->").map(cut).chain([last.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_the_same_with_another_source_port() {
        let why = |port: u16| {
            format!(
                "Post \"https://a.b.svc:443/validate\": read tcp 10.0.0.1:{port}->10.0.0.2:8443: i/o timeout; \
                 read udp [::1]:{port}->[::1]:53: refused; 3->4"
            )
        };
        assert_eq!(without_source_ports(&why(34567)), without_source_ports(&why(9)));
        assert!(without_source_ports(&why(9)).ends_with("->[::1]:53: refused; 3->4"));
        assert_eq!(without_source_ports("a:8443"), "a:8443");
    }
}
