// A <textarea data-editor> becomes an editor with line numbers, search and colours. The textarea stays the field of the
// form: it holds the text, and is written to only by what a person changes. Its value ("markdown", "json", "yaml") names
// the language; without one, the ending of the form's data-path, or of its field `path`, does.
import {
  bracketMatching, Compartment, defaultKeymap, EditorState, EditorView, highlightActiveLine, highlightActiveLineGutter,
  highlightSelectionMatches, highlightSpecialChars, HighlightStyle, history, historyKeymap, json, keymap, lineNumbers,
  markdown, openSearchPanel, search, searchKeymap, showPanel, syntaxHighlighting, tags, yaml,
} from "../vendor/codemirror.js";

const { nonce } = document.querySelector("link[data-codemirror]");
const LANGUAGES = { json, markdown, yaml };
const ENDINGS = { json: "json", markdown: "markdown", md: "markdown", yaml: "yaml", yml: "yaml" };
const HEIGHT_MIN = 160;

// Styles that CodeMirror adds stand above every layer, so what it looks like is said here, by the names of tokens.css.
const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "13px", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { color: "var(--text-soft)", backgroundColor: "var(--surface)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { color: "inherit", backgroundColor: "var(--sunken)" },
  ".cm-selectionMatch, .cm-searchMatch": { color: "var(--mark-text)", backgroundColor: "var(--mark)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-searchMatch *, .cm-selectionMatch *": { color: "inherit" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-ground)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-panels": { color: "var(--text)", backgroundColor: "var(--surface)", fontFamily: "var(--sans)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "8px 32px 8px 8px" },
  ".cm-panel.cm-search label": { display: "inline-flex", alignItems: "center", gap: "4px", fontSize: "13px" },
  ".cm-textfield": { color: "inherit", backgroundColor: "var(--ground)", border: "1px solid var(--edge)", borderRadius: "var(--radius)", fontSize: "13px", width: "200px", minHeight: "28px", padding: "2px 8px" },
  ".cm-button": { color: "var(--text)", background: "var(--surface)", border: "1px solid var(--edge)", borderRadius: "var(--radius)", minHeight: "28px", padding: "2px 8px", fontSize: "13px" },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)", background: "transparent", border: "0", minWidth: "28px", minHeight: "28px", top: "8px" },
});

const colours = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "700" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.keyword, tags.typeName, tags.tagName], color: "var(--accent)" },
  { tag: [tags.string, tags.monospace, tags.attributeValue], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warn)" },
  { tag: [tags.comment, tags.meta, tags.processingInstruction, tags.contentSeparator, tags.quote], color: "var(--text-soft)" },
]);

function languageOf(textarea) {
  const path = textarea.form?.dataset.path ?? textarea.form?.elements.path?.value ?? "";
  const language = LANGUAGES[textarea.dataset.editor] ?? LANGUAGES[ENDINGS[path.split(".").pop()]];
  return language ? language() : [];
}

// What the label, the hint and the error say of the textarea, said of what replaces it.
function attributesOf(textarea) {
  const [label] = textarea.labels;
  if (label) label.id ||= `${textarea.id}_label`;
  const kept = { ...(label ? { "aria-labelledby": label.id } : { "aria-label": textarea.getAttribute("aria-label") ?? "Text" }) };
  for (const name of ["aria-describedby", "aria-invalid", "aria-required"]) {
    if (textarea.hasAttribute(name)) kept[name] = textarea.getAttribute(name);
  }
  if (textarea.required) kept["aria-required"] = "true";
  return kept;
}

function button(words, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "cm-button";
  made.textContent = words;
  made.addEventListener("click", act);
  return made;
}

// Below the text: what finds, what wraps, and that Tab leaves.
function bar(wrapping) {
  return (view) => {
    const dom = document.createElement("div");
    dom.className = "editor-bar";
    const wrap = button("Wrap lines", () => {
      const wraps = wrap.getAttribute("aria-pressed") !== "true";
      wrap.setAttribute("aria-pressed", String(wraps));
      view.dispatch({ effects: wrapping.reconfigure(wraps ? EditorView.lineWrapping : []) });
    });
    wrap.setAttribute("aria-pressed", "true");
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = "Tab leaves the editor";
    dom.append(button("Find", () => openSearchPanel(view)), wrap, hint);
    return { dom };
  };
}

function enhance(textarea) {
  const height = Math.max(textarea.offsetHeight, HEIGHT_MIN);
  const wrapping = new Compartment();
  const frame = document.createElement("div");
  frame.className = "code-editor";
  frame.style.height = `${height}px`;
  const view = new EditorView({
    doc: textarea.value,
    parent: frame,
    extensions: [
      EditorView.cspNonce.of(nonce), look, syntaxHighlighting(colours),
      EditorView.contentAttributes.of(attributesOf(textarea)),
      EditorState.readOnly.of(textarea.readOnly || textarea.disabled),
      lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), highlightSpecialChars(), highlightSelectionMatches(), bracketMatching(),
      history(), search({ top: true }), wrapping.of(EditorView.lineWrapping), showPanel.of(bar(wrapping)), languageOf(textarea),
      keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        textarea.value = update.state.doc.toString();
        textarea.dispatchEvent(new Event("input", { bubbles: true }));
      }),
    ],
  });
  const focused = document.activeElement === textarea;
  const { selectionStart: anchor, selectionEnd: head } = textarea;
  textarea.hidden = true;
  textarea.after(frame);
  view.requestMeasure();
  if (textarea.getAttribute("aria-invalid") === "true") frame.classList.add("refused");
  for (const label of textarea.labels) label.addEventListener("click", () => view.focus());
  textarea.form?.addEventListener("reset", () => setTimeout(() => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: textarea.value } });
  }));
  if (focused) view.dispatch({ selection: { anchor, head }, scrollIntoView: true }); // who typed already types on
  if (focused || textarea.autofocus) view.focus();
}

for (const textarea of document.querySelectorAll("textarea[data-editor]")) enhance(textarea);
