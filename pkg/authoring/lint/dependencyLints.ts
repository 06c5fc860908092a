import { quoteExcerpt } from "../../fbc/boundedTexts.ts";
import { isObject, listMember, memberOf, objectMember, textMember } from "../../golang/members.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { LintedBundle, LintedCatalog } from "./lintedCatalog.ts";
import { defineInfoLint, defineWarningLint, type LintBreach, LintSource, type LintTable } from "./lintRule.ts";

/** What makes dependencies hold less, or more, than their author means. */
export const DEPENDENCY_LINTS: LintTable = {
  "constraint-not": defineWarningLint(
    "A constraint not stands inside all or any, which choose what it takes from.",
    LintSource.dependencies,
    perBundle(topLevelNot),
  ),
  "required-api-undeclared": defineWarningLint(
    "An API that the ClusterServiceVersion requires is a dependency too, unless a package is.",
    LintSource.dependencies,
    perBundle(undeclared),
  ),
  "required-api-without-package": defineInfoLint(
    "Beside an API whose provider is in the catalog its package is required too, with the least version that will do: the API's version does not tell.",
    LintSource.dependencies,
    withoutPackage,
  ),
  "mixed-dependencies": defineInfoLint(
    "Packages and APIs are not both required: each may be answered by another Operator. One constraint can ask for both.",
    LintSource.dependencies,
    perBundle(mixed),
  ),
  "narrow-version-window": defineInfoLint(
    "The versions of a package that is required reach to the next major version at least: others could not update it otherwise.",
    LintSource.dependencies,
    perBundle(narrow),
  ),
};

const MAX_DEPTH = 64;
const COMPARISON = /^(<=?|>=?|==?)?v?(\d+)\.(\d+)\.(?:\d+|x)/;

/** A package or API that a bundle requires, anywhere in its constraints. */
interface Requirement {
  readonly path: YamlPath;
  /** Type of the property it is from. */
  readonly property: string;
  readonly api?: string;
  readonly package?: { readonly name: string; readonly range: string };
}

function perBundle(find: (bundle: LintedBundle) => LintBreach[]): (catalog: LintedCatalog) => LintBreach[] {
  return ({ packages }) => [...packages.values()].flatMap(({ bundles }) => [...bundles.values()].flatMap(find));
}

function requirementsOf({ properties }: LintedBundle): Requirement[] {
  return properties.flatMap(({ index, type, value }) => {
    const path = ["properties", index, "value"];
    if (!isObject(value)) return [];
    if (type === "olm.gvk.required") return [{ path, property: type, api: apiText(value) }];
    if (type === "olm.package.required") return [{ path, property: type, package: packageOf(value) }];
    return type === "olm.constraint" ? within(value, path, 0) : [];
  });
}

function within(constraint: Record<string, unknown>, path: YamlPath, depth: number): Requirement[] {
  if (depth > MAX_DEPTH) return [];
  const found: Requirement[] = [];
  const gvk = objectMember(constraint, "gvk");
  const needed = objectMember(constraint, "package");
  if (gvk) found.push({ path: [...path, "gvk"], property: "olm.constraint", api: apiText(gvk) });
  if (needed) found.push({ path: [...path, "package"], property: "olm.constraint", package: packageOf(needed) });
  for (const compound of ["all", "any"]) {
    const inner = objectMember(constraint, compound);
    for (const [i, one] of (inner ? listMember(inner, "constraints") : []).entries())
      if (isObject(one)) found.push(...within(one, [...path, compound, "constraints", i], depth + 1));
  }
  return found;
}

function apiText(value: Record<string, unknown>): string {
  return ["group", "version", "kind"].map((member) => textMember(value, member)).join("/");
}

function packageOf(value: Record<string, unknown>): { name: string; range: string } {
  return { name: textMember(value, "packageName"), range: textMember(value, "versionRange") };
}

function topLevelNot(bundle: LintedBundle): LintBreach[] {
  return bundle.properties.flatMap(({ index, type, value }) => {
    if (type !== "olm.constraint" || !isObject(value) || memberOf(value, "not") === undefined) return [];
    const message = "a constraint not by itself chooses nothing: put it inside all, beside what it takes from";
    return [{ subject: bundle, path: ["properties", index, "value", "not"], message }];
  });
}

function undeclared(bundle: LintedBundle): LintBreach[] {
  const requirements = requirementsOf(bundle);
  if (requirements.some((one) => one.package)) return [];
  const declared = new Set(requirements.map(({ api }) => api));
  return bundle.requiredApis
    .filter((api) => !declared.has(api))
    .map((api) => ({
      subject: bundle,
      path: ["properties"],
      message: `the ClusterServiceVersion requires ${api}, and no property olm.gvk.required does`,
    }));
}

function withoutPackage({ packages }: LintedCatalog): LintBreach[] {
  const providers = new Map<string, string>();
  for (const { name, bundles } of packages.values())
    for (const { providedApis } of bundles.values()) for (const api of providedApis) if (!providers.has(api)) providers.set(api, name);
  return [...packages.values()].flatMap(({ bundles }) =>
    [...bundles.values()].flatMap((bundle) => {
      const requirements = requirementsOf(bundle);
      if (requirements.some((one) => one.package)) return [];
      return requirements.flatMap(({ api = "", path }) => {
        const provider = providers.get(api);
        if (provider === undefined || provider === bundle.package) return [];
        return [
          {
            subject: bundle,
            path,
            message: `${api} is required, and no least version of package ${quoteExcerpt(provider)}, which provides it`,
          },
        ];
      });
    }),
  );
}

function mixed(bundle: LintedBundle): LintBreach[] {
  const requirements = requirementsOf(bundle).filter(({ property }) => property !== "olm.constraint");
  const needed = requirements.find((one) => one.package);
  const api = requirements.find((one) => one.api !== undefined);
  if (!needed || !api) return [];
  const message = `package ${quoteExcerpt(needed.package?.name ?? "")} and API ${api.api} are required each for itself: another Operator than the package may be chosen for the API`;
  return [{ subject: bundle, path: api.path, message }];
}

function narrow(bundle: LintedBundle): LintBreach[] {
  return requirementsOf(bundle).flatMap(({ path, package: needed }) => {
    if (!needed || !isNarrow(needed.range)) return [];
    const message = `versions ${quoteExcerpt(needed.range)} of package ${quoteExcerpt(needed.name)} leave little room: nothing that needs a newer one can be installed beside it`;
    return [{ subject: bundle, path: [...path, "versionRange"], message }];
  });
}

/** Whether every alternative has a maximum below the next major version. */
function isNarrow(range: string): boolean {
  if (range.length > 1_024) return false;
  return range.split("||").every((group) => {
    const comparisons = group
      .replaceAll(/([<>=])\s+/g, "$1")
      .trim()
      .split(/\s+/)
      .map((token) => COMPARISON.exec(token));
    const exact = comparisons.some((found) => found && (found[1] ?? "=").startsWith("="));
    const upper = comparisons.find((found) => found?.[1]?.startsWith("<"));
    const lower = comparisons.find((found) => found?.[1]?.startsWith(">"));
    return exact || (upper !== undefined && lower !== undefined && Number(upper?.[2]) - Number(lower?.[2]) < 1);
  });
}
