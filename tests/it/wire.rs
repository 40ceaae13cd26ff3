//! The router's exact responses, and its errors for rejected requests.

mod bodies;

use axum::http::{Method, Request, Version, header};
use http_body_util::BodyExt;
use setguard::server::{app::App, routes::router};
use tower::ServiceExt;

use crate::prelude::*;

const JSON: &str = "application/json";

struct Reply {
    status: u16,
    content_type: String,
    /// Whether the response has `Connection: close`.
    closes: bool,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

async fn send(app: &Arc<App>, request: Request<Body>) -> Reply {
    let response = router(app.clone()).oneshot(request).await.unwrap();
    assert!(!response.headers().contains_key(header::RETRY_AFTER), "client-go would retry");
    let status = response.status().as_u16();
    let content_type = response.headers().get(header::CONTENT_TYPE).map(|v| v.to_str().unwrap());
    let content_type = content_type.unwrap_or_default().to_owned();
    let closes = response.headers().get(header::CONNECTION).is_some_and(|value| value == "close");
    let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
    Reply { status, content_type, closes, body }
}

async fn post(app: &Arc<App>, uri: &str, body: impl Into<Body>) -> Reply {
    let request = Request::post(uri).header(header::CONTENT_TYPE, JSON).body(body.into()).unwrap();
    send(app, request).await
}

fn app() -> Arc<App> {
    App::new(Policy::default())
}

/// Repeats the API server's checks of an answer. If one fails, the call counts as failed.
///
/// Kubernetes: `VerifyAdmissionResponse`, apiserver `pkg/admission/plugin/webhook/request/admissionreview.go`.
fn verify(uid: &str, mutating: bool, review: &Value) {
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(review["kind"], "AdmissionReview");
    let response = review["response"].as_object().expect("webhook response was absent");
    assert_eq!(response["uid"], uid);
    assert!(response["allowed"].is_boolean());
    assert_eq!(response.contains_key("patch"), response.contains_key("patchType"));
    if let Some(patch) = response.get("patch") {
        assert!(mutating, "a validating webhook may not return a patch");
        assert_eq!(response["patchType"], "JSONPatch");
        assert_eq!(response["allowed"], true);
        assert!(!operations(patch).as_array().unwrap().is_empty());
    }
    for warning in response.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        assert!(!warning.as_str().unwrap().chars().any(char::is_control), "{warning}");
    }
}

fn operations(patch: &Value) -> Value {
    serde_json::from_slice(&STANDARD.decode(patch.as_str().unwrap()).unwrap()).unwrap()
}

/// Each folder `tests/fixtures/wire/ENDPOINT/CASE` holds a request and its answer.
#[tokio::test]
async fn every_recorded_review_gets_its_recorded_answer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = 0;
    for (folder, endpoint) in [
        ("validate", "/validate"),
        ("mutate", "/mutate"),
        ("mutate-control-plane", "/mutate/control-plane"),
    ] {
        let folder = format!("tests/fixtures/wire/{folder}");
        for case in fs::read_dir(root.join(&folder)).unwrap() {
            let case = case.unwrap();
            let request = fs::read_to_string(case.path().join("request.json")).unwrap();
            let uid = serde_json::from_str::<Value>(&request).unwrap()["request"]["uid"].clone();
            let reply = post(&app(), &format!("{endpoint}?timeout=10s"), request).await;
            let case_name = format!("{folder}/{}", case.file_name().to_str().unwrap());
            assert_eq!(reply.status, 200, "{case_name}: {}", reply.text());
            assert_eq!(reply.content_type, JSON, "{case_name}");
            let mut answer = reply.json();
            verify(uid.as_str().unwrap(), endpoint != "/validate", &answer);
            // Decoded, to keep the fixture readable.
            if let Some(patch) = answer["response"].get_mut("patch") {
                *patch = operations(patch);
            }
            is_current(&format!("{case_name}/response.json"), &format!("{answer:#}\n"));
            cases += 1;
        }
    }
    assert!(cases >= 15, "only {cases} cases");
}

fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut review: Value = serde_json::from_str(&review("validate/daemonset-create")).unwrap();
    change(&mut review);
    review.to_string()
}

#[tokio::test]
async fn a_malformed_review_is_a_400_that_says_what_is_wrong() {
    let good = changed(|_| {});
    let version = changed(|it| it["apiVersion"] = json!("admission.k8s.io/v1beta1"));
    let kind = changed(|it| it["kind"] = json!("Review"));
    let request = changed(|it| it["request"] = Value::Null);
    let uid = changed(|it| it["request"]["uid"] = json!(""));
    let object = changed(|it| it["request"]["object"] = Value::Null);
    let other = changed(|it| it["request"]["object"]["kind"] = json!("StatefulSet"));
    let ten = changed(|it| it["request"]["object"]["spec"]["minReadySeconds"] = json!("ten"));
    let cases: [(&[u8], &str); 11] = [
        (b"", "the body is empty"),
        (&good.as_bytes()[..good.len() / 2], "the body is not an AdmissionReview: EOF"),
        (b"\"review\"", "the body is not an AdmissionReview: invalid type"),
        (b"\xff\xfe{", "the body is not UTF-8 from byte 0 on"),
        (version.as_bytes(), "expected admission.k8s.io/v1 AdmissionReview"),
        (kind.as_bytes(), "expected admission.k8s.io/v1 AdmissionR"),
        (request.as_bytes(), "the AdmissionReview has no request\n"),
        (uid.as_bytes(), "the AdmissionReview has no request.u"),
        (object.as_bytes(), "a CREATE without request.object"),
        (
            other.as_bytes(),
            "expected an apps/v1 DaemonSet, got apiVersion \"apps/v1\", kind \"StatefulSet\"",
        ),
        (ten.as_bytes(), "the object cannot be read as a DaemonSet: "),
    ];
    let app = app();
    let count = cases.len();
    for (body, text) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let reply = post(&app, "/validate", body.to_vec()).await;
        assert_eq!(reply.status, 400, "{shown}");
        assert!(reply.content_type.starts_with("text/plain"), "{}", reply.content_type);
        assert!(reply.text().starts_with(text), "{shown}: {}", reply.text());
    }
    let line = format!(
        r#"setguard_admission_requests_total{{endpoint="/validate",kind="other",operation="UNKNOWN",decision="rejected"}} {count}"#
    );
    assert!(app.metrics.encode().lines().any(|have| have == line), "{}", app.metrics.encode());
}

#[tokio::test]
async fn other_paths_methods_and_content_types_are_refused() {
    let app = app();
    for (method, uri, content_type, status) in [
        (Method::POST, "/validate", JSON, 200),
        (Method::POST, "/validate", "application/json; charset=utf-8", 200),
        (Method::POST, "/validate", "application/yaml", 415),
        (Method::POST, "/validate", "", 415),
        (Method::GET, "/validate", JSON, 405),
        (Method::PUT, "/mutate/control-plane", JSON, 405),
        (Method::POST, "/", JSON, 404),
        (Method::POST, "/mutate/", JSON, 404),
        (Method::POST, "/metrics", JSON, 404),
    ] {
        let request = Request::builder().method(&method).uri(uri);
        let request = request.header(header::CONTENT_TYPE, content_type);
        let reply = send(&app, request.body(Body::from(changed(|_| {}))).unwrap()).await;
        assert_eq!(reply.status, status, "{method} {uri} {content_type}");
    }
}

#[tokio::test]
async fn a_body_of_nine_mebibytes_is_too_large_with_and_without_its_length() {
    let app = app();
    let body = vec![b' '; 9 << 20];
    let length = body.len();
    let streamed = || {
        // Frame by frame, like a body of unknown length.
        let frames: Vec<Result<Vec<u8>, std::io::Error>> =
            body.chunks(1 << 16).map(|chunk| Ok(chunk.to_vec())).collect();
        Body::from_stream(futures::stream::iter(frames))
    };
    let declared = Request::post("/validate").header(header::CONTENT_LENGTH, length);
    let declared = declared.header(header::CONTENT_TYPE, JSON).body(Body::empty()).unwrap();
    for reply in [post(&app, "/validate", streamed()).await, send(&app, declared).await] {
        assert_eq!(reply.status, 413);
        assert!(reply.closes, "the rest of the body is not read");
        assert_eq!(reply.text(), "the body is larger than 8388608 bytes\n");
    }
}

