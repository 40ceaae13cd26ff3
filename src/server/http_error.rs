//! Requests that are answered without an AdmissionReview.
//!
//! The API server treats every status except 2xx as a failed call, so `failurePolicy` decides. No
//! response has a Retry-After header: client-go would retry until its timeout.

use axum::response::Response;
use setguard_core::admission::{AnswerError, review::Rejection};

use crate::server::prelude::*;

/// Why a request is answered without an AdmissionReview.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The body ended early.
    #[error("the body ended before it was complete")]
    Body,
    /// There was not enough memory or time to start before the caller's timeout.
    #[error("too busy to start before the ?timeout= deadline")]
    Busy,
    /// The Content-Type is not JSON.
    #[error("expected Content-Type: application/json")]
    ContentType,
    /// A bug in setguard: the answer cannot be serialized.
    #[error("internal error: see the setguard log")]
    Fault(serde_json::Error),
    /// The review is malformed.
    #[error(transparent)]
    Review(Rejection),
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    SlowBody,
    /// The body is too large.
    #[error("the body is larger than {} bytes", super::body::MAX_BODY)]
    TooLarge,
}

impl HttpError {
    /// Returns the HTTP status.
    pub const fn status(&self) -> StatusCode {
        match self {
            HttpError::Body | HttpError::Review(_) => StatusCode::BAD_REQUEST,
            HttpError::Busy => StatusCode::GATEWAY_TIMEOUT,
            HttpError::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            HttpError::Fault(_) => StatusCode::INTERNAL_SERVER_ERROR,
            HttpError::SlowBody => StatusCode::REQUEST_TIMEOUT,
            HttpError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }

    /// Returns the value of the metrics' `decision` label.
    pub const fn decision(&self) -> &'static str {
        match self {
            HttpError::Busy | HttpError::SlowBody => "timeout",
            HttpError::Fault(_) => "fault",
            HttpError::Body
            | HttpError::ContentType
            | HttpError::Review(_)
            | HttpError::TooLarge => "rejected",
        }
    }

    /// Returns whether part of the body may be unread. Then an HTTP/1.1 connection cannot be reused, because nobody
    /// knows where the next request starts.
    pub const fn leaves_body_unread(&self) -> bool {
        !matches!(self, HttpError::Fault(_) | HttpError::Review(_))
    }

    /// Returns the text for the log. Unlike the response, this text never quotes the body: a parser's message may
    /// contain a value from the object.
    pub fn log_text(&self) -> String {
        let what = match self {
            HttpError::Review(Rejection::Json(error)) => {
                let (line, column) = (error.line(), error.column());
                return format!("the JSON cannot be parsed at line {line} column {column}");
            }
            HttpError::Review(Rejection::Object(_)) => "the object does not match its kind",
            HttpError::Fault(error) => return format!("the answer cannot be serialized: {error}"),
            HttpError::Review(Rejection::Version { .. }) => {
                "not an admission.k8s.io/v1 AdmissionReview"
            }
            other => return other.to_string(),
        };
        what.to_owned()
    }
}

impl From<AnswerError> for HttpError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Fault(error) => HttpError::Fault(error),
            AnswerError::Rejection(rejection) => HttpError::Review(rejection),
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        (self.status(), format!("{self}\n")).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_written_is_a_fault_of_ours() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        let fault = HttpError::from(AnswerError::Fault(error));
        assert_eq!(fault.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(fault.decision(), "fault");
        assert!(!fault.to_string().contains("hunter2"), "{fault}");
    }

    #[test]
    fn the_log_does_not_quote_the_body() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        assert!(error.to_string().contains("hunter2"), "otherwise this test proves nothing");
        let text = HttpError::Review(Rejection::Json(error)).log_text();
        assert_eq!(text, "the JSON cannot be parsed at line 1 column 9");
    }
}
