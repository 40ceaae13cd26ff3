//! Calls of the API server, with limits for time and size.

use std::{error::Error, io, time::Duration};

use futures::{Stream, TryStreamExt as _};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::header::RETRY_AFTER;
use kube::{Client, Config, client::Body};
use setguard_core::{finding::shorten, printable::one_line};
use tokio::time::timeout;
use tokio_util::{
    codec::{FramedRead, LinesCodec, LinesCodecError},
    io::StreamReader,
};

use super::message::Status;

/// The longest line of a watch. A line contains one object, and etcd accepts at most 1.5 MiB.
const LONGEST_LINE: usize = 16 << 20;
const LONGEST_ERROR: usize = 64 << 10;

const LONGEST_MESSAGE: usize = 1_000;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The API server denies access.
    #[error("{0}")]
    Forbidden(String),
    /// The API server does not have the kind or the object.
    #[error("{0}")]
    Absent(String),
    /// The requested version is too old or too new: list again.
    #[error("{why}")]
    Gone {
        /// The API server's message.
        why: String,
        /// A token that continues the list with newer data.
        next: Option<String>,
    },
    /// The API server throttles the client.
    #[error("{why}")]
    Busy {
        /// The API server's message.
        why: String,
        /// How long the API server asks to wait.
        pause: Option<Duration>,
    },
    /// The API server rejects the request as invalid.
    #[error("{0}")]
    Refused(String),
    /// A list does not end or exceeds the limits.
    #[error("{0}")]
    TooLong(String),
    /// The answer exceeds the limit.
    #[error("the answer is too large")]
    TooLarge,
    /// The API server cannot be reached, or does not answer in time.
    #[error("{0}")]
    Unreachable(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Problem {
    pub(super) fn of_status(code: u16, message: &str) -> Problem {
        // A webhook, for example, chooses the words of the API server's answer.
        let text = format!("{code}: {}", one_line(&shorten(message, LONGEST_MESSAGE)));
        match code {
            403 => Problem::Forbidden(text),
            404 => Problem::Absent(text),
            // 504: etcd was restored from a backup and does not have the version yet.
            410 | 504 => Problem::Gone { why: text, next: None },
            429 => Problem::Busy { why: text, pause: None },
            400 | 422 => Problem::Refused(text),
            _ => Problem::Failed(text),
        }
    }

    pub(crate) fn failed(error: impl Into<anyhow::Error>) -> Problem {
        Problem::Failed(format!("{:#}", error.into()))
    }
}

/// Creates a client that never retries. It does not connect yet; `limit` applies to connecting and writing.
pub(super) async fn client(limit: Duration) -> anyhow::Result<Client> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    config.connect_timeout = Some(limit);
    // Each call has its own limit.
    config.read_timeout = None;
    config.write_timeout = Some(limit);
    Ok(Client::try_from(config)?)
}

async fn send<E: Into<anyhow::Error>>(
    client: &Client,
    request: Result<axum::http::Request<Vec<u8>>, E>,
    limit: Duration,
) -> Result<Body, Problem> {
    let request = request.map_err(Problem::failed)?.map(Body::from);
    let response = timeout(limit, client.send(request)).await;
    let response = response.map_err(|_| slow(limit))?.map_err(|error| match error {
        kube::Error::Service(error) => Problem::Unreachable(cause(&*error)),
        error => Problem::failed(error),
    })?;
    let code = response.status().as_u16();
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let body = timeout(limit, Limited::new(response.into_body(), LONGEST_ERROR).collect()).await;
    let body = body.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
    let status: Status<'_> = serde_json::from_slice(&body).unwrap_or_default();
    Err(match Problem::of_status(code, &status.message) {
        Problem::Busy { why, .. } => Problem::Busy { why, pause: retry_after },
        Problem::Gone { why, .. } => Problem::Gone { why, next: status.metadata.next },
        problem => problem,
    })
}

pub(super) async fn text<E: Into<anyhow::Error>>(
    client: &Client,
    request: Result<axum::http::Request<Vec<u8>>, E>,
    limit: Duration,
    most: usize,
) -> Result<String, Problem> {
    let body = send(client, request, limit).await?;
    let body = timeout(limit, Limited::new(body, most).collect()).await;
    let body = body.map_err(|_| slow(limit))?.map_err(|error| {
        if error.is::<LengthLimitError>() {
            Problem::TooLarge
        } else {
            Problem::Failed(format!("the answer broke off: {}", cause(&*error)))
        }
    })?;
    String::from_utf8(body.to_bytes().into()).map_err(Problem::failed)
}

pub(super) async fn lines<E: Into<anyhow::Error>>(
    client: &Client,
    request: Result<axum::http::Request<Vec<u8>>, E>,
    limit: Duration,
) -> Result<impl Stream<Item = Result<String, LinesCodecError>> + Unpin + use<E>, Problem> {
    let body = send(client, request, limit).await?;
    let bytes = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    Ok(FramedRead::new(bytes, LinesCodec::new_with_max_length(LONGEST_LINE)))
}

fn slow(limit: Duration) -> Problem {
    Problem::Unreachable(format!("no answer within {limit:?}"))
}

/// Returns the innermost cause of an error. The outer errors only say that a request failed.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
