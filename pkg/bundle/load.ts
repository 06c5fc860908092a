import { Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { findTerminalError, getErrorMessage, RetryableError } from "../errors/errors.ts";
import { encodeGoJson, MAX_INT64, parseExactJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { createJsonMismatch, GoTypeError, getGoKind } from "../golang/types.ts";
import { forEachMember, type OnMember, parseYamlDocument } from "../golang/yamlDocument.ts";
import { formatList } from "../text/lists.ts";
import { truncateExcerpt, truncateMessage } from "../text/truncate.ts";
import { ANNOTATIONS_FILE, chooseFolders, readAnnotationsFile } from "./annotations.ts";
import { checkObjectMeta, MANIFEST_TYPES, sortKeys } from "./goTypes.ts";
import { readLegacyCrd } from "./legacyCrds.ts";
import { BUNDLE_LIMITS, checkFiles, checkMetadata, createBundleTooLargeError, NameCount, ValueCount } from "./limits.ts";
import { addProperties, readDependencies } from "./properties.ts";
import type { BundleFiles, Crd, Csv, RegistryV1Bundle } from "./types.ts";

type JsonMembers = Record<string, unknown>;

/** Number of characters at the start of a text in which a leading brace is searched, as in the decoder of Kubernetes. */
const GUESS_LENGTH = 4_096;

/**
 * Reads the objects of a manifest file with any number of YAML or JSON documents. Replaces lists by their items and skips empty documents. Integers
 * beyond int64 become numbers, as in Go.
 * @param path for messages. @param onMember can throw to stop reading; its error is the cause of the thrown one.
 * @throws Error of the resource builder of Kubernetes.
 * @see https://pkg.go.dev/k8s.io/cli-runtime/pkg/resource#StreamVisitor
 */
export function readManifestObjects(path: string, content: Uint8Array, onMember?: OnMember): KubeObject[] {
  let documents: unknown[];
  try {
    documents = parseDocuments(new TextDecoder("utf-8", { ignoreBOM: false }).decode(content), onMember);
  } catch (err) {
    throw new Error(`error parsing ${path}: ${getErrorMessage(err)}`, { cause: err });
  }
  return documents.flatMap((document) => (document === null || document === undefined ? [] : toObjects(path, document)));
}

function parseDocuments(text: string, onMember: OnMember | undefined): unknown[] {
  const json = text.slice(0, GUESS_LENGTH).trimStart().startsWith("{") ? jsonDocuments(text) : undefined;
  if (!json) return yamlDocuments(text).map((document) => parseYamlDocument(document, onMember, MAX_INT64));
  if (onMember) forEachMember(json, onMember);
  return json;
}

/** Parses JSON documents; undefined if the text is not JSON. */
function jsonDocuments(text: string): unknown[] | undefined {
  try {
    return [parseExactJson(text)];
  } catch {
    return jsonStream(text);
  }
}

/** Splits YAML at lines that start with `---`. Nothing but a comment can follow on these lines. */
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

/** Also matches an unclosed quote. Otherwise the rest of the text would be searched again for each quote. */
const TOKEN = /"[^"\\]*(?:\\.?[^"\\]*)*"?|[{}]/gs;

/** Parses concatenated JSON objects such as `{…} {…}`; undefined for other texts. */
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

/** Returns the objects of a document. Items of a list without kind and apiVersion inherit them from the list. */
function toObjects(path: string, document: unknown): KubeObject[] {
  let object: JsonMembers;
  try {
    if (getGoKind(document) !== "map") throw createJsonMismatch(document, "unstructured.detector");
    object = document as JsonMembers;
    if ("items" in object) checkItems(object["items"]);
    if (formatValue(object["kind"]) === "")
      throw new GoTypeError(truncateMessage(`Object 'Kind' is missing in '${encodeGoJson(document)}'`));
    checkObjectMeta(object);
  } catch (err) {
    if (!(err instanceof GoTypeError)) throw err;
    throw new Error(`unable to decode ${goQuote(path)}: ${err.message}`, { cause: err });
  }
  return "items" in object ? toItems(object) : [withoutEmptyNamespace(object)];
}

function checkItems(items: unknown): void {
  if (items === null) return;
  if (!Array.isArray(items)) throw createJsonMismatch(items, "[]json.RawMessage").within("decodeList", "items");
  for (const item of items) if (item !== null && getGoKind(item) !== "map") throw createJsonMismatch(item, "map[string]interface {}");
}

function toItems(list: JsonMembers): KubeObject[] {
  const items = (list["items"] ?? []) as (JsonMembers | null)[];
  const itemKind = formatValue(list["kind"]).replace(/List$/, "");
  return items.map((item) => {
    const object = item ?? {};
    if (formatValue(object["kind"]) === "" && formatValue(object["apiVersion"]) === "") {
      object["apiVersion"] = formatValue(list["apiVersion"]);
      object["kind"] = itemKind;
    }
    if (Array.isArray(object["items"])) throw new Error("*unstructured.Unstructured is not a list: no Items field in this object");
    if (formatValue(object["kind"]) === "") throw untyped("Object 'Kind' is missing in 'object has no kind field '");
    if (formatValue(object["apiVersion"]) === "") throw untyped("Object 'apiVersion' is missing in 'object has no apiVersion field'");
    return withoutEmptyNamespace(object);
  });
}

function untyped(reason: string): Error {
  return new Error(`unable to get type info from the object "*unstructured.Unstructured": ${reason}`);
}

/** Removes a namespace that is empty or not a string, as the resource builder does. */
function withoutEmptyNamespace(object: JsonMembers): KubeObject {
  const metadata = object["metadata"];
  if (typeof metadata === "object" && metadata !== null && "namespace" in metadata && formatValue(metadata.namespace) === "")
    delete metadata.namespace;
  return object as unknown as KubeObject;
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Explanation that follows Go's error if a required folder or file is missing. */
const NO_BUNDLE = "a registry+v1 bundle must have a ClusterServiceVersion in manifests/ and the file metadata/annotations.yaml";
const MAX_CSVS = 5;

/**
 * Loads a registry+v1 bundle. Reads all files in `manifests/`, or the folder in the annotations, in the order of their names. If there are several
 * ClusterServiceVersions, uses the last. Converts the CSV and CRDs to Go's typed structs (see GoTypes) and keeps other manifests. Invalid
 * dependencies do not prevent loading, see `readDependencies`.
 * @throws RetryableError Retrying of operator-controller if a part is missing, cannot be parsed or has the wrong type.
 * @throws TerminalError Blocked if the bundle exceeds `BUNDLE_LIMITS`. Objects that the ClusterServiceVersion declares are counted too.
 * @see registry+v1 bundle format
 */
export function loadBundle(files: BundleFiles): RegistryV1Bundle {
  try {
    return load(files);
  } catch (err) {
    throw findTerminalError(err) ?? new RetryableError(Reason.Retrying, getErrorMessage(err), { cause: err });
  }
}

function load(files: BundleFiles): RegistryV1Bundle {
  checkFiles(files);
  const annotations = files.get(ANNOTATIONS_FILE);
  if (!annotations) throw new Error(`open ${ANNOTATIONS_FILE}: no such file or directory: ${NO_BUNDLE}`);
  const { packageName, ...stated } = readAnnotationsFile(annotations);
  const { manifests, metadata, cautions } = chooseFolders(files.keys(), stated);
  checkMetadata(files, metadata);
  const names = new NameCount();
  const dependencies = readDependencies(files, metadata, names);
  const bundle: Omit<RegistryV1Bundle, "csv" | "statedVersion"> = {
    packageName,
    crds: [],
    legacyCrds: [],
    others: [],
    dependencies,
    cautions,
  };
  const csvs: LoadedCsv[] = [];
  const values = new ValueCount();
  for (const path of manifestPaths(files, manifests)) {
    try {
      for (const object of readManifestObjects(path, files.get(path) ?? new Uint8Array(), (name) => names.add(path, name))) {
        values.add(path, object);
        names.checkObject(path, object);
        if (object.kind === "ClusterServiceVersion") csvs.push(csvFrom(path, object));
        else if (object.kind === "CustomResourceDefinition") {
          bundle.crds.push(MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", object) as Crd);
          const legacy = readLegacyCrd(object);
          if (legacy) bundle.legacyCrds.push(legacy);
        } else bundle.others.push(sortKeys(object) as KubeObject);
      }
    } catch (err) {
      if (findTerminalError(err)) throw err;
      const reason = err instanceof RangeError ? "its content is nested too deeply" : getErrorMessage(err);
      throw new Error(`error parsing objects in ${goQuote(path)}: ${reason}`, { cause: err });
    }
  }
  const last = csvs.at(-1);
  if (!last) throw new Error(`no ClusterServiceVersion found in ${goQuote(manifests)}`);
  checkCount(bundle.crds.length + bundle.others.length + csvs.length + countDeclared(last.csv));
  if (csvs.length > 1) cautions.push(severalCsvs(csvs));
  addProperties(last.csv, `${metadata}/properties.yaml`, files, names);
  return { ...bundle, csv: last.csv, statedVersion: last.statedVersion };
}

/** A ClusterServiceVersion and its file. */
interface LoadedCsv {
  path: string;
  csv: Csv;
  statedVersion: string;
}

function csvFrom(path: string, manifest: KubeObject): LoadedCsv {
  const csv = MANIFEST_TYPES.convert("operators/v1alpha1.ClusterServiceVersion", manifest) as Csv;
  const spec = manifest["spec"];
  const version = isObject(spec) ? spec["version"] : undefined;
  return { path, csv, statedVersion: typeof version === "string" ? version : "" };
}

function severalCsvs(csvs: readonly LoadedCsv[]): string {
  const names = csvs.map(({ path, csv }) => `${goQuote(truncateExcerpt(csv.metadata.name ?? ""))} (${truncateExcerpt(path)})`);
  return `it contains ${csvs.length} ClusterServiceVersions: ${formatList(names, { max: MAX_CSVS })}; only the last is used`;
}

function checkCount(objects: number): void {
  const { objects: most } = BUNDLE_LIMITS;
  if (objects > most) throw createBundleTooLargeError(`it contains ${objects} objects, more than the ${most} allowed`);
}

/** Counts the Deployments, permissions, webhooks and API services that a ClusterServiceVersion declares. */
function countDeclared({ spec }: Csv): number {
  const { deployments, permissions, clusterPermissions } = spec.install.spec;
  const lists = [deployments, permissions, clusterPermissions, spec.webhookdefinitions, spec.apiservicedefinitions.owned];
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 0);
}

/** Returns the paths in folder `manifests` in the order of their names. @throws Error for the first subfolder. */
function manifestPaths(files: BundleFiles, manifests: string): string[] {
  const names = new Map<string, boolean>();
  for (const path of files.keys()) {
    if (!path.startsWith(`${manifests}/`)) continue;
    const name = path.slice(manifests.length + 1);
    const slash = name.indexOf("/");
    names.set(slash < 0 ? name : name.slice(0, slash), slash >= 0);
  }
  if (names.size === 0) throw new Error(`stat ${manifests}: no such file or directory: ${NO_BUNDLE}`);
  return [...names.keys()].sort().map((name) => {
    const path = `${manifests}/${name}`;
    if (!names.get(name)) return path;
    throw new Error(
      `subdirectories are not allowed within the ${goQuote(manifests)} directory of the bundle image filesystem: found ${goQuote(path)}`,
    );
  });
}
