//! The findings in rendered charts and kustomizations, placed in the files that people edit.

use std::{mem, rc::Rc};

use setguard_files::manifests::render::Files;

use crate::prelude::*;

/// The words before a comment's line, in the reason of a note and in a remark.
const COMMENT: &str = "the comment in line ";
const LINE: &str = "line ";
const IGNORE: &str = "setguard: ignore[";
/// The start of a message about a key, before the lines.
pub(crate) const TWICE: &str = " occurs twice";

/// The findings so far. Variants of a chart and overlays of a base share many findings; each is reported once.
#[derive(Default)]
pub(super) struct RenderedFindings {
    files: Files,
    all: Vec<(Rc<Source>, ObjectReport)>,
    /// A root has as many of them as it has objects with the finding.
    known: HashMap<Key, Vec<usize>>,
    /// The remarks so far, each with the kind of its object.
    remarks: HashSet<(String, String)>,
    /// The rendered texts without a known place in the files, by name.
    texts: HashMap<String, Rc<Source>>,
}

/// The identity of a finding: file, line, rule, field, message and kind. Its severity and the reason for it count too,
/// because an exception or a comment may lower it in only one root.
type Key = (String, usize, &'static str, String, String, String, Severity, Option<String>);

impl RenderedFindings {
    /// Takes the findings from the report on an object. Returns the report without them.
    pub(super) fn take(
        &mut self,
        rendered: &Rendered,
        source: &Source,
        object: &ObjectReport,
    ) -> ObjectReport {
        // A message can name the place of a different object.
        let name = format!("{}:", source.name());
        let mut unheard = Vec::new();
        for mut diagnostic in object.diagnostics.iter().cloned() {
            self.find_line(&mut diagnostic.message, &name, rendered, source);
            if let Some(at) = diagnostic.message.find(TWICE) {
                diagnostic.message.truncate(at + TWICE.len());
            }
            if let Some(why) = &mut diagnostic.downgrade {
                self.find_line(why, COMMENT, rendered, source);
            }
            let place = rendered.place(source.text(), diagnostic.mark, &mut self.files);
            let file = match place {
                Some((file, mark)) => {
                    diagnostic.mark = mark;
                    // A template does not print the comments of its values.
                    let line = file.text().lines().nth(mark.line.saturating_sub(1));
                    let is_meant =
                        |it: &str| it.contains(IGNORE) && it.contains(diagnostic.rule.id);
                    if diagnostic.severity == Severity::Warning && line.is_some_and(is_meant) {
                        unheard.push(format!(
                            "the comment in {}:{} has no effect; write it in the template",
                            file.name(),
                            mark.line
                        ));
                    }
                    let related = mem::take(&mut diagnostic.related).into_iter();
                    let related = related.filter_map(|(at, label)| {
                        let (other, at) = rendered.place(source.text(), at, &mut self.files)?;
                        (other.name() == file.name() && at != mark).then_some((at, label))
                    });
                    diagnostic.related = related.collect();
                    file
                }
                None => {
                    let copy = || Rc::new(source.copy_of_rendered());
                    let text = self.texts.entry(source.name().to_owned()).or_insert_with(copy);
                    Rc::clone(text)
                }
            };
            self.add(rendered, file, object, diagnostic);
        }
        let mut remarks = object.remarks.clone();
        for remark in &mut remarks {
            self.find_line(remark, &name, rendered, source);
            self.find_line(remark, LINE, rendered, source);
        }
        remarks.extend(unheard);
        remarks.retain(|it| self.remarks.insert((object.id.kind.clone(), it.clone())));
        ObjectReport { number: object.number, remarks, ..ObjectReport::of(object.id.clone()) }
    }

    fn find_line(&mut self, text: &mut String, words: &str, rendered: &Rendered, source: &Source) {
        let Some((before, rest)) = text.split_once(words) else { return };
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (line, rest) = rest.split_at(digits);
        let Ok(line) = line.parse() else { return };
        let mark = Mark { line, column: 1, width: 0 };
        if let Some((file, at)) = rendered.place(source.text(), mark, &mut self.files) {
            let kept = words.strip_suffix(LINE).unwrap_or_default();
            *text = format!("{before}{kept}{}:{}{rest}", file.name(), at.line);
        }
    }

    fn add(
        &mut self,
        rendered: &Rendered,
        file: Rc<Source>,
        object: &ObjectReport,
        diagnostic: Diagnostic,
    ) {
        let key = (
            file.name().to_owned(),
            diagnostic.mark.line,
            diagnostic.rule.id,
            diagnostic.field.clone(),
            diagnostic.message.clone(),
            object.id.kind.clone(),
            diagnostic.severity,
            diagnostic.downgrade.clone(),
        );
        let (name, next) = (rendered.name(), self.all.len());
        let same = self.known.entry(key).or_default();
        let known = same.iter().filter_map(|it| Some((*it, &self.all.get(*it)?.1)));
        let own = known.clone().find(|(_, it)| it.id == object.id);
        let found = own.or_else(|| known.clone().find(|(_, it)| !it.roots.contains(&name)));
        if let Some((index, _)) = found {
            let roots = self.all.get_mut(index).map(|(_, it)| &mut it.roots);
            roots.filter(|it| !it.contains(&name)).into_iter().for_each(|it| it.push(name.clone()));
            return;
        }
        same.push(next);
        let report = ObjectReport {
            number: object.number,
            roots: vec![name],
            diagnostics: vec![diagnostic],
            ..ObjectReport::of(object.id.clone())
        };
        self.all.push((file, report));
    }

    pub(super) fn finish(&mut self, reports: &mut Reports) -> io::Result<()> {
        let mut all = mem::take(&mut self.all);
        all.sort_by_key(|(file, object)| {
            let line = object.diagnostics.first().map(|it| it.mark);
            (file.name().to_owned(), line)
        });
        all.iter().try_for_each(|(file, object)| reports.object(Some(file), object))
    }
}
