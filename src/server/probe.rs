//! `setguard probe`: checks as a client that a server answers correctly.

mod armed;
mod through;

use std::{fs, process::ExitCode};

use rustls::pki_types::pem::PemObject;

use self::armed::Expected;
use super::{activation::Target, call_tracker::PROBES, https};
use crate::server::prelude::*;

/// Send a valid and an invalid DaemonSet to a server for review
///
/// It can also check that the API server calls the server: that the webhook configurations are as the chart wrote them,
/// with their rules (--validating-config, --mutating-config), that a request of its own reaches the server
/// (--rehearsal), and that the server answers faulty writes of each kind and operation, through each webhook
/// (--namespace).
///
/// Exit codes: 0 the server allowed the valid one, and denied the invalid one or warned about it, and every other check
/// passed; 2 a check failed, or the server did not answer.
#[derive(Clone, Debug, clap::Args)]
pub struct ProbeArgs {
    /// URL of the server, such as `https://setguard.setguard.svc`; the default path is /validate
    #[arg(long, value_name = "URL", required_unless_present_any = ["namespace", "validating_config", "mutating_config"], requires = "ca")]
    pub url: Option<Uri>,
    /// CA certificates that verify the server's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "url")]
    pub ca: Option<PathBuf>,
    /// Also compare this ValidatingWebhookConfiguration with what the chart wrote
    #[arg(long, value_name = "NAME")]
    pub validating_config: Option<String>,
    /// Also compare this MutatingWebhookConfiguration with what the chart wrote
    #[arg(long, value_name = "NAME")]
    pub mutating_config: Option<String>,
    /// SHA-256 of the annotation setguard.io/webhooks of each configuration as the chart wrote it: another annotation
    /// counts as a change. Without it, only the rules are compared with anything but the annotation (repeatable)
    #[arg(long, value_name = "SHA256", value_delimiter = ',', hide_short_help = true)]
    pub annotations: Vec<String>,
    /// Also patch this ConfigMap, with dryRun, and see that the API server calls setguard through these configurations.
    /// Only the account of setguard can do that
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub rehearsal: Option<Target>,
    /// Also send faulty writes, with dryRun, to this namespace, which the webhooks have to select. setguard has to
    /// answer each kind and operation that the given configurations send to it; without a configuration, a policy has
    /// to refuse a DaemonSet. Needs the rights to create Pods, and to list, create and patch DaemonSets and
    /// StatefulSets there, and to list MutatingAdmissionPolicies
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Without a configuration, it is enough if a policy warns
    #[arg(long, requires = "namespace")]
    pub warned: bool,
    /// How long to wait until the API server calls setguard
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    pub wait: Duration,
}

/// Probes the server. Fails if the server does not answer, or gives a wrong answer.
pub fn run(args: &ProbeArgs) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(probe(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn probe(args: &ProbeArgs) -> anyhow::Result<()> {
    if let (Some(url), Some(ca)) = (&args.url, &args.ca) {
        reviews(url, ca).await?;
    }
    let validating = args.validating_config.as_deref().map(|it| (Configuration::Validating, it));
    let mutating = args.mutating_config.as_deref().map(|it| (Configuration::Mutating, it));
    let configurations = validating.into_iter().chain(mutating).collect();
    let annotations = &args.annotations;
    let expected = Expected { configurations, annotations, rehearsal: args.rehearsal.as_ref() };
    let webhooks = expected.wait(args.wait).await?;
    match &args.namespace {
        Some(namespace) => through::refused(namespace, &webhooks, args).await,
        None => Ok(()),
    }
}

async fn reviews(url: &Uri, ca: &Path) -> anyhow::Result<()> {
    let good = json!({ "app": "setguard-probe" });
    let (allowed, message) = ask(url, ca, "good", &good).await?;
    if !allowed {
        bail!("{url}: a valid DaemonSet is denied: {message}");
    }
    // The selector does not select the template.
    let (allowed, message) = ask(url, ca, "bad", &json!({ "app": "another" })).await?;
    if allowed && message.is_empty() {
        bail!("{url}: an invalid DaemonSet is allowed without a warning");
    }
    Ok(())
}

/// Returns whether a DaemonSet whose template has these labels is allowed, and the answer's message and warnings.
async fn ask(url: &Uri, ca: &Path, uid: &str, labels: &Value) -> anyhow::Result<(bool, String)> {
    let pem = fs::read(ca).with_context(|| ca.display().to_string())?;
    let authorities: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let client = https::Client::trusting(
        authorities.with_context(|| format!("{}: is not PEM", ca.display()))?,
        None,
    )?;
    let (Some("https"), Some(host)) = (url.scheme_str(), url.host()) else {
        bail!("{url}: is not an https:// URL");
    };
    let address = format!("{host}:{}", url.port_u16().unwrap_or(443));
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let stream = client.connect(address, ServerName::try_from(name)?).await;
    let stream = stream.with_context(|| url.to_string())?;
    let path = match url.path() {
        "" | "/" => Endpoint::Validate.path(),
        path => path,
    };
    let request = Request::post(path)
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json")
        .body(review(uid, labels).to_string().into())?;
    let response = https::send(stream, request).await.with_context(|| url.to_string())?;
    let text = String::from_utf8_lossy(response.body());
    if !response.status().is_success() {
        bail!("{url}: {}: {}", response.status(), text.trim_end());
    }
    let answer: Value = serde_json::from_str(&text).with_context(|| url.to_string())?;
    let answer = &answer["response"];
    let Some(allowed) = answer["allowed"].as_bool().filter(|_| answer["uid"] == uid) else {
        bail!("{url}: this is not an answer to the review: {answer}");
    };
    let said = answer["status"]["message"].as_str().into_iter();
    let warnings = answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok((allowed, said.chain(warnings).collect::<Vec<_>>().join("; ")))
}

fn review(uid: &str, labels: &Value) -> Value {
    let mut object = through::good(&RESOURCES[0]);
    object["metadata"]["namespace"] = json!(PROBES);
    object["spec"]["template"]["metadata"]["labels"] = labels.clone();
    let user = json!({ "username": "setguard-probe" });
    create_review(Some(&RESOURCES[0]), uid, &user, &object, true)
}

/// Returns the AdmissionReview for a new object; without a resource, for a Pod.
pub(crate) fn create_review(
    resource: Option<&Resource>,
    uid: &str,
    user: &Value,
    object: &Value,
    is_dry_run: bool,
) -> Value {
    let (group, version, kind, plural) = resource.map_or(("", "v1", "Pod", "pods"), |it| {
        (it.group, it.version, it.kind.as_str(), it.plural)
    });
    let metadata = &object["metadata"];
    let kind = json!({ "group": group, "version": version, "kind": kind });
    let resource = json!({ "group": group, "version": version, "resource": plural });
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": metadata["name"].as_str().unwrap_or_default(),
            "namespace": metadata["namespace"].as_str().unwrap_or("default"),
            "operation": "CREATE",
            "userInfo": user,
            "object": object,
            "oldObject": null,
            "dryRun": is_dry_run,
        },
    })
}
