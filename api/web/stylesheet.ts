import { createHash } from 'node:crypto';

/** What all pages look like: a file of ours, so that no page needs a style in its own text. */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --ground: #f6f6f4; --card: #ffffff; --line: #dedcd6; --edge: #85827a; --text: #1d1d1b; --quiet: #5d5b55;
  --accent: #1f5f8b; --accent-text: #ffffff; --accent-hover: #174a6e;
  --good: #1d6b3c; --good-ground: #e8f3ec; --bad: #a32a1f; --bad-ground: #fbeceb; --code: #f0efeb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #17181a; --card: #202124; --line: #4a4d54; --edge: #7d8189; --text: #ececea; --quiet: #a9a8a3;
    --accent: #7fb9e2; --accent-text: #10202c; --accent-hover: #a3cdec;
    --good: #86d1a2; --good-ground: #1b2f23; --bad: #f2a49c; --bad-ground: #38211f; --code: #2a2b2f;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--accent); text-underline-offset: .15em; }
a:hover { color: var(--accent-hover); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem; }
.top { display: flex; align-items: center; justify-content: space-between; gap: 1rem; max-width: 46rem; margin: 0 auto; padding: 1.25rem 1rem 0; }
.brand { display: inline-flex; align-items: center; gap: .55rem; font-weight: 650; letter-spacing: -.01em; color: var(--text); text-decoration: none; }
.brand svg { display: block; }
.brand svg rect { fill: var(--accent); }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
main.narrow, .top.narrow { max-width: 27rem; }
main.narrow { padding-top: 1.25rem; }
.top.narrow { padding-top: min(12vh, 6rem); }
main.wide, .top.wide { max-width: 76rem; }
h1 { font-size: 1.6rem; line-height: 1.25; letter-spacing: -.015em; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; line-height: 1.3; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .25rem; }
p { margin: 0 0 1rem; }
p:last-child { margin-bottom: 0; }
.quiet { color: var(--quiet); }
.small { font-size: .9rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; margin: 0 0 1.25rem; }
main.narrow .card { padding: 1.75rem 1.5rem; overflow-wrap: anywhere; }
.notice { border-radius: .6rem; padding: .75rem 1rem; margin: 0 0 1.25rem; border: 1px solid transparent; overflow-wrap: anywhere; }
.notice:focus { outline: none; }
.notice.good { background: var(--good-ground); color: var(--good); border-color: currentColor; }
.notice.bad { background: var(--bad-ground); color: var(--bad); border-color: currentColor; }
.stack > * + * { margin-top: .75rem; }
.button, button {
  display: inline-flex; align-items: center; justify-content: center; gap: .6rem; min-height: 2.75rem; padding: .5rem 1.1rem;
  font: inherit; font-weight: 550; line-height: 1.2; text-decoration: none; cursor: pointer;
  border: 1px solid var(--edge); border-radius: .55rem; background: var(--card); color: var(--text);
}
.button:hover, button:hover { border-color: var(--text); color: var(--text); }
.button.main, button.main { background: var(--accent); border-color: var(--accent); color: var(--accent-text); }
.button.main:hover, button.main:hover { background: var(--accent-hover); border-color: var(--accent-hover); color: var(--accent-text); }
.button.wide, button.wide { display: flex; width: 100%; }
.button.danger, button.danger { color: var(--bad); }
button.main.danger { background: var(--bad); border-color: var(--bad); color: var(--bad-ground); }
button.main.danger:hover { background: var(--bad); border-color: var(--text); color: var(--bad-ground); }
form + p { margin-top: 1.25rem; }
::placeholder { color: var(--quiet); opacity: 1; }
.button.slight, button.slight { min-height: 2.25rem; padding: .3rem .8rem; font-size: .9rem; }
.button svg { width: 1.15rem; height: 1.15rem; flex: none; fill: currentColor; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
.buttons.even > * { flex: 1 1 8rem; }
.buttons.even button { width: 100%; }
form { margin: 0; }
label { display: block; font-weight: 550; margin-bottom: .3rem; }
.hint { display: block; color: var(--quiet); font-size: .9rem; font-weight: 400; }
select { text-overflow: ellipsis; }
input[type=text], input[type=email], select {
  width: 100%; min-height: 2.75rem; padding: .5rem .75rem; font: inherit; color: var(--text);
  background: var(--ground); border: 1px solid var(--quiet); border-radius: .5rem;
}
.field + .field { margin-top: 1rem; }
.field + button { margin-top: 1rem; }
.inline { display: flex; flex-wrap: wrap; gap: .75rem; align-items: flex-end; }
.inline .field { flex: 1 1 14rem; margin: 0; }
.inline .field + button { margin: 0; }
dl + .inline { margin-top: 1.25rem; }
.inline + .hint, .hint + form { margin-top: .75rem; }
.quiet + .inline { margin-top: 1rem; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .4rem 1.25rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.rows { list-style: none; margin: 0; padding: 0; }
.rows > li { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: .8rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { border-top: 0; padding-top: 0; }
.rows > li:last-child { padding-bottom: 0; }
.rows .what { flex: 1 1 14rem; min-width: 0; overflow-wrap: anywhere; }
.rows + form, .rows + .buttons { margin-top: 1rem; }
h1, h2, h3 { overflow-wrap: anywhere; }
.note { border-left: 3px solid var(--accent); padding: .1rem 0 .1rem .85rem; }
ul.plain { margin: 0 0 1rem; padding-left: 1.2rem; }
ul.plain li + li { margin-top: .3rem; }
.tag { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .8rem; font-weight: 550; background: var(--good-ground); color: var(--good); vertical-align: .05em; }
.tag.off { background: var(--code); color: var(--quiet); }
.figure { font-size: 1.6rem; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
code, .secret { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .92em; background: var(--code); border-radius: .3rem; padding: .1em .35em; overflow-wrap: anywhere; }
.secret { display: block; padding: .75rem; margin: .5rem 0; user-select: all; color: var(--text); }
details { margin: .75rem 0 0; }
details > * + * { margin-top: .75rem; }
details p { margin-bottom: .75rem; }
summary { cursor: pointer; font-weight: 550; color: var(--accent); }
summary:hover { color: var(--accent-hover); }
code.secret { margin: 0; }
.apart { margin-top: 1rem; }
.or { display: flex; align-items: center; gap: .75rem; color: var(--quiet); font-size: .9rem; margin: 1.25rem 0; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1.25rem; margin: 0 0 1.25rem; }
.charts .card { margin: 0; }
.chart { display: block; width: 100%; height: auto; margin-top: .75rem; }
.chart rect { fill: var(--accent); }
.chart rect.second { fill: var(--good); }
.chart rect.bad { fill: var(--bad); }
.chart rect.back { fill: var(--code); stroke: var(--line); }
.chart line { stroke: var(--line); }
.chart text { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.chart .badge rect { fill: var(--bad-ground); }
.chart .badge text { fill: var(--bad); font-size: 10px; font-weight: 550; }
.tag.warn { background: var(--bad-ground); color: var(--bad); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .5rem .4rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-weight: 400; font-size: .9rem; }
th.number, td.number { text-align: right; padding-right: 0; padding-left: .5rem; }
th[scope=row] { font-weight: 400; }
.figures { font-size: .9rem; }
.scrolls { max-height: 14rem; overflow-y: auto; padding-right: .5rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) {
  main.narrow .card { padding: 1.25rem; }
  .top.narrow { padding-top: 1.25rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd + dt { margin-top: .6rem; }
}
@media print { button, .button { display: none; } }
`.trim();

/** Names what is in the stylesheet, so that a browser may keep it for as long as it likes. */
export const STYLESHEET_VERSION = createHash('sha256').update(STYLESHEET).digest('hex').slice(0, 16);
export const STYLESHEET_PATH = '/assets/style.css';
