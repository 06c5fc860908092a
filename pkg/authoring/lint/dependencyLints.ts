import { quoteExcerpt } from "../../fbc/boundedTexts.ts";
import { findMember, getListMember, getObjectMember, getTextMember, isObject } from "../../golang/members.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { LintedBundle, LintedCatalog } from "./lintedCatalog.ts";
import { defineInfoLint, defineWarningLint, type LintBreach, LintSource, type LintTable } from "./lintRule.ts";

/** Lints for dependencies that restrict installations more or less than intended. */
export const DEPENDENCY_LINTS: LintTable = {
  "constraint-not": defineWarningLint(
    "A `not` constraint should be inside `all` or `any`, next to the constraints that it narrows.",
    LintSource.dependencies,
    perBundle(topLevelNot),
  ),
  "required-api-undeclared": defineWarningLint(
    "If the bundle does not require a package, the APIs that the ClusterServiceVersion requires should also be olm.gvk.required properties.",
    LintSource.dependencies,
    perBundle(undeclared),
  ),
  "required-api-without-package": defineInfoLint(
    "If a package in the catalog provides a required API, the bundle should also require a minimum version of this package. The API version is not sufficient.",
    LintSource.dependencies,
    withoutPackage,
  ),
  "mixed-dependencies": defineInfoLint(
    "A bundle should combine required packages and APIs in one constraint. Otherwise, different packages can satisfy them.",
    LintSource.dependencies,
    perBundle(mixed),
  ),
  "narrow-version-window": defineInfoLint(
    "The version range of a required package should include the next major version. Narrow ranges block upgrades that other bundles require.",
    LintSource.dependencies,
    perBundle(narrow),
  ),
};

const MAX_DEPTH = 64;
const COMPARISON = /^(<=?|>=?|==?)?v?(\d+)\.(\d+)\.(?:\d+|x)/;

/** A package or API in the constraints of a bundle, at any depth. */
interface Requirement {
  readonly path: YamlPath;
  /** Type of the property that contains it. */
  readonly property: string;
  readonly api?: string;
  readonly package?: { readonly name: string; readonly range: string };
}

function perBundle(find: (bundle: LintedBundle) => LintBreach[]): (catalog: LintedCatalog) => LintBreach[] {
  return ({ packages }) => [...packages.values()].flatMap(({ bundles }) => [...bundles.values()].flatMap(find));
}

function listRequirements({ properties }: LintedBundle): Requirement[] {
  return properties.flatMap(({ index, type, value }) => {
    const path = ["properties", index, "value"];
    if (!isObject(value)) return [];
    if (type === "olm.gvk.required") return [{ path, property: type, api: apiText(value) }];
    if (type === "olm.package.required") return [{ path, property: type, package: readPackage(value) }];
    return type === "olm.constraint" ? within(value, path, 0) : [];
  });
}

function within(constraint: Record<string, unknown>, path: YamlPath, depth: number): Requirement[] {
  if (depth > MAX_DEPTH) return [];
  const found: Requirement[] = [];
  const gvk = getObjectMember(constraint, "gvk");
  const needed = getObjectMember(constraint, "package");
  if (gvk) found.push({ path: [...path, "gvk"], property: "olm.constraint", api: apiText(gvk) });
  if (needed) found.push({ path: [...path, "package"], property: "olm.constraint", package: readPackage(needed) });
  for (const compound of ["all", "any"]) {
    const inner = getObjectMember(constraint, compound);
    for (const [i, one] of (inner ? getListMember(inner, "constraints") : []).entries())
      if (isObject(one)) found.push(...within(one, [...path, compound, "constraints", i], depth + 1));
  }
  return found;
}

function apiText(value: Record<string, unknown>): string {
  return ["group", "version", "kind"].map((member) => getTextMember(value, member)).join("/");
}

function readPackage(value: Record<string, unknown>): { name: string; range: string } {
  return { name: getTextMember(value, "packageName"), range: getTextMember(value, "versionRange") };
}

function topLevelNot(bundle: LintedBundle): LintBreach[] {
  return bundle.properties.flatMap(({ index, type, value }) => {
    if (type !== "olm.constraint" || !isObject(value) || findMember(value, "not") === undefined) return [];
    const message = "a not constraint has no effect on its own: move it into all, next to the constraint that it narrows";
    return [{ subject: bundle, path: ["properties", index, "value", "not"], message }];
  });
}

function undeclared(bundle: LintedBundle): LintBreach[] {
  const requirements = listRequirements(bundle);
  if (requirements.some((one) => one.package)) return [];
  const declared = new Set(requirements.map(({ api }) => api));
  return bundle.requiredApis
    .filter((api) => !declared.has(api))
    .map((api) => ({
      subject: bundle,
      path: ["properties"],
      message: `the ClusterServiceVersion requires API ${api}, but the bundle has no olm.gvk.required property for it`,
    }));
}

function withoutPackage({ packages }: LintedCatalog): LintBreach[] {
  const providers = new Map<string, string>();
  for (const { name, bundles } of packages.values())
    for (const { providedApis } of bundles.values()) for (const api of providedApis) if (!providers.has(api)) providers.set(api, name);
  return [...packages.values()].flatMap(({ bundles }) =>
    [...bundles.values()].flatMap((bundle) => {
      const requirements = listRequirements(bundle);
      if (requirements.some((one) => one.package)) return [];
      return requirements.flatMap(({ api = "", path }) => {
        const provider = providers.get(api);
        if (provider === undefined || provider === bundle.package) return [];
        return [
          {
            subject: bundle,
            path,
            message: `required API ${api} is provided by package ${quoteExcerpt(provider)}: also require a minimum version of this package`,
          },
        ];
      });
    }),
  );
}

function mixed(bundle: LintedBundle): LintBreach[] {
  const requirements = listRequirements(bundle).filter(({ property }) => property !== "olm.constraint");
  const needed = requirements.find((one) => one.package);
  const api = requirements.find((one) => one.api !== undefined);
  if (!needed || !api) return [];
  const message = `package ${quoteExcerpt(needed.package?.name ?? "")} and API ${api.api} are separate requirements, so another package can provide the API: combine them in one constraint`;
  return [{ subject: bundle, path: api.path, message }];
}

function narrow(bundle: LintedBundle): LintBreach[] {
  return listRequirements(bundle).flatMap(({ path, package: needed }) => {
    if (!needed || !isNarrow(needed.range)) return [];
    const message = `version range ${quoteExcerpt(needed.range)} of package ${quoteExcerpt(needed.name)} is narrow: bundles that require a newer version cannot be installed on the same cluster; include the next major version`;
    return [{ subject: bundle, path: [...path, "versionRange"], message }];
  });
}

/** Reports whether every alternative excludes the next major version. */
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
