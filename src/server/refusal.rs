//! Requests that get no AdmissionReview back.
//!
//! The API server takes every status but 2xx for a failed call, so that `failurePolicy` decides.
//! There is never a Retry-After: with one, client-go would call again and again within its timeout.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::admission::review::Rejection;

/// Why a request gets no AdmissionReview back.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body broke off.
    #[error("the body could not be read to its end")]
    Body,
    /// There was no room or time to begin before the caller would have given up.
    #[error("too busy to begin within the time that ?timeout= gives")]
    Busy,
    /// Not JSON.
    #[error("expected Content-Type: application/json")]
    ContentType,
    /// The review is malformed.
    #[error(transparent)]
    Review(#[from] Rejection),
    /// The body did not arrive in time.
    #[error("the body did not arrive within the time that ?timeout= gives")]
    SlowBody,
    /// The body is too large.
    #[error("the body is larger than {} bytes", super::app::MAX_BODY)]
    TooLarge,
}

impl Refusal {
    /// The HTTP status.
    pub const fn status(&self) -> StatusCode {
        match self {
            Refusal::Body | Refusal::Review(_) => StatusCode::BAD_REQUEST,
            Refusal::Busy => StatusCode::GATEWAY_TIMEOUT,
            Refusal::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }

    /// The `decision` of the metric.
    pub const fn decision(&self) -> &'static str {
        match self {
            Refusal::Busy | Refusal::SlowBody => "timeout",
            Refusal::Body | Refusal::ContentType | Refusal::Review(_) | Refusal::TooLarge => {
                "rejected"
            }
        }
    }

    /// What the log says. Unlike the answer it never quotes the body: a parser's message may hold a
    /// value of the object.
    pub fn log_text(&self) -> String {
        let what = match self {
            Refusal::Review(Rejection::Json(error)) => {
                let (line, column) = (error.line(), error.column());
                return format!("the JSON cannot be read at line {line} column {column}");
            }
            Refusal::Review(Rejection::Object(_)) => "the object is not what the review says",
            Refusal::Review(Rejection::Version { .. }) => "not an admission.k8s.io/v1 review",
            other => return other.to_string(),
        };
        what.to_owned()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), format!("{self}\n")).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_does_not_quote_the_body() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        assert!(error.to_string().contains("hunter2"), "or this test proves nothing");
        let text = Refusal::Review(Rejection::Json(error)).log_text();
        assert_eq!(text, "the JSON cannot be read at line 1 column 9");
    }
}
