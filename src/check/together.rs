//! What only the whole input can tell: gathered while the documents go by, told after the last one.

use std::{io, mem, sync::Arc};

use super::{
    judge::{Judge, Judgement, Severity},
    previous::Id,
};
use crate::{
    finding::Field,
    inventory::{
        Inventory,
        item::{Item, Place},
    },
    manifests::{document::Manifest, source::Source},
    report::{Report, Summary},
    yaml::{Mark, Node},
};

/// What is kept of the input: a summary of each object, and how to get at its text again.
#[derive(Debug, Default)]
pub(crate) struct Together {
    inventory: Inventory,
    /// For each object of the inventory that is judged, in the same order.
    kept: Vec<Kept>,
    sources: Vec<Option<Source>>,
}

/// An object that was judged alone.
#[derive(Debug)]
struct Kept {
    /// Its place in the inventory.
    place: usize,
    source: usize,
    id: Id,
    /// Where the fields stand at which more may be found.
    marks: Box<[Mark]>,
    /// The worst that was said of it so far.
    worst: Option<Severity>,
}

impl Together {
    /// Takes an object up that was judged.
    pub(crate) fn judged(
        &mut self,
        file: &Arc<str>,
        manifest: &Manifest<'_>,
        judgement: &mut Judgement,
    ) {
        let Some(mut item) = judgement.item.take() else { return };
        let marks = item.fields().iter().map(|field| manifest.node.locate(field)).collect();
        item.place = Some(Place { file: file.clone(), line: manifest.node.mark.line });
        self.kept.push(Kept {
            place: self.inventory.add(item),
            source: self.sources.len(),
            id: judgement.id.clone(),
            marks,
            worst: judgement.worst(),
        });
    }

    /// Takes an object up that others are judged by.
    pub(crate) fn related(&mut self, file: &Arc<str>, node: &Node<'_>) {
        if let Some(mut item) = Item::of_json(&node.to_json()) {
            item.place = Some(Place { file: file.clone(), line: node.mark.line });
            self.inventory.add(item);
        }
    }

    /// Takes a source up whose objects were taken up: whichever form of it is smaller.
    pub(crate) fn source(&mut self, again: Option<Source>, source: Source) {
        self.sources.push(again.or(Some(source)));
    }

    /// Judges and tells.
    pub(crate) fn tell(
        mut self,
        judge: &Judge<'_>,
        summary: &mut Summary,
        report: &mut dyn Report,
    ) -> io::Result<()> {
        let mut verdicts = judge.judge_together(&self.inventory);
        let mut open: Option<(usize, Source)> = None;
        for kept in mem::take(&mut self.kept) {
            let Some(verdict) = verdicts.remove(&kept.place) else { continue };
            let fields = self.inventory.get(kept.place).map(Item::fields).unwrap_or_default();
            let said = verdict.judged.into_iter().filter_map(|judged| {
                let mark = kept.mark(&fields, &judged.finding.field);
                judge.say(judged, mark)
            });
            let judgement = Judgement {
                said: said.collect(),
                remarks: verdict.remarks,
                id: kept.id,
                item: None,
            };
            if open.as_ref().is_none_or(|(index, _)| *index != kept.source) {
                let source = self.sources.get_mut(kept.source).and_then(Option::take);
                open = source.map(|source| (kept.source, source.reread()));
            }
            if let Some((_, source)) = &open {
                summary.count_again(kept.worst, judgement.worst());
                report.judgement(source, &judgement)?;
            }
        }
        Ok(())
    }
}

impl Kept {
    fn mark(&self, fields: &[Field], field: &Field) -> Mark {
        let index = fields.iter().position(|own| own == field);
        index.and_then(|index| self.marks.get(index)).copied().unwrap_or_default()
    }
}