#[tokio::test]
async fn an_answer_closes_the_connection_if_the_body_was_not_read() {
    let app = app();
    let request = |content_type: &str, version| {
        let request = Request::post("/validate").header(header::CONTENT_TYPE, content_type);
        request.version(version).body(Body::from(changed(|_| {}))).unwrap()
    };
    let unread = send(&app, request("application/yaml", Version::HTTP_11)).await;
    assert_eq!((unread.status, unread.closes), (415, true));
    // HTTP/2 ends only the stream.
    let unread = send(&app, request("application/yaml", Version::HTTP_2)).await;
    assert_eq!((unread.status, unread.closes), (415, false));
    let read = send(&app, request(JSON, Version::HTTP_11)).await;
    assert_eq!((read.status, read.closes), (200, false));
    for (method, uri, status) in [(Method::POST, "/", 404), (Method::PUT, "/validate", 405)] {
        for (version, body, closes) in [
            (Version::HTTP_11, "body", true),
            (Version::HTTP_2, "body", false),
            (Version::HTTP_11, "", false),
        ] {
            let request = Request::builder().method(&method).uri(uri).version(version);
            let reply = send(&app, request.body(Body::from(body)).unwrap()).await;
            assert_eq!((reply.status, reply.closes), (status, closes), "{method} {uri} {body}");
        }
    }
    let malformed = post(&app, "/validate", "{}").await;
    assert_eq!((malformed.status, malformed.closes), (400, false));
}

#[tokio::test]
async fn a_pod_that_does_not_decode_is_named_as_a_pod() {
    let of = |change: fn(&mut Value)| {
        let text = review("mutate/pod-of-daemonset-controller");
        let mut review: Value = serde_json::from_str(&text).unwrap();
        change(&mut review["request"]["object"]);
        review.to_string()
    };
    for (body, text) in [
        (
            of(|pod| pod["spec"]["tolerations"] = json!("all")),
            "the object cannot be read as a Pod: ",
        ),
        (
            of(|pod| pod["kind"] = json!("Node")),
            "expected a Pod, got apiVersion \"v1\", kind \"Node\"",
        ),
    ] {
        let reply = post(&app(), "/mutate", body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().starts_with(text), "{}", reply.text());
    }
}

#[tokio::test]
async fn a_large_review_is_answered_like_a_small_one() {
    let large = changed(|review| {
        let annotations = &mut review["request"]["object"]["metadata"]["annotations"];
        annotations["example.com/padding"] = json!("x".repeat(200 << 10));
        annotations["example.com/more"] = json!("x".repeat(100 << 10));
    });
    assert!(large.len() > 256 << 10);
    let reply = post(&app(), "/validate", large).await;
    assert_eq!(reply.status, 200);
    let answer = reply.json();
    verify("c6c33085-9fd3-4433-8944-e55419e1faad", false, &answer);
    // The API server allows 256 KiB of annotations.
    assert_eq!(answer["response"]["allowed"], false, "{answer:#}");
}

#[tokio::test]
async fn a_review_that_cannot_start_in_time_is_not_started() {
    let app = app();
    let review = changed(|_| {});
    let reply = post(&app, "/validate?timeout=1ns", review.clone()).await;
    assert_eq!(reply.status, 504);
    let line = r#"decision="timeout"} 1"#;
    assert!(app.metrics.encode().lines().any(|have| have.ends_with(line)));
    let reply = post(&app, "/validate?timeout=soon", review).await;
    assert_eq!(reply.status, 200, "an invalid timeout is ignored");
}
