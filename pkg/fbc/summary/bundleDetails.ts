import type { JsonObject } from "../../api/k8s.ts";
import { tryParseJson } from "../../golang/json.ts";
import { findMember, getObjectsAt, isObject } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";
import { readBoundedText } from "../boundedTexts.ts";
import type { Meta } from "../types.ts";
import { listProperties } from "./bundleSummary.ts";
import { readCsvMetadata } from "./csvMetadata.ts";

/** A custom resource or API that a version provides. */
interface ProvidedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
}

/** Details of a version that are not in its summary. All lists and texts are bounded. */
export interface BundleDetails {
  /** Full description, usually Markdown. */
  readonly longDescription?: string | undefined;
  readonly links: readonly { readonly name: string; readonly url: string }[];
  readonly maintainers: readonly { readonly name: string; readonly email?: string | undefined }[];
  /** Provided kinds with their descriptions, without internal kinds. */
  readonly provided: readonly ProvidedKind[];
  readonly suggestedNamespace?: string | undefined;
  /** Example custom resources; undefined if the catalog does not contain them. */
  readonly examples?: readonly JsonObject[] | undefined;
}

const MAX_LIST = 64;
const MAX_EXAMPLES = 512;
const MAX_LONG = 64 * 1024;
const MAX_EXAMPLES_TEXT = 8 * 1024 * 1024;

/**
 * Reads the details of a bundle. Omits invalid parts.
 * @throws Error `annotation alm-examples: …` if `reading.examples` is set and the annotation is not a list of objects.
 */
export function readBundleDetails(meta: Meta, reading: { examples: boolean } = { examples: false }): BundleDetails {
  const csv = readCsvMetadata(listProperties(meta));
  if (!csv) return { links: [], maintainers: [], provided: [] };
  const { annotations, spec, crds, apiServices } = csv;
  const hidden = new Set(hiddenIn(annotations["operators.operatorframework.io/internal-objects"]));
  const long = findMember(spec, "description");
  const almExamples = annotations["alm-examples"];
  return {
    longDescription: typeof long === "string" ? truncate(long.trim(), MAX_LONG) || undefined : undefined,
    links: getObjectsAt(spec, "links")
      .slice(0, MAX_LIST)
      .flatMap((link) => {
        const url = readBoundedText(link, "url");
        return url === undefined ? [] : [{ name: readBoundedText(link, "name", 256) ?? "", url }];
      }),
    maintainers: getObjectsAt(spec, "maintainers")
      .slice(0, MAX_LIST)
      .flatMap((one) => {
        const [name, email] = [readBoundedText(one, "name", 256), readBoundedText(one, "email", 256)];
        return name === undefined && email === undefined ? [] : [{ name: name ?? "", email }];
      }),
    provided: [
      ...getObjectsAt(crds, "owned").flatMap((crd) => {
        const name = readBoundedText(crd, "name", 253) ?? "";
        return hidden.has(name) ? [] : providedKind(crd, name.slice(name.indexOf(".") + 1));
      }),
      ...getObjectsAt(apiServices, "owned").flatMap((api) => providedKind(api, readBoundedText(api, "group", 253) ?? "")),
    ],
    suggestedNamespace: readBoundedText(annotations, "operatorframework.io/suggested-namespace", 253),
    examples: typeof almExamples !== "string" ? undefined : reading.examples ? examplesIn(almExamples) : [],
  };
}

function providedKind(described: Readonly<Record<string, unknown>>, group: string): ProvidedKind[] {
  const [version, kind] = [readBoundedText(described, "version", 63), readBoundedText(described, "kind", 63)];
  if (version === undefined || kind === undefined) return [];
  return [
    {
      group,
      version,
      kind,
      displayName: readBoundedText(described, "displayName", 256),
      description: readBoundedText(described, "description"),
    },
  ];
}

function hiddenIn(value: unknown): string[] {
  const list = typeof value === "string" ? tryParseJson(value) : undefined;
  return Array.isArray(list) ? list.filter((one): one is string => typeof one === "string") : [];
}

function examplesIn(text: string): JsonObject[] {
  if (text.trim() === "") return [];
  if (text.length > MAX_EXAMPLES_TEXT)
    throw new Error(`annotation alm-examples is too long: ${text.length} characters, maximum ${MAX_EXAMPLES_TEXT}`);
  const list = tryParseJson(text);
  if (!Array.isArray(list) || !list.every(isObject)) throw new Error("annotation alm-examples: not a JSON list of objects");
  return list.slice(0, MAX_EXAMPLES);
}

/** Returns the kind of an example; empty if the example has no kind. */
export function readExampleKind(example: JsonObject): string {
  return readBoundedText(example, "kind", 63) ?? "";
}
