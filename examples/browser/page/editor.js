// An editor for manifests.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const SEVERITIES = { error: "error", warning: "warning", note: "info" };

// Makes an editor in an element. `changed` is called after each change of the text, with the text.
export function editorIn(parent, labelledBy, fileInput, changed) {
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
        EditorView.contentAttributes.of({ "aria-labelledby": labelledBy, autocapitalize: "none" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
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

  function set(text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }

  // Replaces the text by the content of files.
  async function read(files) {
    const texts = await Promise.all(Array.from(files, (file) => file.text()));
    set(texts.join("\n---\n"));
  }

  for (const name of ["dragover", "dragleave", "drop"]) {
    parent.addEventListener(name, () => parent.classList.toggle("dropping", name === "dragover"));
  }
  fileInput.addEventListener("change", async () => {
    await read(fileInput.files);
    fileInput.value = "";
  });

  // Returns the start of a finding, and the end of its line. Columns count characters, the editor
  // counts code units of UTF-16.
  function range({ line, column }) {
    const { doc } = view.state;
    const { from, text } = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
    const before = Array.from(text).slice(0, (column ?? 1) - 1).join("").length;
    return { from: from + before, to: from + Math.max(text.trimEnd().length, before) };
  }

  return {
    set,
    text: () => view.state.doc.toString(),
    // Marks findings in the text. `actions` returns what the tooltip of one offers.
    mark(findings, actions) {
      const diagnostics = findings.map((finding) => ({
        ...range(finding),
        severity: SEVERITIES[finding.severity],
        source: finding.rule,
        message: finding.message,
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
