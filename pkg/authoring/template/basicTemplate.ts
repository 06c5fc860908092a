import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { groupByPackage, Schema, toMeta } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { describeKind, formatWrongKind } from "../../fbc/wrongKind.ts";
import { findMember, foldKey, getTextMember, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseFirstYamlDocument } from "../../golang/yaml.ts";
import { orderMetaMembers } from "../render/catalogObject.ts";

/** Schema of templates that reference bundles by image. */
export const BASIC_SCHEMA = "olm.template.basic";

/** Allowed fields of a bundle in a template: the image, and fields that opm ignores. */
const BUNDLE_MEMBERS = new Set(["schema", "image", "name"]);

/** A template of schema olm.template.basic. */
export interface BasicTemplate {
  /** All objects except bundles. */
  readonly metas: readonly Meta[];
  /** Images of the bundles, in order. */
  readonly images: readonly string[];
}

/**
 * Reads a template of schema olm.template.basic.
 * @throws Error with the same message as opm.
 * @see C-20; operator-registry v1.73.0 alpha/template/basic
 */
export function readBasicTemplate(text: string): BasicTemplate {
  const metas = readTemplateEntries(parseTemplate(text), BASIC_SCHEMA);
  const bundles = metas.filter(({ schema }) => schema === Schema.bundle);
  if (bundles.some(({ blob }) => !isBundleTemplate(blob))) throw new Error("unexpected fields present in basic template bundle");
  return {
    metas: metas.filter(({ schema }) => schema !== Schema.bundle).map(orderMetaMembers),
    images: bundles.map(({ blob }) => getTextMember(blob, "image")),
  };
}

/** Converts the objects of a catalog to a template. Keeps only the images of bundles. */
export function toBasicTemplate(metas: readonly Meta[]): JsonObject {
  const entries = metas.map((meta) =>
    meta.schema === Schema.bundle ? { schema: Schema.bundle, image: getTextMember(meta.blob, "image") } : orderMetaMembers(meta).blob,
  );
  return { schema: BASIC_SCHEMA, entries };
}

/** Parses the first document of a template. @throws Error `decoding template input: …`. */
export function parseTemplate(text: string): JsonObject {
  let document: unknown;
  try {
    document = parseFirstYamlDocument(text);
  } catch (err) {
    throw new Error(`decoding template input: ${getErrorMessage(err)}`, { cause: err });
  }
  if (!isObject(document)) throw new Error(`decoding template input: expected an object, got ${describeKind(document)}`);
  return document;
}

/** Reads the list `entries` of a template. @throws Error for another schema, and for entries that are not catalog objects. */
export function readTemplateEntries(document: JsonObject, schema: string): Meta[] {
  const found = getTextMember(document, "schema");
  if (found !== schema) throw new Error(`template has unknown schema (${goQuote(found)}), should be ${goQuote(schema)}`);
  const entries = findMember(document, "entries") ?? [];
  if (!Array.isArray(entries)) throw new Error(`unmarshalling template: entries: ${formatWrongKind(entries, "a list")}`);
  const metas = entries.map((entry: unknown, i) => {
    try {
      return toMeta(entry);
    } catch (err) {
      throw new Error(`unmarshalling template: entries[${i}]: ${getErrorMessage(err)}`, { cause: err });
    }
  });
  groupByPackage(metas);
  return metas;
}

function isBundleTemplate(blob: JsonObject): boolean {
  return getTextMember(blob, "image") !== "" && Object.keys(blob).every((key) => BUNDLE_MEMBERS.has(foldKey(key)));
}
