//! The plan as a page for a browser: the headline, the drawing, and the steps as text. The page needs no
//! other file and has no script.

use std::io::{self, Write};

use super::{
    forecast::Forecast,
    headline::{facts, without},
    line::UNICODE,
    picture,
    svg::{drawing, xml},
};

const HEAD: &str = "\
<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Plan: what the controllers will do</title>
<style>
:root { color-scheme: light dark }
body { font: 15px system-ui, sans-serif; margin: 1.5rem; background: #ffffff; color: #1f2328 }
.drawing { overflow-x: auto }
pre { white-space: pre-wrap }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } }
</style>
</head>
<body>
<h1>What the controllers will do</h1>
";

/// Prints the page.
pub(super) fn print(
    forecasts: &[Forecast],
    unknown: &[String],
    none: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{HEAD}")?;
    let facts = facts(forecasts, unknown);
    if facts.is_empty() {
        let text = if forecasts.is_empty() { none } else { without(forecasts) };
        writeln!(out, "<p>{}</p>", xml(text))?;
    } else {
        writeln!(out, "<ul>")?;
        for fact in &facts {
            let (kind, object) = (fact.kind.as_str(), xml(&fact.object));
            let sentence = xml(&fact.sentence(str::to_owned));
            writeln!(out, "<li><strong>{kind}</strong>: {object}: {sentence}</li>")?;
        }
        writeln!(out, "</ul>")?;
    }
    writeln!(out, "<div class=\"drawing\">\n{}\n</div>", drawing(forecasts, &[], none))?;
    for forecast in forecasts {
        let title = xml(&picture::title(forecast));
        writeln!(out, "<details><summary>{title}</summary>\n<pre>")?;
        for line in picture::lines(forecast, UNICODE) {
            writeln!(out, "{}", xml(&line.to_string()))?;
        }
        writeln!(out, "</pre></details>")?;
    }
    writeln!(out, "</body>\n</html>")
}
