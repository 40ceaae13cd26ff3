//! Timestamps remain text, but only they may have the tag `!!timestamp`.

/// Upstream: `parseTimestamp` in go.yaml.in/yaml/v2.
pub(super) fn is_timestamp(text: &str) -> bool {
    let is_year = text.bytes().take_while(u8::is_ascii_digit).count() == 4;
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let parts: Vec<_> = date.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let is_date = match (year.parse::<i16>(), short(month), short(day)) {
        (Ok(year), Some(month), Some(day)) => jiff::civil::Date::new(year, month, day).is_ok(),
        _ => false,
    };
    let has_zone = !text.contains(' ');
    is_year && is_date && time.is_none_or(|time| is_time(time, has_zone))
}

fn short(text: &str) -> Option<i8> {
    let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn is_time(text: &str, has_zone: bool) -> bool {
    let clock = if !has_zone {
        text
    } else if let Some(clock) = text.strip_suffix('Z') {
        clock
    } else {
        let Some(i) = text.rfind(['+', '-']) else { return false };
        let (clock, zone) = text.split_at(i);
        let is_part = |part: &str, limit: i8| {
            part.len() == 2 && short(part) <= Some(limit) && short(part).is_some()
        };
        if !zone[1..].split_once(':').is_some_and(|(h, m)| is_part(h, 24) && is_part(m, 60)) {
            return false;
        }
        clock
    };
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let parts: Vec<_> = clock.split(':').map(short).collect();
    let [Some(hour), Some(minute), Some(second)] = parts.as_slice() else { return false };
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    *hour < 24 && *minute < 60 && *second < 60 && digits
}
