//! The two text formats of metrics. prometheus-client writes OpenMetrics; `promtool check metrics`,
//! `curl` and older scrapers expect the format that Prometheus had before.

use axum::http::{HeaderMap, header};

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0, for clients that ask for it, as Prometheus does.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, for all others.
    Text,
}

impl Exposition {
    /// Returns the format that fits the `Accept` headers of a request.
    ///
    /// Weights are ignored: a scraper that names OpenMetrics can read it.
    pub fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT);
        let mut accepted = accepted.into_iter().filter_map(|it| it.to_str().ok());
        if accepted.any(|it| it.contains("application/openmetrics-text")) {
            Exposition::OpenMetrics
        } else {
            Exposition::Text
        }
    }

    /// Returns the content type of the format.
    pub const fn content_type(self) -> &'static str {
        match self {
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Exposition::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts OpenMetrics to this format.
    pub fn of_open_metrics(self, text: String) -> String {
        match self {
            Exposition::OpenMetrics => text,
            Exposition::Text => to_text(&text),
        }
    }
}

/// Converts OpenMetrics to the older format. There, the comments above a counter or an info metric
/// have the name of its samples, an info metric is a gauge, and nothing marks the end.
fn to_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + 1024);
    let mut help = None;
    for line in open_metrics.lines() {
        if line.starts_with("# HELP ") {
            help = line.splitn(4, ' ').nth(3);
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                _ => ("", kind),
            };
            if let Some(help) = help.take() {
                text.extend(["# HELP ", name, suffix, " ", help, "\n"]);
            }
            text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            text.extend([line, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_scraper_gets_the_format_that_it_names() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2";
        for (accept, expected) in [
            (Some(prometheus), Exposition::OpenMetrics),
            (Some("text/plain;version=0.0.4"), Exposition::Text),
            (Some("*/*"), Exposition::Text),
            (None, Exposition::Text),
        ] {
            let accept = accept.map(HeaderValue::from_static);
            let headers = accept.into_iter().map(|it| (header::ACCEPT, it)).collect();
            assert_eq!(Exposition::of(&headers), expected);
        }
    }

    #[test]
    fn each_kind_of_metric_is_converted() {
        let open = "# HELP a Things: \"a\".\n# TYPE a counter\na_total{x=\"# b\"} 1\n# HELP b Built.\n\
                    # TYPE b info\nb_info{v=\"1\"} 1\n# HELP c Now.\n# TYPE c gauge\n# UNIT c s\nc 2\n\
                    # TYPE d histogram\nd_bucket{le=\"+Inf\"} 3\n# EOF\n";
        let text = "# HELP a_total Things: \"a\".\n# TYPE a_total counter\na_total{x=\"# b\"} 1\n\
                    # HELP b_info Built.\n# TYPE b_info gauge\nb_info{v=\"1\"} 1\n# HELP c Now.\n\
                    # TYPE c gauge\nc 2\n# TYPE d histogram\nd_bucket{le=\"+Inf\"} 3\n";
        assert_eq!(to_text(open), text);
        assert_eq!(Exposition::OpenMetrics.of_open_metrics(open.to_owned()), open);
    }
}
