use k8s_openapi::api::core::v1::WindowsSecurityContextOptions;

use crate::validation::prelude::*;

const MAX_SPEC_KIB: usize = 64;
const MAX_DOMAIN: usize = 256;
const MAX_USER: usize = 104;

/// Follows `validateWindowsSecurityContextOptions`. The values are pointers in Go, printed as JSON.
pub(crate) fn options(options: Option<&WindowsSecurityContextOptions>, path: &At<'_>) {
    let Some(options) = options else { return };
    if let Some(name) = &options.gmsa_credential_spec_name {
        for message in names::dns1123_subdomain(name) {
            path.child("gmsaCredentialSpecName").invalid(named(name), message);
        }
    }
    if let Some(spec) = &options.gmsa_credential_spec {
        let path = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            path.invalid(named(spec), "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > MAX_SPEC_KIB * 1024 {
            let why = format!("gmsaCredentialSpec size must be under {MAX_SPEC_KIB} KiB");
            path.invalid(named(spec), why);
        }
    }
    if let Some(name) = &options.run_as_user_name {
        user_name(name, &path.child("runAsUserName"));
    }
}

fn user_name(name: &str, path: &At<'_>) {
    let wrong = |why: &str| path.invalid(named(name), why);
    if name.is_empty() {
        return wrong("runAsUserName cannot be an empty string");
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return wrong("runAsUserName cannot contain control characters");
    }
    let mut parts = name.split('\\');
    let (domain, user) = match (parts.next(), parts.next(), parts.next()) {
        (_, _, Some(_)) => {
            return wrong("runAsUserName cannot contain more than one backslash");
        }
        (Some(domain), Some(user), None) => (Some(domain), user),
        (user, _, _) => (None, user.unwrap_or_default()),
    };
    if let Some(domain) = domain {
        if domain.len() >= MAX_DOMAIN {
            wrong(&format!("runAsUserName's Domain length must be under {MAX_DOMAIN} characters"));
        }
        if !is_netbios(domain) && !is_dns(domain) {
            wrong("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        wrong("runAsUserName's User cannot be empty");
    } else if user.len() > MAX_USER {
        wrong(&format!(
            "runAsUserName's User length must not be longer than {MAX_USER} characters"
        ));
    }
    if !user.is_empty() && user.bytes().all(|b| b == b'.' || b == b' ') {
        wrong("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(|c: char| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        wrong("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
}

/// Follows `validNetBiosRegex`.
fn is_netbios(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|c: char| "\\/:*?\"<>|".contains(c))
}

/// Follows `validWindowsUserDomainDNSRegex`.
fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
            && bytes[0] != b'-'
            && bytes[bytes.len() - 1] != b'-'
    })
}

/// Follows `validateWindowsHostProcessPod`.
pub(crate) fn host_process(spec: &PodSpec, path: &At<'_>) {
    let pod = spec
        .security_context
        .as_ref()
        .and_then(|context| context.windows_options.as_ref())
        .and_then(|options| options.host_process);
    let (mut all, mut on_host) = (0, 0);
    visit(spec, path, &mut |container, path| {
        all += 1;
        let own = container
            .security_context
            .as_ref()
            .and_then(|context| context.windows_options.as_ref())
            .and_then(|options| options.host_process);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let why =
                format!("pod hostProcess value must be identical if both are specified, was {pod}");
            path.below("securityContext.windowsOptions.hostProcess")
                .invalid(Value::Json(own.to_string()), why);
        }
        on_host += u32::from(own.or(pod) == Some(true));
    });
    if on_host == 0 {
        return;
    }
    if on_host != all {
        let why = "If pod contains any hostProcess containers then all containers must be \
                   HostProcess containers";
        path.invalid("", why);
    }
    if spec.host_network != Some(true) {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        path.child("hostNetwork").invalid(Value::Json("false".to_owned()), why);
    }
}
