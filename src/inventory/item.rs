//! What the rules know of an object.

use std::{fmt, sync::Arc};

use super::{
    labels::{Labels, Selector},
    nodes::{Claim, Nodes},
};
use crate::finding::{
    Field,
    paths::{SELECTOR, SPEC},
};

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1 on.
    pub line: usize,
}

/// An object, as far as others bear on it.
#[derive(Clone, Debug)]
pub struct Item {
    pub(crate) kind: &'static str,
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
    /// The server is to end the name: what is made of it is always new.
    pub(crate) is_generated: bool,
    /// The annotation by which it asks to be let off warnings.
    pub(crate) ignore: Option<Box<str>>,
    pub(crate) role: Role,
    /// Where it stands, if it stands in a file.
    pub place: Option<Place>,
}

/// What an object is to others.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    Controller(Box<Controller>),
    Service(Service),
}

/// What makes pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controller {
    /// Whether it is a DaemonSet or a StatefulSet, which are those that are judged.
    pub(crate) is_judged: bool,
    /// Which pods it takes for its own. `None` if it is another controller that decides about its
    /// pods, if nobody wrote the selector, and if the API server refuses it.
    pub(crate) selector: Option<Selector>,
    /// The labels of its pods.
    pub(crate) labels: Labels,
    /// The Service of a StatefulSet; never empty.
    pub(crate) service_name: Option<Box<str>>,
    /// The ports of the node that the pods of a DaemonSet claim.
    pub(crate) claims: Box<[Claim]>,
    /// The nodes of a DaemonSet, if it claims a port there.
    pub(crate) nodes: Nodes,
}

/// What leads to pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Service {
    pub(crate) is_headless: bool,
    /// A name for something outside the cluster.
    pub(crate) is_external: bool,
    pub(crate) selector: Labels,
}

impl Item {
    /// Its kind.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its namespace; `default` where it does not say.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of the annotation `setguard.io/ignore`.
    pub fn ignore(&self) -> Option<&str> {
        self.ignore.as_deref()
    }

    /// The fields at which a rule may find something, always in the same order.
    pub fn fields(&self) -> Vec<Field> {
        let Role::Controller(controller) = &self.role else { return Vec::new() };
        let mut fields = Vec::new();
        if controller.is_judged && controller.selector.is_some() {
            fields.push(SELECTOR.to_field());
        }
        if controller.service_name.is_some() {
            fields.push(SPEC.child("serviceName").to_field());
        }
        for claim in &controller.claims {
            claim.at(|path| fields.push(path.to_field()));
        }
        fields
    }

    pub(crate) fn controller(&self) -> Option<&Controller> {
        match &self.role {
            Role::Controller(controller) => Some(controller),
            Role::Service(_) => None,
        }
    }

    pub(crate) const fn service(&self) -> Option<&Service> {
        match &self.role {
            Role::Controller(_) => None,
            Role::Service(service) => Some(service),
        }
    }

    /// Whether both are one object, which is in the input twice.
    pub fn is_same(&self, other: &Item) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && self.namespace == other.namespace
            && !self.is_generated
    }
}

/// `DaemonSet agent (deploy/agent.yaml:12)`.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        match &self.place {
            Some(Place { file, line }) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}
