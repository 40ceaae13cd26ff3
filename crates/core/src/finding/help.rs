//! The advice of a finding: words, and commands with their effects.

use std::borrow::Cow;

/// The effect of a command on the cluster, from harmless to dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only reads.
    Looks,
    /// Changes an object and restarts no pod.
    Changes,
    /// Deletes and recreates at most this many pods; [`usize::MAX`] if their number is unknown.
    Restarts(usize),
    /// Can lose data.
    LosesData,
}

impl Effect {
    /// Returns a word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Looks => "looks",
            Effect::Changes => "changes",
            Effect::Restarts(_) => "restarts-pods",
            Effect::LosesData => "can-lose-data",
        }
    }

    /// Returns how many pods the command restarts at most, if it restarts a known number.
    pub const fn pods(self) -> Option<usize> {
        match self {
            Effect::Restarts(pods) if pods < usize::MAX => Some(pods),
            _ => None,
        }
    }

    /// Returns words for people.
    pub fn words(self) -> Cow<'static, str> {
        match self {
            Effect::Looks => "only looks".into(),
            Effect::Changes | Effect::Restarts(0) => "restarts no pod".into(),
            Effect::Restarts(1) => "restarts 1 pod".into(),
            Effect::Restarts(usize::MAX) => "restarts the pods".into(),
            Effect::Restarts(pods) => format!("restarts up to {pods} pods").into(),
            Effect::LosesData => "can lose data".into(),
        }
    }

    fn and(self, other: Effect) -> Effect {
        match (self, other) {
            (Effect::Restarts(some), Effect::Restarts(more)) => Effect::Restarts(some.max(more)),
            (one, other) => one.max(other),
        }
    }
}

/// A shell command and its effect. It has no `Display`: the line is always printed with the effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    line: String,
    effect: Effect,
}

impl Command {
    /// Creates a command.
    pub const fn new(line: String, effect: Effect) -> Self {
        Command { line, effect }
    }

    /// Returns the command line, for programs.
    pub fn line(&self) -> &str {
        &self.line
    }

    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the line in backticks, and the effect.
    pub(crate) fn text(&self) -> String {
        format!("`{}` ({})", self.line, self.effect.words())
    }

    /// Returns the command with a different effect.
    #[must_use]
    pub(crate) fn with(self, effect: Effect) -> Self {
        Command { effect, ..self }
    }

    /// Returns a command that runs this one and, if it succeeds, the other.
    #[must_use]
    pub fn then(self, other: &Command) -> Self {
        let line = format!("{} && {}", self.line, other.line);
        Command { line, effect: self.effect.and(other.effect) }
    }
}

/// The advice: lower case, no full stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    pub(crate) text: Cow<'static, str>,
    pub(crate) commands: Vec<Command>,
}

impl Help {
    /// Creates advice from words. Commands can follow.
    pub fn say(text: impl Into<Cow<'static, str>>) -> Self {
        Help { text: text.into(), commands: Vec::new() }
    }

    /// Appends words.
    #[must_use]
    pub fn and(mut self, text: &str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Appends a command in backticks, and its effect.
    #[must_use]
    pub fn run(mut self, command: Command) -> Self {
        self.text.to_mut().push_str(&command.text());
        self.commands.push(command);
        self
    }

    /// Returns advice with references in place of the commands. The commands go on their own lines.
    pub fn refer(text: &str, commands: &[Command]) -> String {
        let mut text = text.to_owned();
        for (index, command) in commands.iter().enumerate() {
            let name = match commands.len() {
                1 => "the command".to_owned(),
                _ => format!("command {}", index + 1),
            };
            text = text.replacen(&format!("`{}`", command.line), &name, 1);
        }
        text
    }

    /// Appends other advice.
    #[must_use]
    pub fn then(mut self, other: Help) -> Self {
        self.text.to_mut().push_str(&other.text);
        self.commands.extend(other.commands);
        self
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Help {
    fn from(text: T) -> Self {
        Help::say(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_printed_with_its_effect() {
        let command = |effect| Command::new("kubectl x".to_owned(), effect);
        let text = |effect| Help::say("run ").run(command(effect)).text.into_owned();
        assert_eq!(text(Effect::Looks), "run `kubectl x` (only looks)");
        assert_eq!(text(Effect::Changes), "run `kubectl x` (restarts no pod)");
        assert_eq!(text(Effect::Restarts(1)), "run `kubectl x` (restarts 1 pod)");
        assert_eq!(text(Effect::Restarts(7)), "run `kubectl x` (restarts up to 7 pods)");
        assert_eq!(text(Effect::LosesData), "run `kubectl x` (can lose data)");
    }

    #[test]
    fn commands_become_references() {
        let command = |line: &str| Command::new(line.to_owned(), Effect::Looks);
        let help = Help::say("run ").run(command("a"));
        assert_eq!(Help::refer(&help.text, &help.commands), "run the command (only looks)");
        let help = help.and(" or ").run(command("b"));
        let refers = "run command 1 (only looks) or command 2 (only looks)";
        assert_eq!(Help::refer(&help.text, &help.commands), refers);
    }

    #[test]
    fn commands_that_are_joined_have_the_worse_effect() {
        let join = |one, two| {
            let two = Command::new("b".to_owned(), two);
            Command::new("a".to_owned(), one).then(&two)
        };
        let joined = join(Effect::Changes, Effect::Restarts(1));
        assert_eq!((joined.line(), joined.effect()), ("a && b", Effect::Restarts(1)));
        assert_eq!(join(Effect::LosesData, Effect::Restarts(3)).effect(), Effect::LosesData);
        assert_eq!(join(Effect::Restarts(3), Effect::Restarts(1)).effect(), Effect::Restarts(3));
    }
}
