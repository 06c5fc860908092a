import type { GroupVersionKind, JsonObject, KubeObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, type BundleFolders, chooseFolders, readAnnotationsFile } from "../../bundle/annotations.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import { loadBundle, readManifestObjects } from "../../bundle/load.ts";
import { readDependencies } from "../../bundle/properties.ts";
import type { BundleFiles, Crd, Csv, InstallModeType, RegistryV1Bundle } from "../../bundle/types.ts";
import { listSupportedInstallModes } from "../../bundle/validate.ts";
import { CERTIFICATE_PROVIDERS } from "../../certificates/providers.ts";
import type { PatternMatcher } from "../../crdsafety/objectFaults.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { getObjectAt, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { YamlLines, type YamlPath } from "../../golang/yaml.ts";
import { parseYamlDocument } from "../../golang/yamlDocument.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { Adjusted } from "../../release/workloads.ts";
import { renderBundle } from "../../render/render.ts";

/** The rendered bundle for one install mode and certificate provider. */
interface Rendering {
  /** Install mode and certificate provider, such as `install mode OwnNamespace, certificates of cert-manager`. */
  readonly way: string;
  /** The objects to apply and notes about dropped parts, or the error that prevents rendering. */
  readonly result: Adjusted | Error;
}

const NAMESPACE = "operator-namespace";
/** The configuration that selects each install mode. */
const CONFIG: Readonly<Record<InstallModeType, JsonObject | undefined>> = {
  AllNamespaces: undefined,
  MultiNamespace: { watchNamespaces: ["watched-namespace", "another-namespace"] },
  OwnNamespace: { watchNamespace: NAMESPACE },
  SingleNamespace: { watchNamespace: "watched-namespace" },
};

/** Renders the bundle for each install mode that it supports. If it serves webhooks or APIs, renders it with each certificate provider. */
function renderAll(bundle: RegistryV1Bundle): Rendering[] {
  const supported = listSupportedInstallModes(bundle.csv);
  const modes = Object.entries(CONFIG).filter(([mode]) => supported.has(mode));
  const { webhookdefinitions = [], apiservicedefinitions } = bundle.csv.spec;
  const isServing = webhookdefinitions.length + (apiservicedefinitions.owned ?? []).length > 0;
  const providers = isServing ? CERTIFICATE_PROVIDERS : [undefined];
  return (modes.length > 0 ? modes : [["(none known)", undefined] as const]).flatMap(([mode, config]) =>
    providers.map((certProvider): Rendering => {
      const way = `install mode ${mode}${certProvider ? `, certificates of ${certProvider.name}` : ""}`;
      try {
        const objects = renderBundle(bundle, { installNamespace: NAMESPACE, config, certProvider });
        return { way, result: prepareObjects(objects, { installNamespace: NAMESPACE, isNamespaced }) };
      } catch (err) {
        return { way, result: err instanceof Error ? err : new Error(getErrorMessage(err)) };
      }
    }),
  );
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return findKnownResource(gvk)?.namespaced;
}

const CSV_KIND = "ClusterServiceVersion";
const CRD_KIND = "CustomResourceDefinition";

/** An object of a bundle, with all fields of its file. */
export interface Manifest {
  readonly file: string;
  /** Index among the objects of the file. */
  readonly index: number;
  readonly object: KubeObject;
}

/** A file that cannot be read, or an object that cannot be converted to its Go type. */
interface Unreadable {
  readonly file: string;
  readonly message: string;
}

/** A CRD with all fields of its file, and converted to its Go type. */
export interface CrdManifest extends Manifest {
  readonly crd: Crd;
}

/** The location of a breach in a bundle. */
export interface BundlePlace {
  /** Path in the bundle, with slashes. Not needed if `manifest` is set. */
  readonly file?: string;
  readonly manifest?: Manifest | undefined;
  /** Path inside the manifest, or inside the only document of the file. */
  readonly path?: YamlPath;
}

/** All readable parts of a bundle. Collected separately, so that one error does not hide others. */
export class BundleContent {
  readonly files: BundleFiles;
  /** Annotations of the annotations file; empty if the file cannot be read. */
  readonly annotations: JsonObject;
  readonly manifests: readonly Manifest[];
  readonly csvs: readonly Manifest[];
  readonly crds: readonly CrdManifest[];
  readonly others: readonly Manifest[];
  /** The CSV that operator-controller installs: the last one. */
  readonly csvManifest: Manifest | undefined;
  /** The same CSV, converted to its Go type. Lists keep their indexes. */
  readonly csv: Csv | undefined;
  readonly unreadable: readonly Unreadable[];
  /** The loaded bundle, or the error that operator-controller reports. */
  readonly loaded: RegistryV1Bundle | Error;
  readonly dependencyFaults: readonly string[];
  readonly matches: PatternMatcher;
  readonly #lines = new Map<string, YamlLines>();
  #renderings: readonly Rendering[] | undefined;

