//! `GET /livez`, `/readyz` and `/metrics`, over plain HTTP on a separate port.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use super::{
    app::{App, Phase},
    metrics,
};

/// The routes of the admin port.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/livez", get("ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .fallback((StatusCode::NOT_FOUND, "not found: try /livez, /readyz or /metrics\n"))
        .with_state(app)
}

/// The policy and a certificate from files are loaded before the server listens. A managed
/// certificate comes later; until then, `waiting` has the reason.
async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, String) {
    let not = |why: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    match (app.phase(), app.waiting()) {
        (Phase::Starting, _) => not("starting"),
        (Phase::Draining, _) => not("shutting down"),
        (Phase::Ready, Some(why)) => not(&why),
        (Phase::Ready, None) => (StatusCode::OK, "ok\n".to_owned()),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], app.metrics.encode())
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;
    use crate::policy::Policy;

    #[tokio::test]
    async fn ready_means_listening_and_not_on_the_way_out() {
        let app = App::new(Policy::default());
        for (phase, status) in [(Phase::Starting, 503), (Phase::Ready, 200), (Phase::Draining, 503)]
        {
            app.set_phase(phase);
            for (path, status) in [("/readyz", status), ("/livez", 200)] {
                let request = Request::get(path).body(Body::empty()).unwrap();
                let response = router(app.clone()).oneshot(request).await.unwrap();
                assert_eq!(response.status(), status, "{path} while {phase:?}");
            }
        }
        app.set_phase(Phase::Ready);
        app.set_waiting(Some("no certificate yet".to_owned()));
        let request = || Request::get("/readyz").body(Body::empty()).unwrap();
        let response = router(app.clone()).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), 503);
        app.set_waiting(None);
        assert_eq!(router(app).oneshot(request()).await.unwrap().status(), 200);
    }
}
