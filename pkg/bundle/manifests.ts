import type { KubeObject } from "../api/k8s.ts";
import { boundedText } from "../errors/boundedText.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { goJson } from "../fbc/canonical.ts";
import { MAX_INT64, parseExactJson } from "../fbc/exactJson.ts";
import { GoTypeError } from "./goErrors.ts";
import { checkMetadata } from "./goTypes.ts";
import { jsonMismatch, kindOf } from "./goValues.ts";
import { eachMember, type OnMember, yamlDocument } from "./yamlText.ts";

type Members = Record<string, unknown>;

/** How far into a file a leading brace is looked for, as Kubernetes' decoder does. */
const GUESS_LENGTH = 4_096;

/**
 * The objects of one manifest file, YAML or JSON, any number of documents; lists are replaced by their items.
 * Empty documents are skipped. Integers that int64 does not hold become numbers, as in Go.
 * @param path for messages. @param onMember may throw to stop reading; the error that it throws is the cause of the one that is thrown.
 * @throws Error in the words of Kubernetes' resource builder.
 * @see https://pkg.go.dev/k8s.io/cli-runtime/pkg/resource#StreamVisitor
 */
export function manifestObjects(path: string, content: Uint8Array, onMember?: OnMember): KubeObject[] {
  let documents: unknown[];
  try {
    documents = documentsOf(new TextDecoder("utf-8", { ignoreBOM: false }).decode(content), onMember);
  } catch (err) {
    throw new Error(`error parsing ${path}: ${messageOf(err)}`, { cause: err });
  }
  return documents.flatMap((document) => (document === null || document === undefined ? [] : objectsOf(path, document)));
}

function documentsOf(text: string, onMember: OnMember | undefined): unknown[] {
  const json = text.slice(0, GUESS_LENGTH).trimStart().startsWith("{") ? jsonDocuments(text) : undefined;
  if (!json) return yamlDocuments(text).map((document) => yamlDocument(document, onMember, MAX_INT64));
  if (onMember) eachMember(json, onMember);
  return json;
}

/** The documents of a text that is JSON, or undefined. */
function jsonDocuments(text: string): unknown[] | undefined {
  try {
    return [parseExactJson(text)];
  } catch {
    return jsonStream(text);
  }
}

/** The documents between lines that start with `---`; after it only a comment may follow. */
function yamlDocuments(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n");
  if (!/^---/m.test(lines)) return [lines];
  const documents: string[] = [];
  let current: string[] = [];
  for (const line of lines.split("\n")) {
    if (!line.startsWith("---")) {
      current.push(line);
      continue;
    }
    const rest = line.slice(3).trim();
    if (rest !== "" && !rest.startsWith("#")) throw new Error(`invalid Yaml document separator: ${rest}`);
    documents.push(current.join("\n"));
    current = [];
  }
  documents.push(current.join("\n"));
  return documents.filter((document) => document.trim() !== "");
}

/** Matches wherever a quote is, also one that nothing closes: text after it would be gone through once for each quote otherwise. */
const TOKEN = /"[^"\\]*(?:\\.?[^"\\]*)*"?|[{}]/gs;

/** The objects of a text such as `{…} {…}`, or undefined when it is none. */
function jsonStream(text: string): unknown[] | undefined {
  const documents: unknown[] = [];
  let depth = 0;
  let start = -1;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "{" && depth++ === 0) start = index;
    if (token !== "}" || --depth > 0) continue;
    if (depth < 0) return undefined;
    try {
      documents.push(parseExactJson(text.slice(start, index + 1)));
    } catch {
      return undefined;
    }
  }
  return depth === 0 && documents.length > 1 ? documents : undefined;
}

/** One document as objects; `items` makes it a list, whose items take kind and apiVersion from it when they have neither. */
function objectsOf(path: string, document: unknown): KubeObject[] {
  let object: Members;
  try {
    if (kindOf(document) !== "map") throw jsonMismatch(document, "unstructured.detector");
    object = document as Members;
    if ("items" in object) checkItems(object["items"]);
    if (textOf(object["kind"]) === "") throw new GoTypeError(boundedText(`Object 'Kind' is missing in '${goJson(document)}'`));
    checkMetadata(object);
  } catch (err) {
    if (!(err instanceof GoTypeError)) throw err;
    throw new Error(`unable to decode ${goQuote(path)}: ${err.message}`, { cause: err });
  }
  return "items" in object ? itemsOf(object) : [withoutEmptyNamespace(object)];
}

function checkItems(items: unknown): void {
  if (items === null) return;
  if (!Array.isArray(items)) throw jsonMismatch(items, "[]json.RawMessage").within("decodeList", "items");
  for (const item of items) if (item !== null && kindOf(item) !== "map") throw jsonMismatch(item, "map[string]interface {}");
}

function itemsOf(list: Members): KubeObject[] {
  const items = (list["items"] ?? []) as (Members | null)[];
  const itemKind = textOf(list["kind"]).replace(/List$/, "");
  return items.map((item) => {
    const object = item ?? {};
    if (textOf(object["kind"]) === "" && textOf(object["apiVersion"]) === "") {
      object["apiVersion"] = textOf(list["apiVersion"]);
      object["kind"] = itemKind;
    }
    if (Array.isArray(object["items"])) throw new Error("*unstructured.Unstructured is not a list: no Items field in this object");
    if (textOf(object["kind"]) === "") throw untyped("Object 'Kind' is missing in 'object has no kind field '");
    if (textOf(object["apiVersion"]) === "") throw untyped("Object 'apiVersion' is missing in 'object has no apiVersion field'");
    return withoutEmptyNamespace(object);
  });
}

function untyped(why: string): Error {
  return new Error(`unable to get type info from the object "*unstructured.Unstructured": ${why}`);
}

/** The builder takes away a namespace that is no text or empty. */
function withoutEmptyNamespace(object: Members): KubeObject {
  const metadata = object["metadata"];
  if (typeof metadata === "object" && metadata !== null && "namespace" in metadata && textOf(metadata.namespace) === "")
    delete metadata.namespace;
  return object as unknown as KubeObject;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
