import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { PolicyRule } from "../../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";

/** The verbs that an object of a bundle takes, as `olmv1 rbac` grants them; told as "manage". */
const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];
const READING = ["get", "list", "watch"];
const NAMES_SHOWN = 5;
const RULES_SHOWN = 30;
const EVERY_NAME = "every name";

/**
 * Rules for people, grouped by where they hold, a line for each: verbs, resources, names. Resources are never cut: somebody has to agree to them.
 * @param more the command that prints all of it, for what is left out of long lists.
 */
export function grantsText(screen: Pick<Terminal, "width">, { clusterRules, namespaceRules }: RequiredRules, more: string): string {
  const places = [
    ["in the whole cluster:", clusterRules] as const,
    ...[...namespaceRules].map(([name, rules]) => [`in namespace ${name}:`, rules] as const),
  ];
  const groups = places.filter(([, rules]) => rules.length > 0);
  if (groups.length === 0) return "  nothing\n";
  const count = groups.reduce((sum, [, rules]) => sum + rules.length, 0);
  let room = count > RULES_SHOWN + 1 ? RULES_SHOWN : count;
  const lines = groups.flatMap(([place, rules]) => {
    const shown = rules.toSorted((a, b) => breadth(b) - breadth(a)).slice(0, Math.max(room, 0));
    room -= shown.length;
    return shown.length === 0 ? [] : [`  ${place}`, ...shown.flatMap((rule) => ruleLines(screen, rule))];
  });
  const left = count > RULES_SHOWN + 1 ? [`  … and ${count - RULES_SHOWN} more: ${more}`] : [];
  return `${[...lines, ...left].join("\n")}\n`;
}

/** The broadest come first, so that none of them is among those that are left out. */
function breadth({ verbs, resources = [], resourceNames = [] }: PolicyRule): number {
  if (verbs.includes("*") || resources.includes("*")) return 2;
  return resourceNames.length === 0 && verbs.some((verb) => !READING.includes(verb)) ? 1 : 0;
}

function ruleLines(screen: Pick<Terminal, "width">, rule: PolicyRule): string[] {
  const text = `${verbsText(rule)} ${whatText(rule)}`;
  return wrapped(escapeControlCharacters(text), screen.width, "        ").map((line, i) => (i === 0 ? line.replace(/^ {8}/, "    ") : line));
}

function verbsText({ verbs }: PolicyRule): string {
  if (verbs.includes("*")) return "do everything with";
  const isManaging = MANAGE.every((verb) => verbs.includes(verb));
  return (isManaging ? ["manage", ...verbs.filter((verb) => !MANAGE.includes(verb))] : verbs).join(", ");
}

function whatText({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  if (nonResourceURLs.length > 0) return nonResourceURLs.join(", ");
  const what = apiGroups.flatMap((group) => resources.map((resource) => (group === "" ? resource : `${resource}.${group}`))).join(", ");
  const more = resourceNames.length - NAMES_SHOWN;
  const names = [...resourceNames.slice(0, NAMES_SHOWN), ...(more > 0 ? [`… and ${more} more`] : [])].join(", ");
  return `${what}: ${names === "" ? EVERY_NAME : names}`;
}
