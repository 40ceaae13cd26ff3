//! Turns each panic into an HTTP 500, counts it, and lets the process continue.
//!
//! A 500 is not a denial, so `failurePolicy` decides.

use std::{any::Any, panic};

use axum::http::Response;
use tower_http::catch_panic::{CatchPanicLayer, ResponseForPanic};

use crate::server::prelude::*;

/// Returns a layer that answers and counts panics in the service that it wraps.
pub fn layer(app: Arc<App>, endpoint: Endpoint) -> CatchPanicLayer<PanicResponse> {
    CatchPanicLayer::custom(PanicResponse { app, endpoint })
}

/// Creates the response after a panic.
#[derive(Clone, Debug)]
pub struct PanicResponse {
    app: Arc<App>,
    endpoint: Endpoint,
}

impl ResponseForPanic for PanicResponse {
    type ResponseBody = Body;

    // The panic message may quote the object, so the response leaves it out.
    fn response_for_panic(&mut self, _: Box<dyn Any + Send + 'static>) -> Response<Body> {
        self.app.metrics.unanswered(self.endpoint, "fault");
        tracing::error!(
            endpoint = self.endpoint.path(),
            decision = "fault",
            "setguard panicked on a request; please report it with the place of the panic"
        );
        let mut response = Response::new(Body::from("internal error: see the setguard log\n"));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }
}

/// Logs only the location of each panic, since its message may quote an object.
pub fn log_panics_by_place() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

#[cfg(test)]
mod tests {
    use axum::{Router, http::Request, routing::post};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;
    use setguard_core::policy::Policy;

    #[tokio::test]
    async fn a_panic_is_a_counted_500_that_does_not_quote_it() {
        async fn handler() {
            panic!("the secret value");
        }
        let app = App::new(Policy::default());
        let router =
            Router::new().route("/", post(handler).layer(layer(app.clone(), Endpoint::Mutate)));
        for _ in 0..2 {
            let request = Request::post("/").body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert!(!String::from_utf8_lossy(&body).contains("secret"));
        }
        let line = r#"setguard_admission_requests_total{endpoint="/mutate",kind="other",operation="UNKNOWN",decision="fault"} 2"#;
        let text = app.metrics.encode();
        assert!(text.lines().any(|have| have == line), "no {line} in\n{text}");
    }
}