  /** @param matches reports whether a text in an example matches a schema pattern. Default: every text matches. */
  constructor(files: BundleFiles, matches: PatternMatcher = () => undefined) {
    this.files = files;
    this.matches = matches;
    this.annotations = readAnnotations(files);
    const { manifests, metadata } = chooseFolders(files.keys(), statedFolders(files));
    this.dependencyFaults = readDependencies(files, metadata).faults;
    const unreadable: Unreadable[] = [];
    const read = [...files.keys()]
      .filter((file) => file.startsWith(`${manifests}/`) && !file.slice(manifests.length + 1).includes("/"))
      .sort()
      .flatMap((file) => manifestsIn(file, files.get(file) ?? new Uint8Array(), unreadable));
    this.manifests = read;
    this.csvs = read.filter(({ object }) => object.kind === CSV_KIND);
    this.csvManifest = this.csvs.at(-1);
    this.csv = this.csvManifest && (convert("operators/v1alpha1.ClusterServiceVersion", this.csvManifest, unreadable) as Csv | undefined);
    this.crds = read
      .filter(({ object }) => object.kind === CRD_KIND)
      .flatMap((manifest) => {
        const crd = convert("apiextensions/v1.CustomResourceDefinition", manifest, unreadable) as Crd | undefined;
        return crd ? [{ ...manifest, crd }] : [];
      });
    this.others = read.filter(({ object }) => object.kind !== CSV_KIND && object.kind !== CRD_KIND);
    this.unreadable = unreadable;
    this.loaded = tryLoad(files);
  }

  /** Returns the annotations of the CSV. */
  get csvAnnotations(): Readonly<Record<string, string>> {
    return this.csv?.metadata.annotations ?? {};
  }

  /** Renders the bundle for each install mode and certificate provider, once. Empty if the bundle cannot be loaded. */
  get renderings(): readonly Rendering[] {
    this.#renderings ??= this.loaded instanceof Error ? [] : renderAll(this.loaded);
    return this.#renderings;
  }

  /** Returns a location in the CSV. */
  inCsv(...path: (string | number)[]): BundlePlace {
    return { manifest: this.csvManifest, path };
  }

  /** Returns the file and line of a location, if known. */
  locate({ file, manifest, path }: BundlePlace): { file?: string; line?: number } {
    const name = manifest?.file ?? file;
    if (name === undefined) return {};
    if (!manifest && !path) return { file: name };
    const lines = this.#linesOf(name);
    const objects = manifest ? this.manifests.filter((other) => other.file === name).length : 1;
    // If the file contains a List or an empty document, object indexes differ from document indexes.
    const line = lines.documents === objects ? lines.lineOf(manifest?.index ?? 0, path ?? []) : undefined;
    return line === undefined ? { file: name } : { file: name, line };
  }

  #linesOf(file: string): YamlLines {
    const lines = this.#lines.get(file) ?? new YamlLines(decodeText(this.files.get(file)));
    this.#lines.set(file, lines);
    return lines;
  }
}

function manifestsIn(file: string, content: Uint8Array, unreadable: Unreadable[]): Manifest[] {
  try {
    return readManifestObjects(file, content).map((object, index) => ({ file, index, object }));
  } catch (err) {
    unreadable.push({ file, message: unreadableText(file, err) });
    return [];
  }
}

function convert(type: string, { file, object }: Manifest, unreadable: Unreadable[]): unknown {
  try {
    return MANIFEST_TYPES.convert(type, object);
  } catch (err) {
    unreadable.push({ file, message: unreadableText(file, err) });
    return undefined;
  }
}

function unreadableText(file: string, err: unknown): string {
  return `error parsing objects in ${goQuote(file)}: ${err instanceof RangeError ? "its content is nested too deeply" : getErrorMessage(err)}`;
}

function tryLoad(files: BundleFiles): RegistryV1Bundle | Error {
  try {
    return loadBundle(files);
  } catch (err) {
    return err instanceof Error ? err : new Error(getErrorMessage(err));
  }
}

function readAnnotations(files: BundleFiles): JsonObject {
  try {
    const document = parseYamlDocument(decodeText(files.get(ANNOTATIONS_FILE)));
    return isObject(document) ? { ...getObjectAt(document, "annotations") } : {};
  } catch {
    return {}; // rule "unreadable" reports the error
  }
}

/** Reads the folders from the annotations. If these cannot be read, returns the usual folders; rule "unreadable" reports the error. */
function statedFolders(files: BundleFiles): BundleFolders {
  try {
    return readAnnotationsFile(files.get(ANNOTATIONS_FILE) ?? new Uint8Array());
  } catch {
    return { manifests: "manifests", metadata: "metadata" };
  }
}

function decodeText(content: Uint8Array | undefined): string {
  return new TextDecoder().decode(content ?? new Uint8Array());
}
