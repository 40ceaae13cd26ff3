//! A document of a stream.

use super::{node::Node, problem::Problem};

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Its root.
    pub root: Node<'a>,
    /// What is wrong with it although it could be read, such as a duplicate key.
    pub problems: Vec<Problem>,
}
