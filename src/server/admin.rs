//! `GET /livez`, `/readyz` and `/metrics`, over plain HTTP on a separate port and a separate thread.

use std::{collections::VecDeque, net::TcpListener};

use axum::{extract::State, routing::get};
use hyper::server::conn::http1;
use hyper_util::service::TowerToHyperService;
use tokio::{runtime, task::AbortHandle, time};

use super::accept::ACCEPT_PAUSE;
use crate::server::prelude::*;

/// A probe and a scrape each use one connection, for a few milliseconds.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may last. Each carries one request.
const LIFETIME: Duration = Duration::from_secs(10);

/// Serves the admin port on its own thread until the process exits: the kubelet restarts a container that does not
/// answer, and reviews can keep every other thread busy. Fails if the system cannot create the thread, or cannot watch
/// the port.
pub fn start(listener: TcpListener, app: Arc<App>) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    listener.set_nonblocking(true)?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let accept = move || runtime.block_on(accept(&listener, &router(app)));
    thread::Builder::new().name("admin".to_owned()).spawn(accept).map(drop)
}

async fn accept(listener: &tokio::net::TcpListener, router: &Router) {
    let mut open = VecDeque::<AbortHandle>::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                // The oldest connection gives way: a client that only holds connections cannot keep
                // a probe out, and a probe has been answered long before it is the oldest.
                while open.len() >= MAX_CONNECTIONS {
                    open.pop_front().inspect(AbortHandle::abort);
                }
                open.push_back(tokio::spawn(answer(stream, router.clone())).abort_handle());
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection on the admin port");
                time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, router: Router) {
    let service = TowerToHyperService::new(router);
    let connection =
        http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    if let Ok(Err(error)) = time::timeout(LIFETIME, connection).await {
        tracing::debug!(%error, "a connection to the admin port ended with an error");
    }
}

/// The routes of the admin port.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/livez", get("ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .fallback((StatusCode::NOT_FOUND, "not found: try /livez, /readyz or /metrics\n"))
        .with_state(app)
}

/// The policy and a certificate from files are loaded before the server listens. A managed certificate comes later;
/// until then, `waiting` has the reason.
///
/// Readiness does not depend on the view of the cluster; otherwise a broken watch would take the webhook away.
/// `?verbose` shows the state of the view.
async fn readyz(State(app): State<Arc<App>>, uri: Uri) -> (StatusCode, String) {
    let (status, mut text) = readiness(&app);
    if uri.query().is_some_and(|query| {
        query.split('&').any(|it| it == "verbose" || it.starts_with("verbose="))
    }) {
        text.extend(app.live.kinds().iter().map(|it| format!("{it}\n")));
    }
    (status, text)
}

fn readiness(app: &App) -> (StatusCode, String) {
    let not = |why: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    match (app.phase(), app.waiting()) {
        (Phase::Starting, _) => not("starting"),
        (Phase::Draining, _) => not("shutting down"),
        (Phase::Ready, Some(why)) => not(&why),
        (Phase::Ready, None) => (StatusCode::OK, "ok\n".to_owned()),
    }
}

/// Prometheus asks for OpenMetrics; other clients can read it too.
async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], app.metrics.encode())
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;
    use setguard_core::policy::Policy;

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
