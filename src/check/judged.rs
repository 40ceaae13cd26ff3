//! A source and everything that was found in it, as the threads hand it over.

use std::{cell::LazyCell, sync::Arc};

use super::{
    ignores::Ignores,
    judge::{self, Judge},
};
use crate::{
    finding::Field,
    inventory::item::Item,
    manifests::{
        document::{DocumentObjects, Manifest},
        source::Source,
    },
    report::diagnostic::{Diagnostic, ObjectReport},
    yaml::{self, Mark},
};

/// A source whose documents have been judged.
#[derive(Debug)]
pub(super) struct JudgedSource {
    pub(super) source: Source,
    /// How to read it again. `None` if that is not possible.
    pub(super) again: Option<Source>,
    /// What it contains, in its order.
    pub(super) contents: Vec<Content>,
    /// How many objects are not judged.
    pub(super) others: usize,
    /// How many parts are no objects and need not be.
    pub(super) passed_over: usize,
}

/// A part of a source.
#[derive(Debug)]
pub(super) enum Content {
    /// A document that cannot be read, or that is no object although it should be.
    Unreadable(Diagnostic),
    /// An object that is not judged, but that rules need for judging others.
    Related(Item),
    /// The comments of a document whose objects were judged, after those.
    Ignores(Ignores),
    /// An object that was judged.
    Judged(Box<JudgedManifest>),
}

/// An object that was judged alone.
#[derive(Debug)]
pub(super) struct JudgedManifest {
    pub(super) report: ObjectReport,
    /// Its summary for the cross-object rules, if it could be read.
    pub(super) item: Option<Item>,
    /// The positions of the fields in which cross-object rules may find more.
    pub(super) marks: Box<[Mark]>,
}

impl JudgedSource {
    /// Reads a source and judges its documents.
    pub(super) fn of(source: Source, judge: &Judge<'_>) -> Result<Self, String> {
        // What could be read only once has been read.
        let again = source.unread();
        let source = source.read()?;
        let file: Arc<str> = source.name().into();
        let is_template = LazyCell::new(|| source.text().contains("{{"));
        let (mut contents, mut others, mut passed_over) = (Vec::new(), 0, 0);
        for document in yaml::documents(source.text()) {
            match document {
                Ok(document) => {
                    let mut ignores = judge.ignores(&document);
                    let objects = DocumentObjects::of(document, source.is_named());
                    others += objects.others.len();
                    passed_over += objects.passed_over;
                    contents.extend(objects.strays.iter().map(|problem| {
                        Content::Unreadable(judge::syntax(problem.clone(), *is_template))
                    }));
                    contents.extend(objects.related().filter_map(|node| {
                        let mut item = Item::of_json(&node.to_json())?;
                        item.set_place(file.clone(), node.mark.line);
                        Some(Content::Related(item))
                    }));
                    contents.extend(objects.manifests.iter().map(|manifest| {
                        let mut judged = JudgedManifest::of(manifest, &file, judge);
                        ignores.apply(&mut judged.report);
                        Content::Judged(Box::new(judged))
                    }));
                    if !ignores.is_empty() && !objects.manifests.is_empty() {
                        contents.push(Content::Ignores(ignores));
                    }
                }
                Err(problem) => {
                    contents.push(Content::Unreadable(judge::syntax(problem, *is_template)));
                }
            }
        }
        Ok(JudgedSource { source, again, contents, others, passed_over })
    }
}

impl JudgedManifest {
    fn of(manifest: &Manifest<'_>, file: &Arc<str>, judge: &Judge<'_>) -> Self {
        let judged = judge.judge(manifest);
        let mut item = judged.item;
        let fields: Vec<Field> = item.as_ref().map(Item::fields).unwrap_or_default();
        if let Some(item) = &mut item {
            item.set_place(file.clone(), manifest.node.mark.line);
        }
        let marks = fields.iter().map(|field| manifest.node.locate(field)).collect();
        JudgedManifest { report: judged.report, item, marks }
    }
}
