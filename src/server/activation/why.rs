//! Explains for the log why the API server does not call setguard. Does no I/O.

use setguard_core::object::annotations::REHEARSAL_LABEL;

use super::Target;
use crate::server::prelude::*;

/// An API server that has just started reads the configurations within a second. After this time, there is a problem.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// The name of the webhook that receives rehearsals begins with this. The name of the release may follow.
pub(super) const REHEARSAL: &str = "rehearsal.";

pub(super) fn refused(target: &Target, status: StatusCode, message: &str) -> String {
    let Target { namespace, name } = target;
    if message.contains(&format!("failed calling webhook \"{REHEARSAL}")) {
        return format!("the API server cannot call setguard: {message}");
    }
    let object = format!("ConfigMap {namespace}/{name}");
    match status {
        StatusCode::NOT_FOUND => format!(
            "{object} does not exist. A dry-run patch of it shows whether the API server can call \
             setguard; helm upgrade creates it again"
        ),
        StatusCode::FORBIDDEN if message.contains("cannot patch resource") => format!(
            "setguard may not patch {object}, which shows whether the API server can call it: grant \
             it what Role {name} of the chart grants (rbac.create). The API server says: {message}"
        ),
        _ => format!(
            "the API server refuses a dry-run patch of {object}, which would show whether it can call \
             setguard: {message}"
        ),
    }
}

/// Explains that a configuration lacks a `caBundle` that setguard, if `is_managed`, or cert-manager writes: a rehearsal
/// before that would count as an untrusted certificate. `None` if all webhooks have one, or if nothing writes it: then
/// the API server trusts the authority of the certificate, or the rehearsal shows that it does not.
pub(super) fn without_bundle(configuration: &Value, is_managed: bool) -> Option<String> {
    let metadata = &configuration["metadata"];
    let is_injected = metadata["annotations"].as_object().is_some_and(|annotations| {
        annotations.keys().any(|key| key.starts_with("cert-manager.io/inject-"))
    });
    let author = match (is_managed, is_injected) {
        (true, _) => "setguard",
        (false, true) => "cert-manager",
        (false, false) => return None,
    };
    let mut webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    let bare =
        webhooks.find(|it| it["clientConfig"]["caBundle"].as_str().is_none_or(str::is_empty))?;
    Some(format!(
        "webhook {} has no caBundle, which {author} writes",
        bare["name"].as_str().unwrap_or_default()
    ))
}

/// A patch that the API server accepted without calling setguard through this configuration.
pub(super) struct Silent<'a> {
    pub(super) target: &'a Target,
    pub(super) configuration: Configuration,
    /// The configuration and the ConfigMap, as the API server has them.
    pub(super) read: &'a Value,
    pub(super) object: &'a Value,
    pub(super) lasts: Duration,
    /// Whether the webhook called this replica anyway.
    pub(super) was_called: bool,
    pub(super) has_rules: bool,
}

impl Silent<'_> {
    /// Returns the cause, and whether the problem will probably resolve itself.
    pub(super) fn why(&self) -> (String, bool) {
        let Target { namespace, name } = self.target;
        let kind = self.configuration.kind();
        let configuration = self.read["metadata"]["name"].as_str().unwrap_or_default();
        let Some(webhook) = rehearsal(self.read) else {
            let why = format!(
                "{kind} {configuration} has no webhook {REHEARSAL}….setguard.io with a rule for ConfigMaps, so the API \
                 server can't show that it can call setguard: another release of the chart \
                 wrote it, or it was changed later; helm upgrade restores it"
            );
            return (why, false);
        };
        if self.object["metadata"]["labels"][REHEARSAL_LABEL] != "true" {
            let why = format!(
                "ConfigMap {namespace}/{name} lacks the label {REHEARSAL_LABEL}=true, so webhook \
                 {webhook} does not select it; helm upgrade restores it"
            );
            return (why, false);
        }
        if self.lasts < PATIENCE {
            return ("the API server has not read the webhook configurations yet".to_owned(), true);
        }
        if self.was_called {
            let why = format!(
                "the API server has called setguard by webhook {webhook}, but its answer has no \
                 warning: a proxy on the way to the API server seems to remove the Warning headers. \
                 Let setguard reach the API server directly, or set webhook.arm to atOnce"
            );
            return (why, false);
        }
        let consequence = match self.has_rules {
            true => "what is written by way of that API server is neither checked nor changed",
            false => "this configuration guards nothing, unless you set webhook.arm to atOnce",
        };
        let why = format!(
            "the API server does not call webhooks for ConfigMap {namespace}/{name}: it accepts dry-run \
             patches, and at least one API server does not call webhook {webhook} of {kind} \
             {configuration}. Is its admission plugin {} enabled, and is setguard the account that the \
             webhook's matchConditions name? Until then {consequence}",
            match self.configuration {
                Configuration::Validating => "ValidatingAdmissionWebhook",
                Configuration::Mutating => "MutatingAdmissionWebhook",
            },
        );
        (why, false)
    }
}

