//! Commands that users can paste safely.

use crate::rules::prelude::*;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kubectl<'a> {
    /// `None` for the current context.
    pub(super) context: Option<&'a str>,
    /// `None` for a cluster-scoped object, or for kubectl's current namespace.
    pub(super) namespace: Option<&'a str>,
}

impl Kubectl<'_> {
    /// Returns `kubectl COMMAND -n NAMESPACE WORDS`. Quotes each word for a shell if necessary, but not the command.
    pub(super) fn does(&self, effect: Effect, command: &str, words: &[&str]) -> Command {
        let mut line = format!("kubectl {command}");
        let options = [("--context", self.context), ("-n", self.namespace)];
        for (option, value) in options {
            if let Some(value) = value {
                line.push_str(&format!(" {option} {}", quoted(value)));
            }
        }
        for word in words {
            line.push_str(&format!(" {}", quoted(word)));
        }
        Command::new(line, effect)
    }

    /// Returns a command that changes an object: `kubectl patch KIND NAME --type merge -p PATCH`.
    pub(super) fn patches(&self, kind: &str, name: &str, patch: &str) -> Command {
        let words = [name, "--type", "merge", "-p", patch];
        self.does(Effect::Changes, &format!("patch {kind}"), &words)
    }

    /// Like [`Self::does`], for a command that only reads.
    pub(super) fn looks(&self, command: &str, words: &[&str]) -> Command {
        self.does(Effect::Looks, command, words)
    }
}

/// Quotes a word for a shell. Names that the API server accepts need no quotes.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/=:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_none_is_quoted() {
        assert_eq!(quoted("web-0.a_b"), "web-0.a_b");
        assert_eq!(quoted("a b; rm"), "'a b; rm'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_command_says_where() {
        let kubectl = Kubectl { context: Some("a b"), namespace: Some("shop") };
        let line = "kubectl delete pod --context 'a b' -n shop db-0";
        assert_eq!(kubectl.does(Effect::Restarts(1), "delete pod", &["db-0"]).line(), line);
        assert_eq!(Kubectl::default().looks("get nodes", &[]).line(), "kubectl get nodes");
    }
}
