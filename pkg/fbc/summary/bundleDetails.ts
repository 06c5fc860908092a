import type { JsonObject } from "../../api/k8s.ts";
import { isObject, memberOf, objectsAt } from "../../golang/members.ts";
import { truncate } from "../../text/truncate.ts";
import { readBoundedText } from "../boundedTexts.ts";
import type { Meta } from "../types.ts";
import { propertiesOf } from "./bundleSummary.ts";
import { csvMetadataFrom } from "./csvMetadata.ts";

/** A custom resource or API that a version brings. */
interface ProvidedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
}

/** What a version says of itself beyond its summary. All lists and texts are bounded. */
export interface BundleDetails {
  /** All of what it does, as its author wrote it, mostly Markdown. */
  readonly longDescription?: string | undefined;
  readonly links: readonly { readonly name: string; readonly url: string }[];
  readonly maintainers: readonly { readonly name: string; readonly email?: string | undefined }[];
  /** What it brings, with names for people; kinds that the author wants hidden left out. */
  readonly provided: readonly ProvidedKind[];
  readonly suggestedNamespace?: string | undefined;
  /** Custom resources to begin with; undefined where the catalog does not keep them. */
  readonly examples?: readonly JsonObject[] | undefined;
}

const MAX_LIST = 64;
const MAX_EXAMPLES = 512;
const MAX_LONG = 64 * 1024;
const MAX_EXAMPLES_TEXT = 8 * 1024 * 1024;

/**
 * What the meta of a bundle tells beyond its summary. What cannot be read is absent.
 * @throws Error `annotation alm-examples: …` where that is no list of objects, which `examples` of `reading` asks for.
 */
export function bundleDetails(meta: Meta, reading: { examples: boolean } = { examples: false }): BundleDetails {
  const csv = csvMetadataFrom(propertiesOf(meta));
  if (!csv) return { links: [], maintainers: [], provided: [] };
  const { annotations, spec, crds, apiServices } = csv;
  const hidden = new Set(hiddenIn(annotations["operators.operatorframework.io/internal-objects"]));
  const long = memberOf(spec, "description");
  const almExamples = annotations["alm-examples"];
  return {
    longDescription: typeof long === "string" ? truncate(long.trim(), MAX_LONG) || undefined : undefined,
    links: objectsAt(spec, "links")
      .slice(0, MAX_LIST)
      .flatMap((link) => {
        const url = readBoundedText(link, "url");
        return url === undefined ? [] : [{ name: readBoundedText(link, "name", 256) ?? "", url }];
      }),
    maintainers: objectsAt(spec, "maintainers")
      .slice(0, MAX_LIST)
      .flatMap((one) => {
        const [name, email] = [readBoundedText(one, "name", 256), readBoundedText(one, "email", 256)];
        return name === undefined && email === undefined ? [] : [{ name: name ?? "", email }];
      }),
    provided: [
      ...objectsAt(crds, "owned").flatMap((crd) => {
        const name = readBoundedText(crd, "name", 253) ?? "";
        return hidden.has(name) ? [] : providedKind(crd, name.slice(name.indexOf(".") + 1));
      }),
      ...objectsAt(apiServices, "owned").flatMap((api) => providedKind(api, readBoundedText(api, "group", 253) ?? "")),
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
  const list = typeof value === "string" ? parsed(value) : undefined;
  return Array.isArray(list) ? list.filter((one): one is string => typeof one === "string") : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function examplesIn(text: string): JsonObject[] {
  if (text.trim() === "") return [];
  if (text.length > MAX_EXAMPLES_TEXT)
    throw new Error(`annotation alm-examples: it has ${text.length} characters, at most ${MAX_EXAMPLES_TEXT} are read`);
  const list = parsed(text);
  if (!Array.isArray(list) || !list.every(isObject)) throw new Error("annotation alm-examples: it is no JSON list of objects");
  return list.slice(0, MAX_EXAMPLES);
}

/** What stands in an example as kind, for those who look for one. */
export function kindOfExample(example: JsonObject): string {
  return readBoundedText(example, "kind", 63) ?? "";
}
