/** How the page looks, light or dark as the reader's system is. */
export const PAGE_CSS = `:root{color-scheme:light dark;--back:light-dark(#fff,#1c1f26);--card:light-dark(#f5f6f8,#262a33);--line:light-dark(#d9dce3,#3b414d);--faint:light-dark(#5c6470,#9aa3b2);--accent:light-dark(#0b57d0,#8ab4f8);--bad:light-dark(#b3261e,#f2a29b)}
*{box-sizing:border-box}
body{margin:0;font:15px/1.45 system-ui,sans-serif;background:var(--back);color:light-dark(#1c1f26,#e3e6ec)}
header{position:sticky;top:0;display:flex;flex-wrap:wrap;gap:1rem;align-items:center;padding:.7rem 1.2rem;background:var(--back);border-bottom:1px solid var(--line)}
.home{font-weight:600;font-size:1.15rem;color:inherit;text-decoration:none}
form{display:flex;flex:1;flex-wrap:wrap;gap:.6rem}
input,select{font:inherit;color:inherit;padding:.4rem .6rem;border:1px solid var(--line);border-radius:6px;background:var(--card)}
label:first-child{flex:1;min-width:12rem}
input{width:100%}
main{padding:1.2rem;max-width:75rem;margin:auto}
footer{padding:1.2rem;max-width:75rem;margin:auto;color:var(--faint)}
a{color:var(--accent)}
code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre{padding:.8rem;overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:6px}
ul.cards{list-style:none;margin:0;padding:0;display:grid;gap:.9rem;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr))}
.cards a{display:grid;grid-template-columns:3rem 1fr;gap:.8rem;height:100%;padding:.9rem;border:1px solid var(--line);border-radius:8px;background:var(--card);color:inherit;text-decoration:none}
.cards a:hover,.cards a:focus{border-color:var(--accent)}
.icon{width:3rem;height:3rem;object-fit:contain;display:grid;place-items:center;border-radius:6px;background:var(--line);font-weight:600}
img.icon{background:none}
h1{display:flex;gap:.8rem;align-items:center;font-size:1.5rem;margin:.2rem 0 1rem}
h2{font-size:1.1rem;margin:1.6rem 0 .5rem}
h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.25rem 0}
.faint{color:var(--faint)}
.bad{color:var(--bad)}
.short{display:-webkit-box;-webkit-line-clamp:3;-webkit-box-orient:vertical;overflow:hidden}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{width:14rem;font-weight:600;color:var(--faint)}
.graph{max-width:100%;background:#fff;border-radius:6px}
button{font:inherit;padding:.4rem .9rem;border:1px solid var(--line);border-radius:6px;background:var(--card);color:inherit;cursor:pointer}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
`;
