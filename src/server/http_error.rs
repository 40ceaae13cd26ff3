//! Requests that get no AdmissionReview back.
//!
//! The API server takes every status but 2xx for a failed call, so that `failurePolicy` decides.
//! There is never a Retry-After: with one, client-go would call again and again within its timeout.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::admission::{AnswerError, review::Rejection};

/// Why a request gets no AdmissionReview back.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The body broke off.
    #[error("the body could not be read to its end")]
    Body,
    /// There was no room or time to begin before the caller would have given up.
    #[error("too busy to begin within the time that ?timeout= gives")]
    Busy,
    /// Not JSON.
    #[error("expected Content-Type: application/json")]
    ContentType,
    /// A fault of ours kept the answer from being written.
    #[error("internal error: see the log of setguard")]
    Fault(serde_json::Error),
    /// The review is malformed.
    #[error(transparent)]
    Review(Rejection),
    /// The body did not arrive in time.
    #[error("the body did not arrive within the time that ?timeout= gives")]
    SlowBody,
    /// The body is too large.
    #[error("the body is larger than {} bytes", super::app::MAX_BODY)]
    TooLarge,
}

impl HttpError {
    /// The HTTP status.
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

    /// The `decision` of the metric.
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

    /// Whether something of the body may not have been read. Over HTTP/1.1 the connection cannot go
    /// on then, since nobody knows where the next request begins.
    pub const fn leaves_body_unread(&self) -> bool {
        !matches!(self, HttpError::Fault(_) | HttpError::Review(_))
    }

    /// What the log says. Unlike the answer it never quotes the body: a parser's message may hold a
    /// value of the object.
    pub fn log_text(&self) -> String {
        let what = match self {
            HttpError::Review(Rejection::Json(error)) => {
                let (line, column) = (error.line(), error.column());
                return format!("the JSON cannot be read at line {line} column {column}");
            }
            HttpError::Review(Rejection::Object(_)) => "the object is not what the review says",
            HttpError::Fault(error) => return format!("the answer cannot be written: {error}"),
            HttpError::Review(Rejection::Version { .. }) => "not an admission.k8s.io/v1 review",
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
        assert!(error.to_string().contains("hunter2"), "or this test proves nothing");
        let text = HttpError::Review(Rejection::Json(error)).log_text();
        assert_eq!(text, "the JSON cannot be read at line 1 column 9");
    }
}
