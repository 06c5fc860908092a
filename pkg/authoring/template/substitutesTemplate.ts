import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { Schema } from "../../fbc/content.ts";
import type { ChannelEntry, Meta } from "../../fbc/types.ts";
import { CatalogCheck } from "../../fbc/validate/catalogCheck.ts";
import { formatOpmError } from "../../fbc/validate/finding.ts";
import { findMember, getListMember, getObjectAt, getObjectMembers, getTextMember, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";
import { orderMetaMembers } from "../render/catalogObject.ts";
import { CSV_METADATA, findCsv } from "../render/migrate.ts";
import { parseTemplate, readTemplateEntries } from "./basicTemplate.ts";

/** Returns the error that opm reports for these objects; undefined if they are a valid catalog. */
export function findOpmRefusal(metas: readonly Meta[]): string | undefined {
  const check = new CatalogCheck();
  for (const [i, meta] of metas.entries()) check.add({ ...meta, place: { file: "", document: i + 1, line: 1 } });
  return formatOpmError(check.end().findings);
}

/**
 * Substitutes a bundle in a channel. The substitute gets the edges of `base` and skips `base`. An entry that replaced `base` replaces the substitute
 * and skips `base`. An entry that skipped `base` skips the substitute instead. A channel without `base` is not changed.
 * @see C-20; operator-registry v1.73.0 alpha/template/substitutes
 */
function substituteInChannel(channel: Meta, base: string, substitute: string): Meta {
  const entries = getObjectMembers(channel.blob, "entries").map(entryFrom);
  const replaced = entries.find(({ name }) => name === base);
  if (!replaced) return channel;
  const { replaces, skips = [], skipRange } = replaced;
  const added = entry({ name: substitute, replaces, skips: [...skips, base], skipRange });
  const changed = entries.map((one) => (one === replaced ? { name: base } : redirect(one, base, substitute)));
  return { ...channel, blob: { ...channel.blob, entries: [...changed, added] } };
}

function redirect({ name, replaces, skips = [], skipRange }: ChannelEntry, base: string, substitute: string): ChannelEntry {
  if (replaces === base) return entry({ name, replaces: substitute, skips: [...skips, base], skipRange });
  if (!skips.includes(base)) return entry({ name, replaces, skips, skipRange });
  return entry({ name, replaces, skips: [...skips.filter((skip) => skip !== base), substitute], skipRange });
}

function entryFrom(object: JsonObject): ChannelEntry {
  const skips = getListMember(object, "skips").filter((skip): skip is string => typeof skip === "string");
  return entry({
    name: getTextMember(object, "name"),
    replaces: getTextMember(object, "replaces"),
    skips,
    skipRange: getTextMember(object, "skipRange"),
  });
}

/** Creates an entry without empty fields. */
function entry(given: {
  name: string;
  replaces?: string | undefined;
  skips: readonly string[];
  skipRange?: string | undefined;
}): ChannelEntry {
  const { name, replaces = "", skips, skipRange = "" } = given;
  return {
    name,
    ...(replaces === "" ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips: [...skips] }),
    ...(skipRange === "" ? {} : { skipRange }),
  };
}

/** Schema of templates that substitute bundles. */
export const SUBSTITUTES_SCHEMA = "olm.template.substitutes";

/** A substitution of a bundle. */
export interface Substitution {
  /** Image of the substitute. */
  readonly name: string;
  /** Name of the substituted bundle. */
  readonly base: string;
}

/** A template of schema olm.template.substitutes. */
export interface SubstitutesTemplate {
  readonly metas: readonly Meta[];
  readonly substitutions: readonly Substitution[];
}

/**
 * Reads a template of schema olm.template.substitutes.
 * @throws Error with the same message as opm, for example if the entries are not a valid catalog, or if two substitutions have the same base or
 * bundle.
 * @see C-20
 */
export function readSubstitutesTemplate(text: string): SubstitutesTemplate {
  const document = parseTemplate(text);
  const metas = readTemplateEntries(document, SUBSTITUTES_SCHEMA).map(orderMetaMembers);
  const fault = findOpmRefusal(metas);
  if (fault !== undefined) throw new Error(`render: entries are not valid FBC: ${fault}`);
  const substitutions = getObjectMembers(document, "substitutions").map((item) => ({
    name: getTextMember(item, "name"),
    base: getTextMember(item, "base"),
  }));
  refuseReuse(substitutions);
  for (const substitution of substitutions) withSubstitution(substitution, () => checkNames(substitution));
  return { metas, substitutions };
}

