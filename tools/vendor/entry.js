// What static/js/editor.js takes from CodeMirror 6, in one module.
export { EditorState, Compartment, Prec } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, drawSelection, tooltips } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { search, searchKeymap, openSearchPanel, highlightSelectionMatches } from "@codemirror/search";
export { syntaxHighlighting, HighlightStyle, bracketMatching } from "@codemirror/language";
export { markdown } from "@codemirror/lang-markdown";
export { json } from "@codemirror/lang-json";
export { yaml } from "@codemirror/lang-yaml";
export { unifiedMergeView, MergeView } from "@codemirror/merge";
export { tags } from "@lezer/highlight";
