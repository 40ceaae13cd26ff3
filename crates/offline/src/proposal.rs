//! The object that the API server stores for a manifest, and the verdict on that object.
//!
//! The API server doesn't store an applied manifest unchanged: omitted fields may keep their old values, and the
//! webhook may inject tolerations. `check` and `plan` both compute the stored object here, so `plan` never simulates a
//! change that `check` reports as refused.

pub mod apply;

use setguard_core::{
    engine::{self, Context},
    inject::{self, Injection},
    object::{DecodeError, Subject, schema, size::ObjectSize, storage::Storage},
};
use setguard_files::manifests::namespaces::Namespaces;

use self::apply::{Delivery, Removals};

use crate::prelude::*;

/// A manifest to create or apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposal<'a, 'n> {
    pub(crate) id: &'a ObjectId,
    pub(crate) resource: &'static Resource,
    pub(crate) node: &'a Node<'n>,
    /// The manifest as JSON, normalized by [`schema::read`].
    pub(crate) json: &'a str,
    /// The old object as read, as JSON. `None` if the manifest creates the object.
    pub(crate) old: Option<&'a str>,
}

/// Applies manifests without an API server.
#[derive(Debug)]
pub(crate) struct Simulator<'a> {
    pub(crate) context: Context<'a>,
    /// How the manifests reach the cluster, if the user said so.
    pub(crate) delivery: &'a Delivery,
    pub(crate) storage: &'a Storage,
    pub(crate) namespaces: &'a Namespaces,
    /// The namespaces that requested the tolerations before the change.
    pub(crate) old_namespaces: &'a Namespaces,
}

#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    /// The API server receives an object.
    Stored(Box<Stored<'a>>),
    /// The object needs more memory than setguard allows.
    TooLarge(Box<ObjectSize>),
    Undecodable(DecodeError),
}

/// An object that the API server receives, after injection.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) subject: Subject<'a>,
    /// The old object after injection, as JSON.
    pub(crate) old: Option<&'a str>,
    /// The verdict of the rules. The API server rejects the object because of its [refusals](Verdict::refusals).
    pub(crate) verdict: Verdict,
    pub(crate) of_injection: Verdict,
}

struct Write<'a> {
    json: &'a str,
    old: Option<&'a str>,
    namespace: &'a str,
    /// The reasons why the API server rejects the write before it looks at the object.
    refused: &'a [Finding],
    /// Whether the manifest itself has tolerations.
    is_written: bool,
}

impl From<DecodeError> for Outcome<'_> {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::TooLarge(size) => Outcome::TooLarge(size),
            error => Outcome::Undecodable(error),
        }
    }
}

impl Simulator<'_> {
    /// Applies a manifest, and calls `then` with the outcome and the tree that has its fields.
    ///
    /// Server-side apply may send two objects in sequence (see [`apply::outcomes`]). The outcome is the first one that
    /// is refused, otherwise the last one.
    pub(crate) fn apply<T>(
        &self,
        proposal: &Proposal<'_, '_>,
        then: impl FnOnce(&Node<'_>, Outcome<'_>) -> T,
    ) -> T {
        let Proposal { resource, node, json, .. } = *proposal;
        let namespace = &proposal.id.namespace;
        // Nothing merges with a manifest that doesn't decode.
        let object = match Object::parse(resource, json) {
            Ok(object) => object,
            Err(error) => return then(node, error.into()),
        };
        let refused = match self.delivery.is_server_side(proposal.old) {
            true => apply::refused::by_server_side_apply(json, resource),
            false => Vec::new(),
        };
        let steps = ["spec", "template", "spec", "tolerations"];
        let tolerations = steps.iter().try_fold(node, |node, step| node.get(step));
        let is_written = tolerations.is_some();
        let before = proposal.old.and_then(|given| self.before(resource, given, namespace));
        let old = before.as_deref().or(proposal.old);
        let tree = proposal.old.zip(old).and_then(|(given, old)| {
            let mut trees = apply::outcomes(self.delivery, node, resource, given, old);
            let last = trees.pop();
            let refused = |tree: &Node<'_>| self.is_refused(tree, resource, old, namespace);
            trees.into_iter().find(refused).or(last)
        });
        let merged = tree.as_ref().map(|tree| (tree, schema::read(tree, resource).json(tree)));
        let write = Write { json, old, namespace, refused: &refused, is_written };
        let (object, write, node) = match &merged {
            None => (object, write, node),
            Some((tree, json)) => match Object::parse(resource, json) {
                Ok(object) => (object, Write { json, ..write }, *tree),
                Err(error @ DecodeError::TooLarge(_)) => return then(tree, error.into()),
                // Reading a merged object should not fail. If it does, check the manifest instead.
                Err(_) => (object, write, node),
            },
        };
        self.store(object, &write, |it| then(node, Outcome::Stored(Box::new(it))))
    }

    /// Returns how the merge decides about omitted fields. Merges twice more.
    pub(crate) fn removals(&self, proposal: &Proposal<'_, '_>) -> Removals {
        let Proposal { resource, node, .. } = *proposal;
        let Some(given) = proposal.old else { return Removals::Known };
        let before = self.before(resource, given, &proposal.id.namespace);
        apply::removals(self.delivery, node, resource, given, before.as_deref().unwrap_or(given))
    }

    /// Returns the old object after the webhook's injection, or `None` if the injection changes nothing.
    fn before(&self, resource: &'static Resource, given: &str, namespace: &str) -> Option<String> {
        let object = Object::parse(resource, given).ok()?;
        self.injection(&object, self.old_namespaces, namespace).applied(given)
    }

    fn is_refused(
        &self,
        tree: &Node<'_>,
        resource: &'static Resource,
        old: &str,
        namespace: &str,
    ) -> bool {
        let json = schema::read(tree, resource).json(tree);
        match Object::parse(resource, &json) {
            Ok(object) => {
                let write = Write {
                    json: &json,
                    old: Some(old),
                    namespace,
                    refused: &[],
                    is_written: true,
                };
                self.store(object, &write, |it| it.verdict.refusals().next().is_some())
            }
            Err(error) => matches!(error, DecodeError::TooLarge(_)),
        }
    }

    fn store<T>(
        &self,
        object: Object<'_>,
        write: &Write<'_>,
        then: impl FnOnce(Stored<'_>) -> T,
    ) -> T {
        let Write { json, old, namespace, refused, is_written } = *write;
        let injection = self.injection(&object, self.namespaces, namespace);
        let mut of_injection =
            engine::evaluate_injection(&injection, &object.metadata, &self.context);
        let injected = injection.applied(json);
        let injected = injected.as_deref().and_then(|it| Object::parse(object.resource, it).ok());
        let object = injected.unwrap_or(object);
        let subject = match old {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        }
        .with_storage(self.storage);
        let mut verdict = engine::evaluate(&subject, &self.context);
        verdict.join_remedies();
        verdict.refuse(refused);
        if !self.namespaces.contains(namespace) {
            of_injection.join(engine::evaluate_left_over(
                &subject,
                Some(is_written),
                &self.context,
            ));
        }
        then(Stored { subject, old, verdict, of_injection })
    }

    fn injection(&self, object: &Object<'_>, asking: &Namespaces, namespace: &str) -> Injection {
        inject::template(object, asking.contains(namespace), &self.context.policy.injection)
    }
}
