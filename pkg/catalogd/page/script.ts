/**
 * What the page does. Catalogs are untrusted: everything of theirs becomes text nodes and attributes of elements that are made here, never markup; addresses
 * are followed only to http and https; icons are pictures of data, in which nothing runs.
 */
export const PAGE_JS = `const main = document.querySelector("main");
const form = document.querySelector("form");
const PAGE = 60;
/** Versions of a package that are listed. */
const VERSIONS = 30;
/** A name that a shell takes for nothing but a word: other commands are not offered for copying. */
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
  if (!found) throw new Error("catalog " + catalog + " has no package " + name);
  const { head = {}, channels } = found;
  const graph = make("img", { class: "graph", alt: "update graph", loading: "lazy", src: "api/v1/catalogs/" + part(catalog) + "/packages/" + part(name) + "/graph?format=svg" });
  graph.onerror = () => graph.replaceWith(make("p", { class: "faint" }, "The graph is too large to be drawn: olmv1 graph " + name));
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
