//! Changes the API server's stored objects behind its back.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use crate::prelude::*;

/// The kube-apiserver flag to store editable JSON.
pub(crate) const JSON: &str = "--storage-media-type=application/json";

/// Changes the object under a key, such as `/registry/pods/default/web-0`.
pub(crate) fn rewrite(plane: &ControlPlane, key: &str, change: impl FnOnce(&mut Value)) {
    let ask = |path: &str, body: Value| {
        let answer = http::post(plane.etcd(), path, &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(head.contains(" 200 "), "{path}: {answer}");
        serde_json::from_str::<Value>(body).expect("JSON")
    };
    let key = BASE64.encode(key);
    let found = ask("/v3/kv/range", json!({ "key": key }));
    let stored = found["kvs"][0]["value"].as_str().expect("a stored object");
    let stored = BASE64.decode(stored).expect("Base64");
    let mut object = serde_json::from_slice(&stored).expect("an object stored as JSON");
    change(&mut object);
    ask("/v3/kv/put", json!({ "key": key, "value": BASE64.encode(object.to_string()) }));
}
