//! What the rules about several objects know about one object.

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
    /// The line, counted from 1.
    pub line: usize,
}

/// An object, reduced to what the rules about several objects need.
#[derive(Clone, Debug)]
pub struct Item {
    pub(crate) kind: &'static str,
    pub(crate) namespace: Box<str>,
    /// Whether the object sets its namespace. If not, the namespace of whoever applies it counts.
    pub(crate) sets_namespace: bool,
    pub(crate) name: Box<str>,
    /// Whether the API server generates the end of the name, so that each request creates a new
    /// object.
    pub(crate) is_generated: bool,
    /// The value of the annotation that exempts it from warnings.
    pub(crate) ignore: Option<Box<str>>,
    pub(crate) role: ItemKind,
    /// Where it is in its file, if it comes from a file.
    pub place: Option<Place>,
}

/// What an object is to other objects.
#[derive(Clone, Debug)]
pub(crate) enum ItemKind {
    Controller(Box<Controller>),
    Service(Service),
}

/// A controller of pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controller {
    /// Whether it is a DaemonSet or a StatefulSet. Only these get findings.
    pub(crate) is_set: bool,
    /// Which pods it adopts. `None` if another controller owns it, if its selector is generated, or
    /// if the API server refuses its selector.
    pub(crate) selector: Option<Selector>,
    /// The labels of its pods.
    pub(crate) labels: Labels,
    /// The Service of a StatefulSet; never empty.
    pub(crate) service_name: Option<Box<str>>,
    /// The ports of the node that the pods of a DaemonSet claim.
    pub(crate) claims: Box<[Claim]>,
    /// The nodes of a DaemonSet; set only if it claims a port.
    pub(crate) nodes: Nodes,
}

/// A Service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Service {
    pub(crate) is_headless: bool,
    /// Whether it is a name for something outside the cluster.
    pub(crate) is_external: bool,
    pub(crate) selector: Labels,
}

impl Item {
    /// Its kind.
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its namespace; `default` if it has none.
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

    /// The fields that findings can be about, always in the same order.
    pub fn fields(&self) -> Vec<Field> {
        let ItemKind::Controller(controller) = &self.role else { return Vec::new() };
        let mut fields = Vec::new();
        if controller.is_set && controller.selector.is_some() {
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
            ItemKind::Controller(controller) => Some(controller),
            ItemKind::Service(_) => None,
        }
    }

    pub(crate) const fn service(&self) -> Option<&Service> {
        match &self.role {
            ItemKind::Controller(_) => None,
            ItemKind::Service(service) => Some(service),
        }
    }

    /// Whether both are the same object, which is in the input twice.
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
