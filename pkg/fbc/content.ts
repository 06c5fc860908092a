import type { JsonObject } from "../api/k8s.ts";
import { findMember, foldCase } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { formatList } from "../text/lists.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { addLifecycle, LIFECYCLE_SCHEMA } from "./lifecycleDocument.ts";
import type {
  ChannelEntry,
  DeprecationEntry,
  FbcBundle,
  FbcChannel,
  FbcDeprecations,
  FbcPackage,
  Meta,
  PackageContent,
  Property,
} from "./types.ts";
import { describeKind, formatKind, formatWrongKind, quoteHint } from "./wrongKind.ts";

const MAX_LISTED = 10;

/**
 * Converts a decoded document to a meta. The keys `schema`, `package` and `name` are case-insensitive.
 * @throws Error if the document is not an object, if two keys differ only in case, or if one of the three values is not a string.
 * @see operator-registry v1.73.0 alpha/declcfg/declcfg.go, Meta.UnmarshalJSON
 */
export function toMeta(value: unknown): Meta {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`expected an object, got ${describeKind(value)}`);
  const blob = value as JsonObject;
  const names = namesByFold(blob);
  return { schema: text(blob, names.get("schema")), package: text(blob, names.get("package")), name: text(blob, names.get("name")), blob };
}

function namesByFold(blob: JsonObject): Map<string, string> {
  const names = new Map<string, string>();
  const duplicates = new Map<string, string[]>();
  for (const key of Object.keys(blob)) {
    const folded = foldCase(key);
    const other = names.get(folded);
    const known = duplicates.get(folded);
    if (other === undefined) names.set(folded, key);
    else if (known) known.push(key);
    else duplicates.set(folded, [other, key]);
  }
  if (duplicates.size === 0) return names;
  const texts = [...duplicates].map(duplicateText).sort();
  throw new Error(texts.length === 1 ? texts[0] : `[${formatList(texts, { max: MAX_LISTED })}]`);
}

function duplicateText([folded, keys]: [string, string[]]): string {
  const written = keys.sort().map((key) => truncateExcerpt(key));
  return `duplicate keys for key ${goQuote(truncateExcerpt(folded))}: [${formatList(written, { max: MAX_LISTED, separator: " " })}]`;
}

function text(blob: JsonObject, key: string | undefined): string {
  if (key === undefined) return "";
  const value = blob[key];
  if (typeof value === "string") return value;
  throw new Error(`expected value for key ${goQuote(key)} to be a string, got ${formatKind(value)}${quoteHint(value)}`);
}

/** The schemas that OLM defines. Objects of other schemas are kept and served, but OLM does not use them. */
export const Schema = { package: "olm.package", channel: "olm.channel", bundle: "olm.bundle", deprecations: "olm.deprecations" } as const;

/**
 * Groups objects by package, in the order of the catalog. Key "" contains objects without a package.
 * @throws Error such as `parse bundle: …` if a known field has the wrong type; `object '…' is missing root schema field`.
 */
export function groupByPackage(metas: Iterable<Meta>): Map<string, PackageContent> {
  const contents = new Map<string, PackageContent>();
  for (const meta of metas) {
    const name = getPackageName(meta);
    let content = contents.get(name);
    if (!content) contents.set(name, (content = emptyContent()));
    addMeta(content, meta);
  }
  return contents;
}

/** Reads the objects of one package. Does not check objects of other packages. @throws Error like `groupByPackage`. */
export function selectPackage(metas: Iterable<Meta>, name: string): PackageContent {
  const content = emptyContent();
  for (const meta of metas) if (getPackageName(meta) === name) addMeta(content, meta);
  return content;
}

/** Returns the package of a meta; empty if the meta has no package. */
export function getPackageName(meta: Meta): string {
  return meta.schema === Schema.package ? meta.name : meta.package;
}

function emptyContent(): PackageContent {
  return { channels: [], bundles: [], deprecations: [], others: 0 };
}

