//! The plan for people.

use std::io::{self, Write};

use super::{
    forecast::Forecast,
    picture::{self, ASCII, UNICODE},
};

/// Prints the plan; `plain` without symbols.
pub(super) fn print(forecasts: &[Forecast], plain: bool, out: &mut dyn Write) -> io::Result<()> {
    if forecasts.is_empty() {
        return writeln!(out, "no DaemonSets or StatefulSets");
    }
    for (i, forecast) in forecasts.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let settings = forecast.settings.join(", ");
        let title = picture::title(forecast);
        writeln!(out, "{}", format!("{title}   {settings}").trim_end())?;
        for line in picture::lines(forecast, if plain { ASCII } else { UNICODE }) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
