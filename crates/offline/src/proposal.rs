//! The object that the API server is asked to store for a manifest, and the verdict on it.
//!
//! The API server doesn't store a manifest that is applied over an old object as it is: fields that
//! the manifest leaves out may stay, and the webhook may inject tolerations. `check` and `plan` get
//! the answer here, so `plan` never simulates a change that `check` reports as refused.

pub mod apply;

use kube_yaml::Node;
use setguard_core::{
    engine::{self, Context, verdict::Verdict},
    finding::Finding,
    inject::{self, Injection},
    kubernetes::resource::Resource,
    object::{DecodeError, Object, Subject, schema, size::ObjectSize, storage::Storage},
};
use setguard_files::manifests::{id::ObjectId, namespaces::Namespaces};

use self::apply::{Delivery, Removals};

/// A manifest that is to be created or applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposal<'a, 'n> {
    /// The identity.
    pub(crate) id: &'a ObjectId,
    /// The resource that the manifest declares.
    pub(crate) resource: &'static Resource,
    /// The tree.
    pub(crate) node: &'a Node<'n>,
    /// The manifest as JSON, as [`schema::read`] normalizes it.
    pub(crate) json: &'a str,
    /// The old object as it was read, as JSON. `None` if the manifest creates the object.
    pub(crate) old: Option<&'a str>,
}

/// Applies manifests under the same conditions, without an API server.
#[derive(Debug)]
pub(crate) struct Simulator<'a> {
    /// The context of the verdicts.
    pub(crate) context: Context<'a>,
    /// The command by which the manifests reach the cluster, as far as it was given.
    pub(crate) delivery: &'a Delivery,
    /// The known claims and volumes.
    pub(crate) storage: &'a Storage,
    /// The namespaces that request the control-plane tolerations.
    pub(crate) namespaces: &'a Namespaces,
    /// The namespaces that requested them before the change.
    pub(crate) old_namespaces: &'a Namespaces,
}

/// The result of applying a manifest.
#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    /// The API server is asked to store an object.
    Stored(Box<Stored<'a>>),
    /// The object takes more memory than setguard reads.
    TooLarge(Box<ObjectSize>),
    /// The manifest doesn't decode.
    Undecodable(DecodeError),
}

/// An object that the API server is asked to store, after injection.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    /// The object and the object that it replaces.
    pub(crate) subject: Subject<'a>,
    /// The replaced object, after injection, as JSON.
    pub(crate) old: Option<&'a str>,
    /// The verdict of the rules. The API server refuses the object for its
    /// [refusals](Verdict::refusals).
    pub(crate) verdict: Verdict,
    /// The verdict on the injection.
    pub(crate) of_injection: Verdict,
}

/// A write that the API server is asked for.
struct Write<'a> {
    /// The object as JSON.
    json: &'a str,
    /// The object that it replaces.
    old: Option<&'a str>,
    namespace: &'a str,
    /// The faults for which the API server refuses it before it knows the object.
    refused: &'a [Finding],
    /// Whether the manifest has tolerations.
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
    /// Server-side apply may ask the API server for two objects, one after the other (see
    /// [`apply::outcomes`]). The outcome is the first one that is refused, otherwise the last one.
    pub(crate) fn apply<T>(
        &self,
        proposal: &Proposal<'_, '_>,
        then: impl FnOnce(&Node<'_>, Outcome<'_>) -> T,
    ) -> T {
        let Proposal { resource, node, json, .. } = *proposal;
        let namespace = &proposal.id.namespace;
        // A manifest that doesn't decode can't be applied over anything.
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
        let write = Write { json, old: None, namespace, refused: &refused, is_written };
        let Some(given) = proposal.old else {
            return self.store(object, &write, |it| then(node, it.into()));
        };
        let before = self.before(resource, given, namespace);
        let old = before.as_deref().unwrap_or(given);
        let mut trees = apply::outcomes(self.delivery, node, resource, given, old);
        let last = trees.pop();
        let refused = |tree: &Node<'_>| self.is_refused(tree, resource, old, namespace);
        let Some(tree) = trees.into_iter().find(refused).or(last) else {
            let write = Write { old: Some(old), ..write };
            return self.store(object, &write, |it| then(node, it.into()));
        };
        let merged = schema::read(&tree, resource).json(&tree);
        match Object::parse(resource, &merged) {
            Ok(object) => {
                let write = Write { json: &merged, old: Some(old), ..write };
                self.store(object, &write, |it| then(&tree, it.into()))
            }
            Err(error @ DecodeError::TooLarge(_)) => then(&tree, error.into()),
            // A merged object that can't be read should not occur. The manifest is checked
            // nevertheless.
            Err(_) => {
                let write = Write { old: Some(old), ..write };
                self.store(object, &write, |it| then(node, it.into()))
            }
        }
    }

    /// Returns the basis on which fields that a manifest leaves out are removed or stay. It takes two more merges.
    pub(crate) fn removals(&self, proposal: &Proposal<'_, '_>) -> Removals {
        let Proposal { resource, node, .. } = *proposal;
        let Some(given) = proposal.old else { return Removals::Known };
        let before = self.before(resource, given, &proposal.id.namespace);
        apply::removals(self.delivery, node, resource, given, before.as_deref().unwrap_or(given))
    }

    /// Returns the old object after the webhook's injection, if the injection changed it.
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

    /// Injects into an object and evaluates the result, as the webhook and then the API server do.
    fn store<T>(
        &self,
        object: Object<'_>,
        write: &Write<'_>,
        then: impl FnOnce(Stored<'_>) -> T,
    ) -> T {
        let Write { json, old, namespace, refused, is_written } = *write;
        let injection = self.injection(&object, self.namespaces, namespace);
        let mut of_injection = engine::evaluate_injection(&injection, &object, &self.context);
        let injected = injection.applied(json);
        let injected = injected.as_deref().and_then(|it| Object::parse(object.resource, it).ok());
        let object = injected.unwrap_or(object);
        let subject = match old {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        }
        .with_storage(self.storage);
        let mut verdict = engine::evaluate(&subject, &self.context);
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

    /// Returns the injection of the webhook into a template. The API server validates the result.
    fn injection(&self, object: &Object<'_>, asking: &Namespaces, namespace: &str) -> Injection {
        inject::template(object, asking.contains(namespace), &self.context.policy.injection)
    }
}

impl<'a> From<Stored<'a>> for Outcome<'a> {
    fn from(stored: Stored<'a>) -> Self {
        Outcome::Stored(Box::new(stored))
    }
}
