//! A source and all findings in it, as the threads return them.

use std::{cell::LazyCell, sync::Arc};

use super::{
    checker::{self, Checker},
    ignores::Ignores,
};
use crate::{
    finding::Field,
    inventory::item::Item,
    manifests::{
        document::{DocumentObjects, Manifest},
        group::Group,
        source::Source,
        stray::Broken,
    },
    report::diagnostic::{Diagnostic, ObjectReport},
    yaml::{self, Mark},
};

/// A source whose documents have been checked.
#[derive(Debug)]
pub(super) struct CheckedSource {
    pub(super) source: Source,
    /// The source for reading it again. `None` if that is not possible.
    pub(super) again: Option<Source>,
    /// The content, in the order of the source.
    pub(super) contents: Vec<Content>,
    /// The files to which the source belongs.
    pub(super) group: Group,
    /// The number of objects that are not checked.
    pub(super) others: usize,
    /// The number of parts that aren't objects and needn't be.
    pub(super) passed_over: usize,
    /// The reason why a part that cannot be read is passed over, and the place and the message.
    pub(super) broken: Option<(Broken, String)>,
}

/// A part of a source.
#[derive(Debug)]
pub(super) enum Content {
    /// A document that cannot be read, or that should be an object but isn't.
    Unreadable(Diagnostic),
    /// An object that is not checked, but that rules need to check others, and whether a cluster has
    /// stored it.
    Related(Item, bool),
    /// The comments of a document, after the objects that they are about.
    Ignores(Ignores),
    /// An object that was checked.
    Checked(Box<CheckedManifest>),
}

/// An object that was checked alone.
#[derive(Debug)]
pub(super) struct CheckedManifest {
    pub(super) report: ObjectReport,
    /// The summary for the cross-object rules, if the object could be read.
    pub(super) item: Option<Item>,
    /// The positions of the fields in which cross-object rules may find more.
    pub(super) marks: Box<[Mark]>,
}

impl CheckedSource {
    /// Reads a source and checks its documents.
    pub(super) fn of(source: Source, checker: &Checker<'_>) -> Result<Self, String> {
        // A source that can be read only once has been read now.
        let again = source.unread();
        let group = source.group().clone();
        let source = source.read()?;
        let file: Arc<str> = source.name().into();
        let is_template = LazyCell::new(|| source.text().contains("{{"));
        let importance = LazyCell::new(|| Broken::of(source.text(), source.group()));
        let mut broken = None;
        let (mut contents, mut others, mut passed_over) = (Vec::new(), 0, 0);
        for document in yaml::documents(source.text()) {
            match document {
                Ok(document) => {
                    let mut ignores = checker.ignores(&document);
                    let objects = DocumentObjects::of(document, source.is_named());
                    let objects = objects.in_namespace(checker.namespace());
                    others += objects.others.len();
                    passed_over += objects.passed_over;
                    contents.extend(objects.strays.iter().map(|problem| {
                        Content::Unreadable(checker::syntax(problem.clone(), *is_template))
                    }));
                    contents.extend(objects.related().filter_map(|node| {
                        let mut item = Item::of_json(&node.to_json())?;
                        item.set_location(file.clone(), node.mark.line);
                        let is_stored = node.get("metadata").and_then(|it| it.get("uid")).is_some();
                        Some(Content::Related(item, is_stored))
                    }));
                    contents.extend(objects.manifests.iter().map(|manifest| {
                        let mut checked = CheckedManifest::of(manifest, &file, checker);
                        if !source.is_named() {
                            checker::excuse_placeholders(&mut checked.report, &manifest.node);
                        }
                        ignores.apply(&mut checked.report);
                        Content::Checked(Box::new(checked))
                    }));
                    if !ignores.is_empty() && !objects.manifests.is_empty() {
                        contents.push(Content::Ignores(ignores));
                    }
                }
                Err(problem) if *importance == Broken::Error => {
                    contents.push(Content::Unreadable(checker::syntax(problem, *is_template)));
                }
                Err(problem) => {
                    let place = || format!("{}:{}: {}", file, problem.mark.line, problem.message);
                    broken.get_or_insert_with(|| (*importance, place()));
                }
            }
        }
        Ok(CheckedSource { source, again, contents, group, others, passed_over, broken })
    }
}

impl CheckedManifest {
    fn of(manifest: &Manifest<'_>, file: &Arc<str>, checker: &Checker<'_>) -> Self {
        let checked = checker.check(manifest, file);
        let mut item = checked.item;
        let fields: Vec<Field> = item.as_ref().map(Item::fields).unwrap_or_default();
        if let Some(item) = &mut item {
            item.set_location(file.clone(), manifest.node.mark.line);
        }
        let marks = fields.iter().map(|field| manifest.node.locate(field)).collect();
        CheckedManifest { report: checked.report, item, marks }
    }
}
