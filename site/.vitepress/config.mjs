// Configures VitePress: the pages of docs/ as a site that needs no other server.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

const root = join(import.meta.dirname, "../..");
const docs = join(root, "docs");
const REPOSITORY = "https://github.com/olmv1/olmv1";
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/**
 * Reads the sidebar from docs/README.md, which lists all pages by task: its headings are groups, and its links are pages. The texts of links are
 * fragments of sentences, so the titles of the pages are used.
 */
function readSidebar() {
  const groups = [];
  for (const line of readFileSync(join(docs, "README.md"), "utf8").split("\n")) {
    const heading = /^## (.*)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push({ text: heading, items: [] }); // groups that collapse are nested buttons, which screen readers cannot use
    const links = [...line.matchAll(/\]\(([\w/-]+)\.md(?:#[\w-]+)?\)/g)].map(([, path]) => path);
    for (const path of links) {
      const isKnown = groups.some(({ items }) => items.some(({ link }) => link === `/${path}`));
      if (groups.length > 0 && !isKnown) groups.at(-1).items.push({ text: readTitle(path), link: `/${path}` });
    }
  }
  return groups;
}

function readTitle(path) {
  return /^# (.*)$/m.exec(readFileSync(join(docs, `${path}.md`), "utf8"))?.[1].replaceAll("`", "") ?? path;
}

/** Makes links that leave docs/, or lead to a folder, point to the repository. The build fails if their file does not exist. */
function linkToRepository(md) {
  md.core.ruler.push("links-to-repository", ({ tokens, env }) => {
    const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open");
    for (const link of links) {
      const href = link.attrGet("href") ?? "";
      if (/^([a-z]+:|#|\/)/.test(href)) continue;
      const [path, fragment] = href.split("#");
      const file = join(dirname(join(docs, relative(docs, env.realPath ?? env.path))), decodeURI(path));
      const inRepository = relative(root, file).replaceAll("\\", "/");
      if (!existsSync(file)) throw new Error(`${env.path}: ${href} does not exist`);
      const isFolder = statSync(file).isDirectory();
      if (!isFolder && !relative(docs, file).startsWith("..")) continue;
      const target = posix.join(isFolder ? "tree" : "blob", "main", inRepository);
      link.attrSet("href", `${REPOSITORY}/${target}${fragment === undefined ? "" : `#${fragment}`}`);
    }
  });
}

/** Keeps braces, such as those of a Go template: Vue would evaluate them. */
function keepBraces(md) {
  const escape = (text) => md.utils.escapeHtml(text).replaceAll("{{", "&#123;&#123;");
  md.renderer.rules.text = (tokens, i) => escape(tokens[i].content);
  md.renderer.rules.code_inline = (tokens, i) => `<code>${escape(tokens[i].content)}</code>`;
}

/** Pages are outside of the package, where Vue cannot be found. While it renders pages, Node.js finds Vue from the folder of the package. */
const findVue = {
  name: "find-vue",
  enforce: "pre",
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : undefined),
};

export default {
  title: "olmv1",
  description: "Operator Lifecycle Manager v1: install and upgrade Kubernetes operators from catalogs",
  lang: "en",
  // A site on a subpath, such as that of GitHub Pages.
  base: process.env.OLMV1_SITE_BASE ?? "/",
  srcDir: docs,
  outDir: join(root, "dist-site"),
  cacheDir: join(import.meta.dirname, "cache"),
  rewrites: { "README.md": "index.md" },
  cleanUrls: false,
  vite: { plugins: [findVue] },
  markdown: {
    html: false,
    linkify: false,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      linkToRepository(md);
      keepBraces(md);
    },
  },
  themeConfig: {
    // Where versions.json is. Undefined for a site of one version.
    versionsRoot: process.env.OLMV1_SITE_ROOT,
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Why olmv1", link: "/why-olmv1" },
      { text: "Tutorial", link: "/tutorial" },
      { text: "Architecture", link: "/architecture" },
      {
        text: version,
        items: [
          { text: "Changes", link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
          { text: "Releases", link: `${REPOSITORY}/releases` },
        ],
      },
    ],
    sidebar: readSidebar(),
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: "Edit this page" },
    docFooter: { prev: false, next: false },
  },
};
