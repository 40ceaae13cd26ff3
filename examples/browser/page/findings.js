// The list of findings, and the explanation of a rule.

import { element } from "./element.js";

// Shows the findings. `actions` returns what can be done about one, as in the editor.
export function showFindings(list, findings, actions) {
  list.replaceChildren(
    ...findings.map((finding) => {
      const { kind, namespace, name } = finding.object ?? {};
      const object = kind ? `${kind} ${namespace}/${name}` : "";
      const place = [finding.line && `line ${finding.line}`, object];
      const buttons = actions(finding).map(({ name, run }) => {
        const button = element("button", { type: "button", textContent: name });
        button.addEventListener("click", run);
        return button;
      });
      return element(
        "li",
        { className: finding.severity },
        element(
          "p",
          {},
          element("span", { className: "severity", textContent: finding.severity }),
          ` ${finding.rule}: ${finding.field ? `${finding.field}: ` : ""}${finding.message}`,
          finding.help && !finding.message.endsWith(finding.help) ? `; ${finding.help}` : "",
          finding.eased ? ` (${finding.eased})` : "",
        ),
        element("p", { className: "hint", textContent: place.filter(Boolean).join(", ") }),
        ...buttons,
      );
    }),
  );
}

// Returns the sentence about a check. Says what is not known.
export function summaryOf({ summary, findings }, failures) {
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const { objects, denied, warned, unreadable, skipped } = summary;
  const found = ["error", "warning", "note"]
    .map((severity) => [findings.filter((it) => it.severity === severity).length, severity])
    .filter(([number]) => number > 0)
    .map(([number, severity]) => count(number, severity));
  const bad = denied + warned;
  const parts = [
    objects + unreadable === 0
      ? "Nothing to check: there is no DaemonSet and no StatefulSet"
      : `${found.join(", ") || "nothing found"} in ${bad > 0 && objects > 1 ? `${bad} of ` : ""}${count(objects, "set")}`,
    unreadable > 0 && `${count(unreadable, "document")} not readable`,
    skipped > 0 && `${skipped} of other kinds`,
    ...failures,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

// Returns the parts of a text, with those between backquotes as code.
function marked(text) {
  return text.split("`").map((part, i) => (i % 2 === 1 ? element("code", { textContent: part }) : part));
}

// Shows why a rule exists, with its examples.
export function showExplanation(section, rule) {
  const [title, text] = [section.querySelector("h2"), section.querySelector("div")];
  section.hidden = rule === null;
  if (rule === null) return;
  title.textContent = rule.id;
  const page = element("a", { href: `https://setguard.io/rules/${rule.id}.html`, textContent: "The page of the rule" });
  const example = (heading, manifest) =>
    manifest ? [element("h3", { textContent: heading }), element("pre", { textContent: manifest, tabIndex: 0 })] : [];
  text.replaceChildren(
    element("p", {}, `${rule.summary}. Default: `, element("code", { textContent: rule.mode }), "."),
    ...rule.why.split(/\n{2,}/).map((paragraph) => element("p", {}, ...marked(paragraph))),
    ...example("Bad", rule.bad),
    ...example("Good", rule.good),
    element("p", {}, page),
  );
  title.focus();
}