/// Returns the name of the webhook that receives rehearsals and has a rule for ConfigMaps.
fn rehearsal(configuration: &Value) -> Option<&str> {
    let mut webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    webhooks.find_map(|webhook| {
        let mut rules = webhook["rules"].as_array().into_iter().flatten();
        let is_config_maps = |resource: &Value| resource == "configmaps";
        let is_asked = rules
            .any(|it| it["resources"].as_array().is_some_and(|it| it.iter().any(is_config_maps)));
        webhook["name"].as_str().filter(|name| name.starts_with(REHEARSAL) && is_asked)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target() -> Target {
        "guards/setguard-rehearsal".parse().unwrap()
    }

    #[test]
    fn a_refusal_names_its_cause_and_the_remedy() {
        let failed = "Internal error occurred: failed calling webhook \
                      \"rehearsal.validate.setguard.io\": connection refused";
        let forbidden = "configmaps \"setguard-rehearsal\" is forbidden: User \"x\" cannot patch \
                         resource \"configmaps\" in API group \"\" in the namespace \"guards\"";
        let foreign = "admission webhook \"policy.example.com\" denied the request: no owner";
        for (status, message, expected) in [
            (500, failed, "cannot call setguard: Internal error"),
            (404, "not found", "ConfigMap guards/setguard-rehearsal does not exist"),
            (403, forbidden, "grant it what Role setguard-rehearsal of the chart grants"),
            (403, foreign, "refuses a dry-run patch of ConfigMap guards/setguard-rehearsal"),
        ] {
            let why = refused(&target(), StatusCode::from_u16(status).unwrap(), message);
            assert!(why.contains(expected), "{why}");
            assert!(status == 404 || why.contains(message), "the API server's words: {why}");
        }
    }

    #[test]
    fn a_bundle_is_awaited_if_something_writes_it() {
        let configuration = |bundles: [Value; 2], annotations: Value| {
            let [first, second] = bundles.map(|it| json!({ "caBundle": it }));
            json!({ "metadata": { "annotations": annotations }, "webhooks": [
                { "name": "a.setguard.io", "clientConfig": first },
                { "name": "b.setguard.io", "clientConfig": second },
            ] })
        };
        let injected = json!({ "cert-manager.io/inject-ca-from": "guards/setguard" });
        for (bundles, annotations, is_managed, expected) in [
            (
                [json!("Q0E="), json!("")],
                Value::Null,
                true,
                Some("b.setguard.io has no caBundle, which setguard"),
            ),
            (
                [json!("Q0E="), Value::Null],
                injected.clone(),
                false,
                Some("which cert-manager writes"),
            ),
            ([json!("Q0E="), json!("Q0E=")], injected, false, None),
            ([json!("Q0E="), json!("Q0E=")], Value::Null, true, None),
            ([Value::Null, Value::Null], Value::Null, false, None),
        ] {
            let why = without_bundle(&configuration(bundles, annotations), is_managed);
            match expected {
                Some(expected) => assert!(why.as_ref().unwrap().contains(expected), "{why:?}"),
                None => assert_eq!(why, None),
            }
        }
    }

    #[test]
    fn silence_has_another_cause_each_time() {
        let webhook = |resources: &str| {
            json!({ "metadata": { "name": "setguard" }, "webhooks": [{
                "name": "rehearsal.validate.setguard.io",
                "rules": [{ "resources": [resources] }],
            }] })
        };
        let (old, new) = (webhook("selfsubjectreviews"), webhook("configmaps"));
        let bare = json!({ "metadata": {} });
        let labelled = json!({ "metadata": { "labels": { "setguard.io/rehearsal": "true" } } });
        let why = |read: &Value, object: &Value, seconds, was_called, has_rules| {
            let (target, configuration) = (&target(), Configuration::Validating);
            let lasts = Duration::from_secs(seconds);
            Silent { target, configuration, read, object, lasts, was_called, has_rules }.why()
        };
        let last = PATIENCE.as_secs();
        for (read, object, seconds, was_called, expected, passes) in [
            (&old, &labelled, 1, false, "has no webhook rehearsal.….setguard.io", false),
            (&new, &bare, 1, false, "lacks the label setguard.io/rehearsal=true", false),
            (&new, &labelled, last - 1, false, "has not read the webhook configurations yet", true),
            (&new, &labelled, last, true, "remove the Warning headers", false),
            (&new, &labelled, last, false, "does not call webhooks for ConfigMap guards/", false),
        ] {
            let (why, soon) = why(read, object, seconds, was_called, false);
            assert!(why.contains(expected), "{why}");
            assert_eq!(soon, passes, "{why}");
        }
        let (why, _) = why(&new, &labelled, last, false, true);
        assert!(why.contains("by way of that API server is neither checked nor changed"), "{why}");
    }
}
