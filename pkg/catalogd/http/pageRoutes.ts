import { createDocument, respondWithDocument } from "./contentResponse.ts";
import type { ContentRouteDependencies } from "./contentRoutes.ts";
import { includesMediaType } from "./problem.ts";
import { type ContentResponse, NO_BODY } from "./response.ts";
import type { CatalogServer } from "./route.ts";

/**
 * The web page. Its script fetches all data. Addresses are relative, so that the page also works
 * under a path prefix, for example through kubectl proxy.
 */
const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalogs</title>
<link rel="stylesheet" href="ui/style.css">
<script type="module" src="ui/script.js"></script>
</head>
<body>
<header>
<a class="home" href="#/">Catalogs</a>
<form role="search">
<label><span class="unseen">Search</span><input type="search" name="text" placeholder="Search packages" autocomplete="off" maxlength="256"></label>
<label><span class="unseen">Catalog</span><select name="catalog"><option value="">all catalogs</option></select></label>
</form>
</header>
<main aria-live="polite"><noscript>This page needs JavaScript. Use olmv1 search and olmv1 show instead.</noscript></main>
<footer>Read-only. Install packages with <code>olmv1 install</code> or a ClusterExtension. <a href="openapi.json">API</a></footer>
</body>
</html>
`;

/**
 * The script of the web page. Catalogs are untrusted: their values become text nodes and
 * attributes, never markup. Links use only http and https, and icons are data images, which cannot
 * run scripts.
 */
export const PAGE_JS = `const main = document.querySelector("main");
const form = document.querySelector("form");
const PAGE = 60;
/** Maximum number of listed versions of a package. */
const VERSIONS = 30;
/** A name that needs no quotes in a shell; commands with other names are not shown. */
const PLAIN = /^\\w[\\w.-]*$/;
let shown = 0;

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children.flat().filter((child) => child !== undefined && child !== ""));
  return element;
}

async function get(path) {
  const response = await fetch(path);
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.detail ?? response.status + " " + response.statusText);
}

const json = async (path) => (await get(path)).json();
const lines = async (path) => (await (await get(path)).text()).split("\\n").filter((line) => line !== "").map((line) => JSON.parse(line));
const part = encodeURIComponent;

async function showCatalogs() {
  const { catalogs } = await json("catalogs");
  form.catalog.append(...catalogs.map(({ name }) => make("option", { value: name }, name)));
}

const icons = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    icons.unobserve(target);
    void loadIcon(target);
  }
});

async function loadIcon(place) {
  const { catalog, name } = place.dataset;
  const [meta] = await lines("catalogs/" + part(catalog) + "/api/v1/metas?schema=olm.package&name=" + part(name)).catch(() => []);
  const { base64data, mediatype } = meta?.icon ?? {};
  if (!/^image\\/[\\w.+-]+$/.test(mediatype ?? "") || !/^[\\w+/=\\s]+$/.test(base64data ?? "")) return;
  const picture = make("img", { class: "icon", alt: "", src: "data:" + mediatype + ";base64," + base64data });
  picture.onload = () => place.replaceWith(picture);
}

function icon(catalog, name) {
  const place = make("span", { class: "icon", "data-catalog": catalog, "data-name": name, "aria-hidden": "true" }, (name[0] ?? "").toUpperCase());
  icons.observe(place);
  return place;
}

function card({ catalog, package: name, displayName, description, provider, deprecated, defaultVersion: version }) {
  const about = [make("h3", {}, displayName ?? name), make("p", { class: "faint" }, [name, version, provider, catalog].filter(Boolean).join(" · "))];
  if (deprecated) about.push(make("p", { class: "bad" }, "deprecated"));
  about.push(make("p", { class: "short" }, description ?? ""));
  return make("li", {}, make("a", { href: "#/" + part(catalog) + "/" + part(name) }, icon(catalog, name), make("div", {}, about)));
}

async function showSearch(turn) {
  const query = new URLSearchParams({ limit: String(PAGE), matches: "1" });
  if (form.text.value.trim() !== "") query.set("text", form.text.value.trim());
  if (form.catalog.value !== "") query.set("catalog", form.catalog.value);
  const list = make("ul", { class: "cards" });
  const count = make("p", { class: "faint", role: "status" });
  const more = make("button", { type: "button" }, "more");
  const page = async (after) => {
    if (after !== undefined) query.set("continue", after);
    const found = await json("api/v1/search?" + query);
    if (turn !== shown) return;
    list.append(...found.items.map(card));
    count.textContent = found.total + (found.total === 1 ? " package" : " packages") + (found.missing ? ", not loaded yet: " + found.missing.join(", ") : "");
    more.hidden = found.continue === undefined;
    more.onclick = () => page(found.continue).catch(showFault);
  };
  await page();
  if (turn === shown) main.replaceChildren(count, list, more);
}

function rows(pairs) {
  return make("table", {}, pairs.filter(([, value]) => value !== undefined && value !== "" && value.length !== 0).map(([term, value]) =>
    make("tr", {}, make("th", { scope: "row" }, term), make("td", {}, Array.isArray(value) ? value.join(", ") : value))));
}

function link(address) {
  return /^https?:\\/\\//.test(address ?? "") ? make("a", { href: address, rel: "noopener noreferrer" }, address) : address;
}

