//! From managed to user-provided certificates and back, as in docs/operations.md, under load.

use super::{KINDS, Site, load::Load, release::Release, validates};
use crate::prelude::*;

pub(super) fn both_ways(site: &Site<'_>, release: &Release<'_>, values: &mut Value) {
    let managed = json!([values["tls"], values["extraArgs"]]);
    let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "own-serving" },
        "type": "kubernetes.io/tls",
        "data": {
            "tls.crt": BASE64.encode(pair.cert.pem()),
            "tls.key": BASE64.encode(pair.signing_key.serialize_pem()),
        },
    });
    site.own.apply(&secret).accepted();
    let tls = json!({ "mode": "secret", "secretName": "own-serving", "caBundle": pair.cert.pem() });
    switch(site, release, values, &json!([tls, []]));
    for kind in KINDS {
        assert_eq!(site.bundle(kind).trim(), pair.cert.pem().trim(), "{kind}");
    }
    // An old replica may have restored the Secret while Helm deleted it.
    let delete = ["delete", "secret/guard-setguard-tls", "--ignore-not-found"];
    site.own.kubectl(&delete, "").accepted();

    switch(site, release, values, &managed);
    for kind in KINDS {
        assert!(!site.bundle(kind).contains(pair.cert.pem().trim()), "{kind}");
    }
    site.own.kubectl(&["delete", "secret/own-serving"], "").accepted();
}

fn switch(site: &Site<'_>, release: &Release<'_>, values: &mut Value, to: &Value) {
    let load = Load::start(site);
    values["webhook"]["validating"] = json!({ "failurePolicy": "Ignore" });
    release.run("upgrade", values);
    values["tls"] = to[0].clone();
    values["extraArgs"] = to[1].clone();
    release.take_back(values);
    values["webhook"]["validating"] = json!({ "failurePolicy": "Fail" });
    release.take_back(values);
    load.assert_none_failed();
    becomes("two replicas", || site.kubelet.ready().len(), |ready| *ready == 2);
    validates(site);
}
