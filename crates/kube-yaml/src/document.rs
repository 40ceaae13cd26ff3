use super::{comment::Comment, node::Node, problem::Problem};

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The top of the tree, usually a mapping.
    pub root: Node<'a>,
    /// Problems that do not prevent reading, such as a duplicate key.
    pub problems: Vec<Problem>,
    /// The comments for programs.
    pub comments: Vec<Comment<'a>>,
}
