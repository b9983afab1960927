/**
 * The viewer in our colors and the system fonts. `light-mode` and `dark-mode` follow the preference of the system. The padding
 * leaves room for the button that follows a heading, which would otherwise be wider than a phone.
 */
export const VIEWER_STYLE = `
:root { color-scheme: light dark; --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
body { margin: 0; }
.t-doc__header header > span { min-width: 0; overflow: hidden; text-overflow: ellipsis; }
.operation-title, .section-header { padding-right: 2rem; }
noscript p { padding: 1rem; font: 1rem/1.55 system-ui, sans-serif; }
.light-mode {
  --scalar-background-1: #ffffff; --scalar-background-2: #f3f5f7; --scalar-background-3: #e6eaee; --scalar-background-accent: #0a4fa31a;
  --scalar-color-1: #1b1f24; --scalar-color-2: #4d5661; --scalar-color-3: #5d6772; --scalar-color-accent: #0a4fa3;
  --scalar-border-color: #c8d0d9;
}
.dark-mode {
  --scalar-background-1: #12161b; --scalar-background-2: #1d232a; --scalar-background-3: #2a323b; --scalar-background-accent: #86bdff26;
  --scalar-color-1: #e6e9ed; --scalar-color-2: #adb6c1; --scalar-color-3: #98a2ae; --scalar-color-accent: #86bdff;
  --scalar-border-color: #3d4650;
}
`;
