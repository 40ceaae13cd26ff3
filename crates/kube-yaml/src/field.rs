//! Paths of fields in a Kubernetes object.
//!
//! A [`Path`] is a linked list on the stack, so extending it allocates nothing. A [`Field`] owns its steps. A message
//! (`spec.containers[0].image`), a patch (`/spec/containers/0/image`) and the line in a file share the same steps.

use std::{fmt, iter};

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A field of an object: `.name`.
    Child(&'a str),
    /// An element of a list: `[3]`.
    Index(usize),
    /// An entry of a map: `[key]`.
    Key(&'a str),
}

/// A borrowed path, from its last step back to the root.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    steps: Steps<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Steps<'a> {
    One(Step<'a>),
    /// Fields, separated by dots.
    Fields(&'static str),
    Item(&'static str, usize),
}

impl<'a> Path<'a> {
    /// Creates the path of a top-level field, such as `spec`.
    pub const fn new(root: &'a str) -> Self {
        Path { parent: None, steps: Steps::One(Step::Child(root)) }
    }

    /// Returns the path of a field of this object.
    pub const fn child(&'a self, name: &'a str) -> Path<'a> {
        self.with(Steps::One(Step::Child(name)))
    }

    /// Returns the path of a field several levels below: `updateStrategy.rollingUpdate`.
    pub const fn below(&'a self, names: &'static str) -> Path<'a> {
        self.with(Steps::Fields(names))
    }

    /// Returns the path of an element of a list in this object.
    pub const fn item(&'a self, list: &'static str, index: usize) -> Path<'a> {
        self.with(Steps::Item(list, index))
    }

    /// Returns the path of an element of this list.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        self.with(Steps::One(Step::Index(index)))
    }

    /// Returns the elements of this list, each with its path.
    pub fn items<T>(
        &'a self,
        list: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = (T, Path<'a>)> {
        list.into_iter().enumerate().map(|(i, item)| (item, self.index(i)))
    }

    /// Returns the path of an entry of this map.
    pub const fn key(&'a self, key: &'a str) -> Path<'a> {
        self.with(Steps::One(Step::Key(key)))
    }

    const fn with(&'a self, steps: Steps<'a>) -> Path<'a> {
        Path { parent: Some(self), steps }
    }

    /// Returns the owned path.
    pub fn to_field(&self) -> Field {
        let mut from_last = Vec::new();
        for path in iter::successors(Some(self), |path| path.parent) {
            match path.steps {
                Steps::One(step) => from_last.push(step),
                Steps::Fields(names) => from_last.extend(names.rsplit('.').map(Step::Child)),
                Steps::Item(list, index) => {
                    from_last.extend([Step::Index(index), Step::Child(list)]);
                }
            }
        }
        Field::of(from_last.into_iter().rev())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnedStep {
    Child(Box<str>),
    Index(usize),
    Key(Box<str>),
}

/// An owned path. `Display` writes it as Kubernetes does: `spec.containers[0].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    steps: Vec<OwnedStep>,
}

impl Field {
    /// Creates a path of these steps.
    pub fn of<'s>(steps: impl IntoIterator<Item = Step<'s>>) -> Self {
        let steps = steps.into_iter().map(|step| match step {
            Step::Child(name) => OwnedStep::Child(name.into()),
            Step::Index(index) => OwnedStep::Index(index),
            Step::Key(key) => OwnedStep::Key(key.into()),
        });
        Field { steps: steps.collect() }
    }

    /// Returns the steps, from the root.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps.iter().map(|step| match step {
            OwnedStep::Child(name) => Step::Child(name),
            OwnedStep::Index(index) => Step::Index(*index),
            OwnedStep::Key(key) => Step::Key(key),
        })
    }

    /// Returns the first `n` steps, or all if there are fewer.
    #[must_use]
    pub fn first(&self, n: usize) -> Field {
        Field { steps: self.steps.iter().take(n).cloned().collect() }
    }

    /// Returns the path without `prefix`, or `None` if the path does not start with it.
    pub fn strip_prefix(&self, prefix: &Field) -> Option<Field> {
        let steps = self.steps.strip_prefix(prefix.steps.as_slice())?;
        Some(Field { steps: steps.to_vec() })
    }

    /// Returns the path as a JSON Pointer (RFC 6901): `/spec/containers/0/image`.
    pub fn pointer(&self) -> String {
        let mut out = String::new();
        for step in self.steps() {
            out.push('/');
            match step {
                Step::Child(name) | Step::Key(name) => {
                    for c in name.chars() {
                        match c {
                            '~' => out.push_str("~0"),
                            '/' => out.push_str("~1"),
                            c => out.push(c),
                        }
                    }
                }
                Step::Index(index) => out.push_str(&index.to_string()),
            }
        }
        out
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps().enumerate() {
            match step {
                Step::Child(name) if i == 0 => f.write_str(name)?,
                Step::Child(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

impl From<&Path<'_>> for Field {
    fn from(path: &Path<'_>) -> Self {
        path.to_field()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_whole_steps() {
        let field = |index| Path::new("items").index(index).child("spec").to_field();
        let prefix = |index| Path::new("items").index(index).to_field();
        assert_eq!(field(1).strip_prefix(&prefix(1)), Some(Path::new("spec").to_field()));
        assert_eq!(field(12).strip_prefix(&prefix(1)), None);
        assert_eq!(field(1).strip_prefix(&Field::default()), Some(field(1)));
    }

    #[test]
    fn several_steps_are_like_each_of_them() {
        let spec = Path::new("spec");
        let short = spec.item("containers", 1).below("resources.limits").to_field();
        let (list, resources) = (spec.child("containers").index(1).to_field(), "resources");
        assert_eq!(short.to_string(), format!("{list}.{resources}.limits"));
        assert_eq!(short.first(3), list);
    }

    #[test]
    fn pointer_escapes_slash_and_tilde() {
        let annotations = Path::new("annotations");
        let key = annotations.key("example.com/a~b");
        assert_eq!(key.to_field().to_string(), "annotations[example.com/a~b]");
        assert_eq!(key.to_field().pointer(), "/annotations/example.com~1a~0b");
    }
}
