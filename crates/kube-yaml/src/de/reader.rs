use super::{
    error::Error,
    progress::{Missing, Progress},
};
use crate::{
    Field, Path, Step,
    node::{Node, Value},
    problem::Problem,
};

#[derive(Clone, Copy)]
pub(super) struct Reader<'r, 'a> {
    pub(super) node: &'r Node<'a>,
    pub(super) path: Option<&'r Path<'r>>,
    pub(super) progress: &'r Progress<'r>,
}

impl Reader<'_, '_> {
    fn field(&self) -> Field {
        self.path.map(Path::to_field).unwrap_or_default()
    }

    fn problem_here(&self, message: String, help: Option<String>) -> Problem {
        Problem { field: self.field(), mark: self.node.mark, message, help }
    }

    pub(super) fn problem(&self, message: String, help: Option<String>) {
        let mut found = self.progress.found.borrow_mut();
        found.add(self.node.mark, || self.problem_here(message, help));
    }

    /// Takes the zero value of a type instead of null, or of a value of the wrong type. The problem does not show the
    /// value, because it may be a secret.
    pub(super) fn instead(&self, zero: serde_json::Value, expected: &str) {
        let (got, help) = match &self.node.value {
            Value::Null => return self.zero(zero),
            Value::Bool(_) if expected == "text" => (
                "true or false",
                Some("write it in quotes; YAML reads bare yes, no, on, off, y and n as booleans"),
            ),
            Value::Bool(_) => ("true or false", None),
            Value::Int(_) | Value::UInt(_) | Value::Float(_) if expected == "text" => {
                ("a number", Some("write it in quotes"))
            }
            Value::Int(_) | Value::UInt(_) => ("a whole number", None),
            Value::Float(_) => ("a number with a fraction", None),
            Value::Str(text) => {
                let is_boolean =
                    expected == "true or false" && matches!(text.as_ref(), "true" | "false");
                let is_number = expected.contains("number") && text.parse::<f64>().is_ok();
                let is_word = text.bytes().all(|it| it.is_ascii_alphabetic());
                let help = match expected {
                    _ if is_boolean || is_number => Some("write it without quotes"),
                    "a list" => Some("write a list: [\"first\", \"second\"]"),
                    "a whole number" if is_word => Some("write the number in digits"),
                    _ => None,
                };
                ("text", help)
            }
            Value::Seq(_) => ("a list", None),
            Value::Map(_) => {
                let is_env = self.field().steps().last() == Some(Step::Child("env"));
                let help = match expected {
                    "a list" if is_env => Some("write a list: [{name: A, value: \"b\"}]"),
                    "a list" => Some("write a list: each of its elements begins with -"),
                    _ => None,
                };
                ("a mapping", help)
            }
        };
        self.problem(format!("expected {expected}, got {got}"), help.map(str::to_owned));
    }

    /// Replaces the node in the JSON, for example with the zero value of its type.
    pub(super) fn zero(&self, value: serde_json::Value) {
        self.progress.instead.borrow_mut().insert(self.node.address(), value);
    }

    pub(super) fn missing(&self, name: &'static str) {
        let path = self.path.map_or_else(|| Path::new(name), |path| path.child(name));
        let problem = matches!(self.node.value, Value::Map(_)).then(|| Problem {
            field: path.to_field(),
            mark: self.node.mark,
            message: "is required".to_owned(),
            help: None,
        });
        let mut missing = self.progress.missing.borrow_mut();
        let of = self.node.address();
        let again = missing.iter().any(|missing| missing.of == of && missing.name == name);
        self.progress.gave_up.set(again);
        if !again {
            missing.push(Missing { of, name, problem });
        }
    }

    /// Records why the node could not be read, so that the next run skips it.
    pub(super) fn remember<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: Error) -> Error {
        match error {
            Error::Again => {}
            Error::Missing(name) => self.missing(name),
            Error::Other(message) => {
                let problem = self.problem_here(message, None);
                self.progress.broken.borrow_mut().insert(self.node.address(), problem);
            }
        }
        if self.progress.gave_up.get() {
            Error::Other("is incomplete".to_owned())
        } else {
            Error::Again
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.progress.broken.borrow().contains_key(&self.node.address())
    }
}
