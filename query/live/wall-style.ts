/**
 * The style of the wall page. Sizes follow the shorter side of the screen, so that the page fits any screen: the
 * smallest text is a thirtieth of it, which can be read from five metres on a 55-inch screen. Dark on every screen,
 * because a lit pixel ages. A narrow screen, such as a phone, scrolls instead.
 */
export const WALL_STYLE = `
:root{color-scheme:dark;--u:1vmin;--text:#e8ebec;--quiet:#a4abb1;--line:#2b3034;--accent:#63c7b2;--bar:#24423c;--good:#63c7b2;--bad:#f0957f;--alert:#f2c14e}
*{box-sizing:border-box}
html,body{margin:0;min-block-size:100%;background:#0d0f10;color:var(--text)}
.frame{overflow:clip}
body{font:400 calc(4*var(--u))/1.25 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums;overflow:hidden;cursor:none}
h1,h2,p,ol{margin:0;padding:0}
h1,h2{font-size:inherit;font-weight:600}
h1{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
h2,.quiet,.axis{color:var(--quiet)}
h2,.axis{font-size:calc(3.3*var(--u));font-weight:400}
main{block-size:100vh;block-size:100dvh;padding:calc(4*var(--u)) calc(5*var(--u));display:grid;grid-template:auto minmax(0,1fr)/minmax(0,1.1fr) minmax(0,1fr);gap:calc(3*var(--u)) calc(7*var(--u))}
header{grid-column:1/-1;display:flex;align-items:baseline;gap:calc(3*var(--u))}
#state{flex:1;text-align:end;color:var(--alert);font-size:calc(3.3*var(--u));overflow-wrap:anywhere}
#clock{font-weight:600}
.figures{display:flex;flex-direction:column;gap:calc(2.5*var(--u));min-block-size:0;min-inline-size:0}
#number{font-size:min(calc(34*var(--u)),calc(76vw/var(--digits,1)));line-height:.9;font-weight:700;letter-spacing:-.03em;transition:opacity .5s}
.late #number,.late .minutes,.late .lists{opacity:.4}
.today strong{font-size:calc(7*var(--u));line-height:1.1}
.up{color:var(--good)}
.down{color:var(--bad)}
.minutes{flex:1;min-block-size:0;display:flex;flex-direction:column;gap:var(--u)}
#minutes{flex:1;min-block-size:calc(8*var(--u));inline-size:100%;border-block-end:2px solid var(--line)}
#minutes rect{fill:var(--accent)}
#minutes rect:last-of-type{opacity:.55}
.axis{display:flex;justify-content:space-between}
.lists{display:flex;flex-direction:column;justify-content:space-between;gap:calc(3*var(--u));min-block-size:0}
.list h2{margin-block-end:var(--u)}
ol{list-style:none}
li{position:relative;display:flex;justify-content:space-between;gap:calc(2*var(--u));padding:calc(.55*var(--u)) calc(1.4*var(--u));margin-block-end:calc(.5*var(--u))}
li span{position:relative}
li .bar{position:absolute;inset-block:0;inset-inline-start:0;background:var(--bar);border-radius:calc(.6*var(--u))}
li .name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
li .count{font-weight:600}
.unseen{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media(prefers-reduced-motion:no-preference){li .bar{transition:inline-size .6s}main{transition:transform 2s}}
@media(max-aspect-ratio:1/1){
body{overflow:auto}
main{block-size:auto;min-block-size:100vh;min-block-size:100dvh;grid-template:auto auto auto/minmax(0,1fr);align-content:start}
.figures{gap:calc(3*var(--u))}
#minutes{flex:none;block-size:calc(26*var(--u))}
.lists{justify-content:start}}
@media(max-width:600px){:root{--u:1.2vmin}header{flex-wrap:wrap}#state{order:3;flex-basis:100%;text-align:start}}
`.trim();
