// An editor for manifests.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

import { sentenceOf } from "./findings.js";

const SEVERITIES = { error: "error", warning: "warning", note: "info" };

// Makes an editor in an element. `changed` is called after each change of the text by the visitor, with the text, and
// with whether nothing is left of the text before.
export function editorIn(parent, name, changed) {
  let isLoading = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        yaml(),
        syntaxHighlighting(classHighlighter),
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": name, autocapitalize: "none", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isLoading) changed(update.state.doc.toString(), isReplaced(update));
        }),
        EditorView.domEventHandlers({
          drop(event) {
            const files = event.dataTransfer?.files;
            if (!files?.length) return false;
            event.preventDefault();
            read(files);
            return true;
          },
        }),
      ],
    }),
  });

  const all = (insert) => ({ from: 0, to: view.state.doc.length, insert });

  // Replaces the text by the content of files.
  async function read(files) {
    const texts = await Promise.all(Array.from(files, (file) => file.text()));
    view.dispatch({ changes: all(texts.join("\n---\n")) });
  }

  for (const name of ["dragover", "dragleave", "drop"]) {
    parent.addEventListener(name, () => parent.classList.toggle("dropping", name === "dragover"));
  }

  // Returns the start of a finding, and the end of its line. Columns count characters, the editor
  // counts code units of UTF-16.
  function range({ line, column }) {
    const { doc } = view.state;
    const { from, text } = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
    const before = Array.from(text).slice(0, (column ?? 1) - 1).join("").length;
    return { from: from + before, to: from + Math.max(text.trimEnd().length, before) };
  }

  return {
    load(text) {
      isLoading = true;
      view.dispatch({ changes: all(text), selection: { anchor: 0 }, scrollIntoView: true });
      isLoading = false;
    },
    read,
    all,
    text: () => view.state.doc.toString(),
    // Marks findings in the text. `actions` returns what the tooltip of one offers.
    mark(findings, actions) {
      const diagnostics = findings.map((finding) => ({
        ...range(finding),
        severity: SEVERITIES[finding.severity],
        source: finding.rule,
        message: `${finding.title}\n${sentenceOf(finding)}`.trim(),
        actions: actions(finding).map(({ name, run }) => ({ name, apply: run })),
      }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    // Moves the cursor to a finding.
    go(finding) {
      const { from } = range(finding);
      const effects = EditorView.scrollIntoView(from, { y: "center" });
      view.dispatch({ selection: { anchor: from }, effects });
      view.focus();
    },
    edit(edits) {
      view.dispatch({ changes: edits, userEvent: "input.fix" });
    },
  };
}

// A fix leaves most of a text, however it is made.
function isReplaced(update) {
  let replaced = false;
  update.changes.iterChanges((from, to) => (replaced ||= from === 0 && to === update.startState.doc.length && to > 0));
  return replaced && !update.transactions.some((it) => it.isUserEvent("input.fix"));
}
