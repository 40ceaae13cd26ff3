//! The warnings of an answer. They share the room that the API server allows.
//!
//! Kubernetes: `AddWarning`, `staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go`: once the warnings of a
//! request exceed 4,096 characters together, each is cut to 256.

use serde::{Serialize, Serializer};

use crate::finding::Finding;

/// In characters, for all warnings together.
const TOTAL: usize = 4096;
/// In characters, while there is room.
const LONGEST: usize = 600;
/// In characters, once the room is scarce.
const SHORT: usize = 256;
/// The room for the number of omitted warnings.
const REST: usize = 64;
const FIELDS: usize = 4;
/// The part of a message that stays when the remedy needs the rest of the room.
const CAUSE: usize = 80;

#[derive(Debug, Default)]
pub(super) struct Warnings(Vec<Warning>);

#[derive(Debug, Default)]
struct Warning {
    long: String,
    short: String,
    /// Warnings that differ only in names and numbers share this text; empty for a plain text.
    kind: String,
    field: String,
    more: Vec<String>,
}

impl Warnings {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn text(&mut self, text: &str) {
        let (long, short) = (cut(text, LONGEST), cut(text, SHORT));
        if !self.0.iter().any(|it| it.long == long) {
            self.0.push(Warning { long, short, ..Warning::default() });
        }
    }

    /// Counts the finding with an earlier one that differs only in its field, names or numbers.
    pub(super) fn finding(&mut self, finding: &Finding) {
        let kind = format!("{}: {}", finding.rule.id, pattern(&finding.text()));
        let field = finding.field.to_string();
        if let Some(same) = self.0.iter_mut().find(|it| it.kind == kind) {
            if same.field != field {
                same.more.push(field);
            }
            return;
        }
        let (long, short) = (shortened(finding, LONGEST), shortened(finding, SHORT));
        self.0.push(Warning { long, short, kind, field, more: Vec::new() });
    }

    /// If the long forms do not fit, all warnings are short, and as many as possible are long again.
    fn fitted(&self) -> Vec<String> {
        let length = |text: &str| text.chars().count();
        let room = |it: &Warning| length(&it.more());
        let of_long = self.0.iter().map(|it| length(&it.long) + room(it)).sum::<usize>();
        if of_long <= TOTAL {
            return self.0.iter().map(|it| it.with_more(&it.long)).collect();
        }
        let mut left = TOTAL - REST;
        let kept = self.0.iter().take_while(|it| {
            let needed = length(&it.short) + room(it);
            left.checked_sub(needed).inspect(|rest| left = *rest).is_some()
        });
        let kept: Vec<_> = kept.collect();
        let mut texts: Vec<_> = kept
            .iter()
            .map(|it| {
                let growth = length(&it.long).saturating_sub(length(&it.short));
                let text = match left.checked_sub(growth) {
                    Some(rest) => {
                        left = rest;
                        &it.long
                    }
                    None => &it.short,
                };
                it.with_more(text)
            })
            .collect();
        let rest = self.0.len() - kept.len();
        if rest > 0 {
            texts.push(format!("setguard: and {rest} more warnings"));
        }
        texts
    }
}

impl Serialize for Warnings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fitted().serialize(serializer)
    }
}

impl Warning {
    fn more(&self) -> String {
        let named =
            self.more.iter().take(FIELDS).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.more.len() {
            0 => String::new(),
            1..=FIELDS => format!(" (also {named})"),
            more => format!(" (also {named} and {} more)", more - FIELDS),
        }
    }

    fn with_more(&self, text: &str) -> String {
        let field = format!(": {}", self.field);
        let at = text.find(&field).map(|start| start + field.len());
        match at.filter(|_| !self.more.is_empty()).and_then(|at| text.split_at_checked(at)) {
            Some((field, rest)) => format!("{field}{}{rest}", self.more()),
            None => text.to_owned(),
        }
    }
}

/// Formats a finding as a warning. The rule comes first, so that the user can look it up.
pub fn warning(finding: &Finding) -> String {
    format!("{}: {}: {}", finding.rule.id, finding.field, finding.text())
}

