//! A document of a stream.

use super::{comment::Comment, node::Node, problem::Problem};

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Its root.
    pub root: Node<'a>,
    /// Problems that did not prevent reading it, such as a duplicate key.
    pub problems: Vec<Problem>,
    /// The comments that are for programs to read.
    pub comments: Vec<Comment<'a>>,
}