function addMeta(content: PackageContent, meta: Meta): void {
  switch (meta.schema) {
    case Schema.package:
      content.package = parsed("package", meta, packageFrom);
      break;
    case Schema.channel:
      content.channels.push(parsed("channel", meta, channelFrom));
      break;
    case Schema.bundle:
      content.bundles.push(parsed("bundle", meta, bundleFrom));
      break;
    case Schema.deprecations:
      content.deprecations.push(parsed("deprecation", meta, deprecationsFrom));
      break;
    case LIFECYCLE_SCHEMA:
      content.others++;
      content.lifecycle = addLifecycle(content.lifecycle, meta.blob);
      break;
    case "":
      throw new Error(`object '${meta.name}' is missing root schema field`);
    default:
      content.others++;
  }
}

function parsed<T>(kind: string, meta: Meta, read: (meta: Meta) => T): T {
  try {
    return read(meta);
  } catch (err) {
    const name = meta.name || meta.package;
    throw new Error(`parse ${kind}: ${goQuote(name)}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
  }
}

function packageFrom({ name, blob }: Meta): FbcPackage {
  const out: FbcPackage = { name };
  const defaultChannel = string(blob, "defaultChannel");
  const description = string(blob, "description");
  const icon = findMember(blob, "icon");
  if (defaultChannel !== undefined) out.defaultChannel = defaultChannel;
  if (description !== undefined) out.description = description;
  if (icon !== undefined && icon !== null) out.icon = object(icon, "icon");
  if (hasMember(blob, "properties")) out.properties = readProperties(blob);
  return out;
}

function channelFrom({ name, package: packageName, blob }: Meta): FbcChannel {
  return {
    name,
    package: packageName,
    entries: list(blob, "entries").map((entry, i) => entryFrom(object(entry, `entries[${i}]`), `entries[${i}].`)),
  };
}

function entryFrom(entry: JsonObject, at: string): ChannelEntry {
  const out: ChannelEntry = { name: string(entry, "name", at) ?? "" };
  const replaces = string(entry, "replaces", at);
  const skipRange = string(entry, "skipRange", at);
  if (replaces !== undefined) out.replaces = replaces;
  if (hasMember(entry, "skips")) out.skips = list(entry, "skips", at).map((skip, i) => readText(skip, `${at}skips[${i}]`) ?? "");
  if (skipRange !== undefined) out.skipRange = skipRange;
  return out;
}

function bundleFrom({ name, package: packageName, blob }: Meta): FbcBundle {
  const out: FbcBundle = { name, package: packageName, image: string(blob, "image") ?? "", properties: readProperties(blob) };
  if (!hasMember(blob, "relatedImages")) return out;
  out.relatedImages = list(blob, "relatedImages").map((related, i) => {
    const at = `relatedImages[${i}]`;
    const image = string(object(related, at), "image", `${at}.`) ?? "";
    const imageName = string(object(related, at), "name", `${at}.`);
    return imageName === undefined ? { image } : { name: imageName, image };
  });
  return out;
}

function deprecationsFrom({ package: packageName, blob }: Meta): FbcDeprecations {
  return {
    package: packageName,
    entries: list(blob, "entries").map((entry, i) => deprecationFrom(object(entry, `entries[${i}]`), `entries[${i}].`)),
  };
}

function deprecationFrom(entry: JsonObject, at: string): DeprecationEntry {
  const reference = object(findMember(entry, "reference") ?? {}, `${at}reference`);
  const name = string(reference, "name", `${at}reference.`);
  const schema = string(reference, "schema", `${at}reference.`) ?? "";
  return { reference: name === undefined ? { schema } : { schema, name }, message: string(entry, "message", at) ?? "" };
}

function readProperties(blob: JsonObject): Property[] {
  return list(blob, "properties").map((property, i) => {
    const at = `properties[${i}]`;
    const members = object(property, at);
    return { type: string(members, "type", `${at}.`) ?? "", value: findMember(members, "value") };
  });
}

function hasMember(members: JsonObject, key: string): boolean {
  const value = findMember(members, key);
  return value !== undefined && value !== null;
}

function string(members: JsonObject, key: string, at = ""): string | undefined {
  return readText(findMember(members, key), `${at}${key}`);
}

function readText(value: unknown, where: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Error(`${where}: ${formatWrongKind(value, "a string")}`);
  return value;
}

function list(members: JsonObject, key: string, at = ""): readonly unknown[] {
  const value = findMember(members, key);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${at}${key}: expected a list, got ${describeKind(value)}`);
  return value;
}

function object(value: unknown, where: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${where}: expected an object, got ${describeKind(value)}`);
  return value as JsonObject;
}
