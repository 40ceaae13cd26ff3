use std::net::IpAddr;

use super::text::Messages;
use crate::{
    finding::Value,
    kubernetes::cluster::{Cluster, since},
};

/// Checks an IP address in a field that is older than the strict rules: `IsValidIPForLegacyField`
/// (`util/validation/ip.go`). `strict` is the gate `StrictIPCIDRValidation`.
pub fn ip(value: &str, strict: bool) -> Messages {
    let mut wrong = Vec::new();
    let parsed = value.parse::<IpAddr>().ok();
    if parsed.is_none() && without_leading_zeros(value).parse::<IpAddr>().is_err() {
        wrong.push("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    } else if strict {
        match parsed {
            None => wrong.push("must not have leading 0s"),
            Some(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
                wrong.push("must not be an IPv4-mapped IPv6 address");
            }
            Some(_) => {}
        }
    }
    wrong
}

/// Returns the warning about the form of an IP address: `GetWarningsForIP` (`util/validation/ip.go`).
pub fn ip_warning(value: &str, cluster: &Cluster) -> Option<String> {
    let parsed = value.parse::<IpAddr>();
    let standard = match parsed {
        Ok(IpAddr::V6(v6)) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None if v6.to_string() == value => return None,
            None => {
                return Some(format!(
                    "IPv6 address {} should be in RFC 5952 canonical format (\"{v6}\")",
                    Value::Str(value)
                ));
            }
        },
        Ok(IpAddr::V4(_)) => return None,
        Err(_) => without_leading_zeros(value).parse().ok()?,
    };
    let is = match cluster.has(since::OLD_IP_INVALID) {
        true => "is invalid",
        false => "will be considered invalid in a future Kubernetes release",
    };
    Some(format!("non-standard IP address {} {is}: use \"{standard}\"", Value::Str(value)))
}

/// Go's old parser ignores leading zeros.
fn without_leading_zeros(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        if end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let group = rest[..end].trim_start_matches('0');
            out.push_str(if group.is_empty() { "0" } else { group });
            rest = &rest[end..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in ["1.2.3.4", "::", "::1", "2001:db8::ffff", "1:2:3:4:5:6:7:8", "::1.2.3.4"] {
            assert!(ip(good, true).is_empty(), "{good}");
        }
        for bad in ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "a", "1:2", "::1%eth0", "1.2.3.4\n", "é"]
        {
            assert!(!ip(bad, false).is_empty(), "{bad:?}");
        }
        for sloppy in ["010.002.003.004", "::ffff:1.2.3.4", "::00001"] {
            assert!(ip(sloppy, false).is_empty() && !ip(sloppy, true).is_empty(), "{sloppy}");
        }
    }
}
