import { load, YAMLException } from "js-yaml";
import type { JsonObject } from "../../api/k8s.ts";
import { findShapeFaults, type Shape } from "../../fbc/validate/shape.ts";
import { describeKind } from "../../fbc/wrongKind.ts";
import { foldKey, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseYaml } from "../../golang/yaml.ts";

/**
 * Parses the only document in `text`. Rejects unknown and duplicate fields.
 * @throws Error with the line or path of the mistake.
 */
export function parseStrictYaml(text: string, shape: Shape): JsonObject {
  refuseRepeatedKeys(text);
  const document = parse(text);
  if (!isObject(document)) throw new Error(`expected an object, got ${describeKind(document)}`);
  const [fault] = findShapeFaults(document, shape);
  if (fault !== undefined) throw new Error(fault);
  refuseUnknownKeys(document, shape, "");
  return document;
}

function parse(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (err) {
    throw yamlError(err);
  }
}

/** Rejects duplicate keys. The manifest parser, like Kubernetes, would use the last one. */
function refuseRepeatedKeys(text: string): void {
  try {
    load(text);
  } catch (err) {
    if (err instanceof YAMLException && /duplicated? mapping key/.test(err.reason)) throw yamlError(err);
  }
}

function yamlError(err: unknown): unknown {
  if (!(err instanceof YAMLException)) return err;
  return new Error(`yaml: ${err.mark ? `line ${err.mark.line + 1}: ` : ""}${err.reason}`, { cause: err });
}

function refuseUnknownKeys(value: unknown, shape: Shape, at: string): void {
  if (typeof shape === "string") return;
  if ("list" in shape) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) refuseUnknownKeys(item, shape.list, `${at}[${i}]`);
    return;
  }
  if (!("members" in shape) || !isObject(value)) return;
  const seen = new Map<string, string>();
  for (const key of Object.keys(value)) {
    const place = at === "" ? key : `${at}.${key}`;
    const known = shape.members.get(foldKey(key));
    if (known === undefined) throw new Error(`unknown field ${goQuote(place)}`);
    const other = seen.get(foldKey(key));
    if (other !== undefined) throw new Error(`field ${goQuote(place)} duplicates field ${goQuote(other)}`);
    seen.set(foldKey(key), place);
    refuseUnknownKeys(value[key], known, place);
  }
}