/** Converts the objects of a catalog to a template without substitutions. */
export function toSubstitutesTemplate(metas: readonly Meta[]): JsonObject {
  return { schema: SUBSTITUTES_SCHEMA, entries: metas.map((meta) => orderMetaMembers(meta).blob), substitutions: [] };
}

/**
 * Renders the catalog of a template. In each channel, the substitute takes the place of its base and skips it.
 * @param bundles the substitutes, in the order of the substitutions.
 * @throws Error `render: error processing substitution "base" -> "name": …`.
 */
export function renderSubstitutes({ metas, substitutions }: SubstitutesTemplate, bundles: readonly (Meta | undefined)[]): Meta[] {
  let catalog = [...metas];
  for (const [i, substitution] of substitutions.entries()) {
    const bundle = bundles[i];
    catalog = withSubstitution(substitution, () => {
      if (!bundle) throw new Error(`rendered bundle image reference ${goQuote(substitution.name)} contains no bundles`);
      checkOrder(substitution, bundle, catalog);
      const changed = catalog.map((meta) =>
        meta.schema === Schema.channel ? substituteInChannel(meta, substitution.base, bundle.name) : meta,
      );
      const all = changed.some(({ schema, name }) => schema === Schema.bundle && name === bundle.name) ? changed : [...changed, bundle];
      const fault = findOpmRefusal(all);
      if (fault !== undefined) throw new Error(`resulting config is not valid FBC: ${fault}`);
      return all;
    });
  }
  return catalog;
}

/** Runs `work` and adds the substitution to its errors. */
function withSubstitution<T>({ base, name }: Substitution, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw createSubstitutionError({ base, name }, err);
  }
}

/** Wraps an error with the names of its substitution. */
export function createSubstitutionError({ base, name }: Substitution, err: unknown): Error {
  return new Error(`render: error processing substitution ${goQuote(base)} -> ${goQuote(name)}: ${getErrorMessage(err)}`, { cause: err });
}

function refuseReuse(substitutions: readonly Substitution[]): void {
  const bases = new Set<string>();
  const names = new Map<string, string>();
  for (const { name, base } of substitutions) {
    if (bases.has(base)) throw new Error(`render: cannot reuse the same substitution base ${goQuote(base)}`);
    bases.add(base);
    const other = names.get(name);
    if (other !== undefined)
      throw new Error(
        `render: cannot reuse the same substitution ${goQuote(name)} for different bases (${goQuote(other)} and ${goQuote(base)})`,
      );
    names.set(name, base);
  }
}

function checkNames({ name, base }: Substitution): void {
  if (name === "") throw new Error("substitution name cannot be empty");
  if (base === "") throw new Error("substitution base cannot be empty");
  if (name === base) throw new Error("substitution name and base cannot be the same");
}

function checkOrder({ name, base }: Substitution, bundle: Meta, catalog: readonly Meta[]): void {
  const substitute = naming(`failed to get VersionRelease for substitute bundle ${goQuote(name)}: `, () => readVersion(bundle));
  const replaced = catalog.find((meta) => meta.schema === Schema.bundle && meta.name === base);
  if (!replaced) throw new Error(`base bundle ${goQuote(base)} does not exist in catalog`);
  const version = naming(`failed to get VersionRelease for base bundle ${goQuote(base)}: `, () => readVersion(replaced));
  if (compareVersionRelease(version, substitute) >= 0)
    throw new Error(`base bundle ${goQuote(base)} is not less than substitute bundle ${goQuote(bundle.name)}`);
}

/** Reads the version of a bundle. Build metadata counts as release only if the bundle has annotation olm.substitutesFor. */
function readVersion({ blob }: Meta): VersionRelease {
  const properties = getObjectMembers(blob, "properties");
  const own = properties.filter((property) => getTextMember(property, "type") === "olm.package");
  const value = own[0]?.["value"];
  if (own.length !== 1 || !isObject(value)) throw new Error('must be exactly one property of type "olm.package"');
  const release = findMember(value, "release");
  const given = typeof release === "string" ? release : "";
  const isRelease = given === "" && getTextMember(readAnnotations(properties), "olm.substitutesFor") !== "";
  return parseVersionRelease(getTextMember(value, "version"), isRelease ? undefined : given);
}

function readAnnotations(properties: readonly JsonObject[]): JsonObject {
  const metadata = properties.find((property) => getTextMember(property, "type") === CSV_METADATA);
  if (metadata) return getObjectAt(getObjectAt(metadata, "value"), "annotations");
  return getObjectAt(getObjectAt(findCsv(properties) ?? {}, "metadata"), "annotations");
}

function naming<T>(prefix: string, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw new Error(`${prefix}${getErrorMessage(err)}`, { cause: err });
  }
}