/// If `limit` characters are too few, the end of the message makes room for the help, or only for its first command.
fn shortened(finding: &Finding, limit: usize) -> String {
    let whole = warning(finding);
    let excess = whole.chars().count().saturating_sub(limit);
    let Some(help) = finding.help.as_deref().filter(|_| excess > 0) else {
        return cut(&whole, limit);
    };
    let command = finding.commands.first();
    let command = command.map(|it| format!("`{}` ({})", it.line(), it.effect().words()));
    let head = format!("{}: {}: ", finding.rule.id, finding.field);
    for remedy in [Some(help), command.as_deref()].into_iter().flatten() {
        let taken = head.chars().count() + remedy.chars().count() + "…; ".chars().count();
        if let Some(left) = limit.checked_sub(taken).filter(|left| *left >= CAUSE) {
            let message = cut(&finding.message, left + 1);
            return cut(&format!("{head}{message}; {remedy}"), limit);
        }
    }
    cut(&whole, limit)
}

/// Cuts a text to one line of `limit` characters, ending with `…`. The API server drops a warning that contains a
/// control character.
fn cut(text: &str, limit: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= limit {
        return text.chars().map(clean).collect();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).map(clean).collect();
    format!("{}…", kept.trim_end())
}

/// Without numbers and quoted names.
fn pattern(text: &str) -> String {
    let outside = text.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    outside.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Command, Effect, Findings, Help, Path, Reason, TEST_RULE};

    fn findings(reports: impl IntoIterator<Item = (String, Help)>) -> Vec<Finding> {
        let mut found = Findings::of(&TEST_RULE);
        for (i, (message, help)) in reports.into_iter().enumerate() {
            found.report(&Path::new("spec").index(i), Reason::Invalid, message, help);
        }
        found.into_vec()
    }

    fn sent(reports: impl IntoIterator<Item = (String, Help)>) -> Vec<String> {
        let mut warnings = Warnings::default();
        findings(reports).iter().for_each(|it| warnings.finding(it));
        warnings.fitted()
    }

    fn repeated(word: &str, times: usize) -> String {
        word.repeat(times)
    }

    #[test]
    fn a_remedy_is_whole_while_there_is_room() {
        let help = repeated("h", 300);
        let text = sent([(repeated("é", 200), Help::say(help.clone()))]).remove(0);
        assert!(text.ends_with(&format!("é; {help}")), "{text}");
        // The message makes room for the help.
        let text = sent([(repeated("é", 500), Help::say(help.clone()))]).remove(0);
        assert_eq!(text.chars().count(), LONGEST);
        assert!(text.starts_with("some-rule: spec[0]: éé"), "{text}");
        assert!(text.ends_with(&format!("é…; {help}")), "{text}");
        // A help that is too long is reduced to its command.
        let command = Command::new("kubectl delete pod db-0".to_owned(), Effect::Restarts(1));
        let help = Help::say(repeated("h", 600)).run(command);
        let text = sent([(repeated("é", 200), help)]).remove(0);
        assert!(text.ends_with("é; `kubectl delete pod db-0` (restarts 1 pod)"), "{text}");
    }

    #[test]
    fn warnings_stay_within_what_the_api_server_passes_on() {
        let letters = |i: usize| char::from(b'a' + u8::try_from(i % 26).unwrap()).to_string();
        for count in [1, 6, 7, 12, 26] {
            let texts = sent((0..count).map(|i| {
                (format!("{}\n", repeated(&letters(i), 250)), Help::say(repeated("é", 250)))
            }));
            assert!(!texts.iter().any(|it| it.chars().any(char::is_control)));
            let total: usize = texts.iter().map(|it| it.chars().count()).sum();
            assert!(total <= TOTAL, "{count}: {total}");
            let long = texts.iter().filter(|it| it.chars().count() > SHORT).count();
            match count {
                ..=7 => assert_eq!(long, count),
                12 => assert!((2..12).contains(&long) && texts.len() == 12, "{long} long"),
                _ => assert_eq!(texts.last().unwrap(), "setguard: and 11 more warnings"),
            }
        }
    }

    #[test]
    fn findings_that_differ_in_names_are_one_warning() {
        let texts = sent((0..30).map(|i| {
            (format!("nothing mounts \"data-{i}\""), Help::say(format!("mount \"data-{i}\"")))
        }));
        let text = "some-rule: spec[0] (also spec[1], spec[2], spec[3], spec[4] and 25 more): \
                    nothing mounts \"data-0\"; mount \"data-0\"";
        assert_eq!(texts, [text]);
        assert_eq!(sent(["one", "two"].map(|it| (it.to_owned(), "".into()))).len(), 2);
    }
}
