/** The style of the page. Light and dark as the reader's system has it; what is wide scrolls in a box of its own. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f3f5f7; --text: #1b1f24; --quiet: #4d5661; --line: #c8d0d9; --accent: #0a4fa3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161b; --raised: #1d232a; --text: #e6e9ed; --quiet: #adb6c1; --line: #3d4650; --accent: #86bdff;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--ground); z-index: 1; }
.skip:focus { left: .5rem; top: .5rem; }
header, main, nav { padding: 0 1rem; max-width: 62rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 1.2rem 0 .3rem; }
h2 { font-size: 1.45rem; margin: 2.5rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.15rem; margin: 0 0 .3rem; }
h4 { font-size: 1rem; margin: 1.1rem 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
code, pre { font: .9em/1.5 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
code { overflow-wrap: anywhere; }
th code { overflow-wrap: normal; }
pre { margin: .4rem 0; padding: .7rem .9rem; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
pre code { overflow-wrap: normal; font-size: 1em; }
article { margin: 0 0 2.2rem; padding-bottom: 1.4rem; border-bottom: 1px solid var(--line); }
.route { overflow-wrap: anywhere; }
.method { display: inline-block; padding: 0 .45rem; border: 1px solid var(--line); border-radius: 4px; background: var(--raised); font-weight: 600; }
.type, .quiet { color: var(--quiet); }
.scroll { overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
td:last-child { min-width: 11rem; }
main section section { margin-bottom: 1.8rem; }
ul.fields { list-style: none; margin: .3rem 0; padding-left: .8rem; border-left: 2px solid var(--line); }
ul.fields li { margin: .25rem 0; }
summary { cursor: pointer; }
nav ul { list-style: none; margin: 0; padding-left: .8rem; }
nav li { margin: .15rem 0; overflow-wrap: anywhere; font-size: .92rem; }
nav summary { padding: .2rem 0; }
nav label { display: block; margin: .5rem 0; }
nav input { display: block; width: 100%; max-width: 24rem; padding: .35rem .5rem; font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--quiet); border-radius: 4px; }
[hidden] { display: none !important; }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 20rem minmax(0, 1fr); grid-template-areas: "head head" "contents content"; }
  header { grid-area: head; }
  nav { grid-area: contents; position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding-bottom: 2rem; border-right: 1px solid var(--line); }
  main { grid-area: content; padding: 0 2rem; }
}
@media print {
  :root { --ground: #fff; --raised: #fff; --text: #000; --quiet: #333; --line: #999; --accent: #000; }
  nav, .skip { display: none; }
  body { display: block; font-size: 10pt; }
  article { break-inside: auto; }
  h2, h3, h4 { break-after: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
`;
