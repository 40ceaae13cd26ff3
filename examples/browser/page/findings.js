// The findings, and the explanation of a rule.

import { element } from "./element.js";

// Returns what is wrong besides the title, and what helps, as the command line says it.
export function sentenceOf({ title, message, help, eased }) {
  const without = (text, part) => (part && text.endsWith(part) ? text.slice(0, -part.length).replace(/[;,\s]+$/, "") : text);
  const own = without(message, help);
  return [own !== title && own, help, eased && `(${eased})`].filter(Boolean).join("; ");
}

const buttonOf = ({ name, run, kind = "" }) => {
  const button = element("button", { type: "button", className: kind }, ...marked(name));
  button.addEventListener("click", run);
  return button;
};

// Shows the findings. `actions` returns what can be done about one, as in the editor, and `go` moves the cursor to a place.
export function showFindings(panel, { summary, findings }, actions, go) {
  const cards = findings.map((finding) => {
    const { severity, title, rule, field, object, line, related = [] } = finding;
    const place = [rule, object && `${object.kind} ${object.namespace}/${object.name}`, field].filter(Boolean).join(" · ");
    const also = related.map((it) => buttonOf({ name: `Line ${it.line}: ${it.message}`, run: () => go(it), kind: "link" }));
    return element(
      "li",
      { className: severity },
      element(
        "div",
        { className: "title" },
        element("span", { className: "severity", textContent: severity }),
        element("h3", { textContent: title }),
      ),
      element("p", {}, ...marked(sentenceOf(finding))),
      element("p", { className: "hint", textContent: place }),
      element(
        "div",
        { className: "actions" },
        ...(line ? [buttonOf({ name: `Line ${line}`, run: () => go(finding), kind: "link" })] : []),
        ...also,
        ...actions(finding).map(buttonOf),
      ),
    );
  });
  const nothing = summary.objects === 0 ? "Nothing to check yet" : "Nothing found";
  const then = summary.objects === 0 ? "Paste a DaemonSet or a StatefulSet, drop files on the editor, or choose an example." : "Plan shows what a change does.";
  const empty = element("div", { className: "empty" }, element("h3", { textContent: nothing }), element("p", { textContent: then }));
  panel.replaceChildren(cards.length > 0 ? element("ol", { className: "cards" }, ...cards) : empty);
}

// Returns the sentence about a check. Says what is not known.
export function summaryOf({ summary, findings, notChecked = [] }, failures) {
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
      : (found.join(", ") || "Nothing found") + (objects > 0 ? ` in ${bad > 0 && objects > 1 ? `${bad} of ` : ""}${count(objects, "set")}` : ""),
    unreadable > 0 && `${count(unreadable, "document")} not readable`,
    skipped > 0 && `${skipped} of other kinds`,
    ...failures,
    ...notChecked.map(({ line, message }) => `line ${line} is not checked: ${message}`),
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

// Returns the parts of a text, with those between backquotes as code.
function marked(text) {
  return text.split("`").map((part, i) => (i % 2 === 1 ? element("code", { textContent: part }) : part));
}

// Shows why a rule exists, with its examples, and the other rules that found something.
export function showExplanation(panel, rule, rules, choose) {
  const others = rules.map((id) => {
    const button = buttonOf({ name: id, run: () => choose(id), kind: "chip" });
    button.setAttribute("aria-pressed", String(id === rule?.id));
    return button;
  });
  const page = (id, textContent) => element("a", { href: `https://setguard.io/rules${id}.html`, textContent });
  panel.replaceChildren(element("div", { className: "actions" }, ...others));
  if (!rule) {
    const text = "An explanation says why a rule exists, with an example. ";
    panel.append(element("div", { className: "empty" }, element("h3", { textContent: "Nothing to explain" }), element("p", {}, text, page("", "All rules"))));
    return;
  }
  panel.append(
    element("h2", { textContent: rule.id }),
    element("p", {}, `${rule.summary}. Default: `, element("code", { textContent: rule.mode }), "."),
    ...rule.why.split(/\n{2,}/).map((paragraph) => element("p", {}, ...marked(paragraph))),
    ...example("Bad", rule.bad, rule.good),
    ...example("Good", rule.good, rule.bad),
    element("p", {}, page(`/${rule.id}`, "The page of the rule")),
  );
}

// Marks the lines that the other example does not have.
function example(heading, manifest, other) {
  if (!manifest) return [];
  const known = new Set(other.split("\n"));
  const lines = manifest.split("\n").map((line) => element(known.has(line) ? "span" : "mark", { textContent: `${line}\n` }));
  return [element("h3", { textContent: heading }), element("pre", { tabIndex: 0, className: heading.toLowerCase() }, ...lines)];
}
