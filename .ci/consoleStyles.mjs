// A plugin of Vite that removes styles of PatternFly which the web console does not use.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Rules of PatternFly's base that the console does not use: other themes, and fonts of icons. They are more than half of it. */
const UNUSED_RULE = /\.pf-v6-theme-(felt|glass|redhat|high-contrast)|\.(fas?|fa-[\w-]+|pf-v6-pficon[\w-]*|pf-v6-icon-[\w-]+)\b/;
const ICON_FONT = /@font-face\s*\{[^{}]*(?:webfonts|pficon)[^{}]*\}/g;
const RULE = /([^{}]+)\{[^{}]*\}/g;
/** In rules for documents in such a language, as an alternative to the attribute of the document. */
const RIGHT_TO_LEFT = ".pf-v6-m-dir-rtl";
/** Styles that the sources import themselves, because they use the classes without the React component. */
const COMPONENT_STYLE = /@patternfly\/patternfly\/components\/\w+\/[\w-]+\.css$/;

/**
 * Removes unused rules from PatternFly's base, and from the styles of components that the sources import: those with a class that is not in the
 * sources. So the sources must contain each class as a whole.
 */
export const withoutUnusedRules = {
  name: "without-unused-rules",
  enforce: "pre",
  transform(code, id) {
    if (id.endsWith("/patternfly-base.css"))
      return code.replace(ICON_FONT, "").replace(RULE, (rule, list) => (UNUSED_RULE.test(list) ? "" : rule));
    if (!COMPONENT_STYLE.test(id)) return undefined;
    const used = readClasses();
    return code.replace(RULE, (rule, list) => {
      const kept = splitSelectors(list).filter((selector) => isUsed(selector, used));
      return kept.length === 0 ? "" : rule.replace(list, () => kept.join(","));
    });
  },
};

/** Splits a list at the commas that are not in parentheses. */
function splitSelectors(list) {
  const selectors = [""];
  let depth = 0;
  for (const char of list) {
    if (char === "(") depth++;
    else if (char === ")") depth--;
    if (char === "," && depth === 0) selectors.push("");
    else selectors.push(selectors.pop() + char);
  }
  return selectors;
}

/** Whether all classes of a selector are in use; of alternatives, those of one. */
function isUsed(selector, used) {
  const simple = selector.replace(/:(is|where|has|not)\(([^()]*)\)/g, (_, name, list) =>
    name === "not" || list.split(",").some((alternative) => isUsed(alternative, used)) ? "" : ".pf-none",
  );
  if (simple !== selector) return isUsed(simple, used);
  return (selector.match(/\.pf-[\w-]+/g) ?? []).every((name) => name === RIGHT_TO_LEFT || used.has(name.slice(1)));
}

/** Returns all classes of PatternFly in the sources. */
function readClasses() {
  const files = globSync("console/**/*.{ts,tsx,css,html}", { cwd: root });
  return new Set(files.flatMap((file) => readFileSync(join(root, file), "utf8").match(/\bpf-[\w-]+/g) ?? []));
}
