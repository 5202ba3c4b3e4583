// What static/js/editor.js takes from CodeMirror 6, in one module.
export { Compartment, EditorState } from "@codemirror/state";
export { EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers, showPanel } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
export { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { json } from "@codemirror/lang-json";
export { markdown } from "@codemirror/lang-markdown";
export { yaml } from "@codemirror/lang-yaml";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { tags } from "@lezer/highlight";
