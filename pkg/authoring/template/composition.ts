import type { JsonObject } from "../../api/k8s.ts";
import { getPackageName } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { members } from "../../fbc/validate/shape.ts";
import { getListMember, getObjectMembers, getTextMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { isPathElement } from "../render/catalogText.ts";
import { parseStrictYaml } from "./strictYaml.ts";

/** A reference with the selected objects of its catalog. */
export interface ComposedPart {
  readonly reference: CatalogReference;
  readonly metas: readonly Meta[];
}

/**
 * Selects the objects of a reference: only the objects of `packages`, or all objects if `packages` is not set. Objects without a package are selected
 * only if `packages` is not set.
 * @throws Error if the catalog does not contain a package.
 */
export function selectMetas({ name, packages }: CatalogReference, metas: readonly Meta[]): Meta[] {
  if (packages === undefined) return [...metas];
  const existing = new Set(metas.map(getPackageName));
  const missing = packages.filter((name) => !existing.has(name));
  if (missing.length > 0) {
    const names = [...existing].filter((one) => one !== "").sort(compareText);
    throw new Error(
      `reference ${goQuote(name)} does not contain package ${missing.map(goQuote).join(", ")}; available: ${names.length > 10 ? `${names.length} packages` : names.join(", ") || "none"}`,
    );
  }
  return metas.filter((meta) => packages.includes(getPackageName(meta)));
}

/** Returns an error for each package that more than one reference contains, sorted by package. */
export function findSharedPackages(parts: readonly ComposedPart[]): string[] {
  const owners = new Map<string, CatalogReference[]>();
  for (const { reference, metas } of parts) {
    for (const name of new Set(metas.map(getPackageName))) {
      if (name !== "") owners.set(name, [...(owners.get(name) ?? []), reference]);
    }
  }
  return [...owners]
    .filter(([, references]) => references.length > 1)
    .sort(([a], [b]) => compareText(a, b))
    .map(
      ([name, references]) =>
        `package ${goQuote(name)} is in references ${references.map(formatReference).join(" and ")}: a catalog can contain a package only once`,
    );
}

function formatReference({ name, source }: CatalogReference): string {
  return `${goQuote(name)} (${"image" in source ? source.image : source.path})`;
}

/** A catalog that is included in the composed catalog. */
export interface CatalogReference {
  /** Name of its folder. */
  readonly name: string;
  /** An image, or a folder. */
  readonly source: { readonly image: string } | { readonly path: string };
  /** Packages to include; undefined for all. */
  readonly packages: readonly string[] | undefined;
}

/** The configuration of a composed catalog. */
export interface CompositeConfig {
  /** Name of the folder of the catalog. */
  readonly name: string;
  /** Repository of its image; may be empty. */
  readonly repo: string;
  readonly tag: string;
  readonly references: readonly CatalogReference[];
}

const TEXTS = { list: "text" } as const;
const SHAPE = members({
  name: "text",
  repo: "text",
  tag: "text",
  references: { list: members({ name: "text", image: "text", path: "text", packages: TEXTS }) },
});

/**
 * Reads the configuration of a composed catalog.
 * @throws Error with the field for unknown or missing fields, invalid folder names, and duplicate reference names.
 * @see S3-38
 */
export function readCompositeConfig(text: string): CompositeConfig {
  const document = parseStrictYaml(text, SHAPE);
  const references = getObjectMembers(document, "references").map(referenceFrom);
  if (references.length === 0) throw new Error("references: must contain at least one catalog");
  const names = new Map<string, number>();
  for (const [i, { name }] of references.entries()) {
    const other = names.get(name.toLowerCase());
    if (other !== undefined) throw new Error(`references[${i}].name: duplicate name ${goQuote(name)}: also used by references[${other}]`);
    names.set(name.toLowerCase(), i);
  }
  return { name: folderName(document, "name"), repo: getTextMember(document, "repo"), tag: getTextMember(document, "tag"), references };
}

function referenceFrom(reference: JsonObject, i: number): CatalogReference {
  const at = `references[${i}].`;
  const [image, path] = [getTextMember(reference, "image"), getTextMember(reference, "path")];
  if ((image === "") === (path === "")) throw new Error(`${at}image: set either image or path`);
  const packages = getListMember(reference, "packages").filter((name): name is string => typeof name === "string");
  return {
    name: folderName(reference, "name", at),
    source: image === "" ? { path } : { image },
    packages: packages.length === 0 ? undefined : packages,
  };
}

function folderName(object: JsonObject, key: string, at = ""): string {
  const name = getTextMember(object, key);
  if (name === "") throw new Error(`${at}${key}: must be set`);
  if (!isPathElement(name) || name.startsWith(".") || name.startsWith("-"))
    throw new Error(`${at}${key}: invalid folder name ${goQuote(name)}: must be a single path element that does not begin with "." or "-"`);
  return name;
}
