//! A document of a stream.

use super::{comment::Comment, node::Node, problem::Problem};

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The root of the document.
    pub root: Node<'a>,
    /// The problems that did not prevent reading the document, such as a duplicate key.
    pub problems: Vec<Problem>,
    /// The comments for programs.
    pub comments: Vec<Comment<'a>>,
}