function versionList(name, versions) {
  const more = versions.length - VERSIONS;
  if (more <= 0) return versions;
  return versions.slice(0, VERSIONS).join(", ") + " and " + more + " more" + (PLAIN.test(name) ? ": olmv1 versions " + name : "");
}

async function showPackage(turn, catalog, name) {
  const [found] = await lines("catalogs/" + part(catalog) + "/packages?package=" + part(name));
  if (turn !== shown) return;
  if (!found) throw new Error("catalog " + catalog + " does not contain package " + name);
  const { head = {}, channels } = found;
  const graph = make("img", { class: "graph", alt: "upgrade graph", loading: "lazy", src: "api/v1/catalogs/" + part(catalog) + "/packages/" + part(name) + "/graph?format=svg" });
  graph.onerror = () => graph.replaceWith(make("p", { class: "faint" }, "The graph is too large to draw. Use: olmv1 graph " + name));
  main.replaceChildren(
    make("h1", {}, icon(catalog, name), found.displayName ?? name),
    found.deprecated ? make("p", { class: "bad" }, "Deprecated: " + found.deprecated) : "",
    make("p", {}, found.description ?? ""),
    rows([
      ["package", name], ["catalog", catalog], ["provider", found.provider], ["default version", head.version], ["latest version", found.latest?.version], ["capability", head.capability],
      ["keywords", found.keywords], ["repository", link(found.repository)], ["install modes", head.installModes], ["provides", head.providedAPIs],
      ["requires", head.requiredAPIs], ["architectures", head.architectures], ["operating systems", head.operatingSystems],
      ["features", head.infrastructureFeatures], ["oldest Kubernetes", head.minKubeVersion], ["newest OpenShift", head.maxOpenShiftVersion],
      ["image", head.containerImage], ["created", head.createdAt], ["versions", versionList(name, found.versions)],
    ]),
    make("h2", {}, "Channels"),
    rows(channels.map((one) => [one.name + (one.name === found.defaultChannel ? " (default)" : ""),
      one.heads.map((entry) => entry.version ?? entry.bundle).join(", ") + ", " + one.entries + (one.entries === 1 ? " entry" : " entries") + (one.deprecated ? ", deprecated: " + one.deprecated : "")])),
    ...(PLAIN.test(name) ? [make("h2", {}, "Install"), make("pre", {}, "olmv1 install " + name + " --catalog " + catalog + " --create-service-account")] : []),
    make("h2", {}, "Updates"),
    graph,
  );
}

function showFault(fault) {
  main.replaceChildren(make("p", { class: "bad", role: "alert" }, fault.message));
}

function show() {
  const turn = ++shown;
  const [catalog, name] = location.hash.replace(/^#\\//, "").split("/").map(decodeURIComponent);
  const work = catalog && name ? showPackage(turn, catalog, name) : showSearch(turn);
  work.catch((fault) => { if (turn === shown) showFault(fault); });
}

let waiting;
form.oninput = () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (location.hash.length > 2) location.hash = "#/"; else show(); }, 200);
};
form.onsubmit = (event) => event.preventDefault();
addEventListener("hashchange", show);
showCatalogs().catch(showFault);
show();
`;

/** The style sheet of the web page, light or dark like the user's system. */
const PAGE_CSS = `:root{color-scheme:light dark;--back:light-dark(#fff,#1c1f26);--card:light-dark(#f5f6f8,#262a33);--line:light-dark(#d9dce3,#3b414d);--faint:light-dark(#5c6470,#9aa3b2);--accent:light-dark(#0b57d0,#8ab4f8);--bad:light-dark(#b3261e,#f2a29b)}
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

/**
 * Prevents loading resources from other servers, running scripts from catalogs, and showing the
 * page in a frame of another page.
 */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const PARTS = [
  { path: "/ui", id: "getPage", summary: "Web page that shows the catalogs", type: "text/html; charset=utf-8", text: PAGE_HTML },
  { path: "/ui/script.js", id: "getPageScript", summary: "Script of the web page", type: "text/javascript; charset=utf-8", text: PAGE_JS },
  { path: "/ui/style.css", id: "getPageStyle", summary: "Style sheet of the web page", type: "text/css; charset=utf-8", text: PAGE_CSS },
] as const;

/**
 * Returns the redirect from `/` to the web page for browsers; undefined for other requests.
 * Relative, so that it also works under a path prefix.
 */
export function redirectToPage(method: string, url: string, accept: string | undefined): ContentResponse | undefined {
  const isVisit = ["GET", "HEAD"].includes(method) && url === "/" && includesMediaType(accept, "text/html");
  return isVisit ? { status: 302, headers: { location: "ui" }, body: NO_BODY } : undefined;
}

/** Registers the endpoints of the read-only web page, which uses the other endpoints. */
export function registerPageRoutes(server: CatalogServer, { cache }: Pick<ContentRouteDependencies, "cache">): void {
  for (const { path, id, summary, type, text } of PARTS) {
    const document = createDocument(Buffer.from(text), type);
    const responses = {
      200: { description: "The file.", content: { [type.replace(/;.*/, "")]: undefined } },
      304: { description: "The response has not changed." },
    };
    server.route({
      method: ["GET", "HEAD"],
      url: path,
      config: { failures: "problem", operation: { id, summary, responses } },
      handler: async (request, reply) => {
        reply.headers(SECURITY);
        await reply.respond(await respondWithDocument(document, request, cache));
      },
    });
  }
}
