import type { JsonObject } from "../../api/k8s.ts";
import { packageOf } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { members } from "../../fbc/validate/shape.ts";
import { listMember, objectMembers, textMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { isPathElement } from "../render/catalogText.ts";
import { strictYaml } from "./strictYaml.ts";

/** A reference with the objects of its catalog. */
export interface ComposedPart {
  readonly reference: CatalogReference;
  readonly metas: readonly Meta[];
}

/**
 * The objects that a reference takes: those of its packages, or all. What belongs to no package goes with all packages only.
 * @throws Error for a package that the catalog does not have.
 */
export function chosenMetas({ name, packages }: CatalogReference, metas: readonly Meta[]): Meta[] {
  if (packages === undefined) return [...metas];
  const there = new Set(metas.map(packageOf));
  const missing = packages.filter((wanted) => !there.has(wanted));
  if (missing.length > 0) {
    const has = [...there].filter((one) => one !== "").sort(compareText);
    throw new Error(
      `reference ${goQuote(name)} has no package ${missing.map(goQuote).join(", ")}; it has ${has.length > 10 ? `${has.length} others` : has.join(", ") || "none"}`,
    );
  }
  return metas.filter((meta) => packages.includes(packageOf(meta)));
}

/** A sentence for each package that several references have, by package. */
export function sharedPackages(parts: readonly ComposedPart[]): string[] {
  const owners = new Map<string, CatalogReference[]>();
  for (const { reference, metas } of parts) {
    for (const name of new Set(metas.map(packageOf))) {
      if (name !== "") owners.set(name, [...(owners.get(name) ?? []), reference]);
    }
  }
  return [...owners]
    .filter(([, references]) => references.length > 1)
    .sort(([a], [b]) => compareText(a, b))
    .map(
      ([name, references]) => `package ${goQuote(name)} is in references ${references.map(sourceOf).join(" and ")}: a catalog has it once`,
    );
}

function sourceOf({ name, source }: CatalogReference): string {
  return `${goQuote(name)} (${"image" in source ? source.image : source.path})`;
}

/** One catalog that goes into another. */
export interface CatalogReference {
  /** Of the folder that it gets. */
  readonly name: string;
  /** An image, or a folder. */
  readonly source: { readonly image: string } | { readonly path: string };
  /** Those packages alone; undefined: all. */
  readonly packages: readonly string[] | undefined;
}

/** What a catalog is composed of. */
export interface CompositeConfig {
  /** Of the folder with the catalog. */
  readonly name: string;
  /** Where its image is to be, empty where that is not said. */
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
 * Reads the file that says what a catalog is composed of.
 * @throws Error that names the member: one that is unknown or missing, a name that can be no folder, two references of one name.
 * @see S3-38
 */
export function readCompositeConfig(text: string): CompositeConfig {
  const document = strictYaml(text, SHAPE);
  const references = objectMembers(document, "references").map(referenceFrom);
  if (references.length === 0) throw new Error("references: must name at least one catalog");
  const names = new Map<string, number>();
  for (const [i, { name }] of references.entries()) {
    const other = names.get(name.toLowerCase());
    if (other !== undefined) throw new Error(`references[${i}].name: ${goQuote(name)} is the name of references[${other}], too`);
    names.set(name.toLowerCase(), i);
  }
  return { name: folderName(document, "name"), repo: textMember(document, "repo"), tag: textMember(document, "tag"), references };
}

function referenceFrom(reference: JsonObject, i: number): CatalogReference {
  const at = `references[${i}].`;
  const [image, path] = [textMember(reference, "image"), textMember(reference, "path")];
  if ((image === "") === (path === "")) throw new Error(`${at}image: a reference has either an image or a path`);
  const packages = listMember(reference, "packages").filter((name): name is string => typeof name === "string");
  return {
    name: folderName(reference, "name", at),
    source: image === "" ? { path } : { image },
    packages: packages.length === 0 ? undefined : packages,
  };
}

function folderName(object: JsonObject, key: string, at = ""): string {
  const name = textMember(object, key);
  if (name === "") throw new Error(`${at}${key}: must be set`);
  if (!isPathElement(name) || name.startsWith(".") || name.startsWith("-"))
    throw new Error(
      `${at}${key}: ${goQuote(name)} can be no folder: it must be a single local path element that begins with neither "." nor "-"`,
    );
  return name;
}
