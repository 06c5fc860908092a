import type { GroupVersionKind, JsonObject, KubeObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, type BundleFolders, bundleAnnotations, foldersIn } from "../../bundle/annotations.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import { loadBundle, manifestObjects } from "../../bundle/load.ts";
import { dependenciesIn } from "../../bundle/properties.ts";
import type { BundleFiles, Crd, Csv, InstallModeType, RegistryV1Bundle } from "../../bundle/types.ts";
import { installModes } from "../../bundle/validate.ts";
import { CERTIFICATE_PROVIDERS } from "../../certificates/providers.ts";
import type { PatternMatcher } from "../../crdsafety/objectFaults.ts";
import { messageOf } from "../../errors/errors.ts";
import { isObject, objectAt } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { YamlLines, type YamlPath } from "../../golang/yaml.ts";
import { yamlDocument } from "../../golang/yamlDocument.ts";
import { knownResource } from "../../rbac/resources.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { Adjusted } from "../../release/workloads.ts";
import { renderBundle } from "../../render/render.ts";

/** What a bundle is rendered to for one way of installing it. */
interface Rendering {
  /** How it is installed, such as `install mode OwnNamespace, certificates of cert-manager`. */
  readonly way: string;
  /** The objects as they are applied and what was dropped of them, or why there are none. */
  readonly result: Adjusted | Error;
}

const NAMESPACE = "operator-namespace";
/** The configuration that asks for an install mode. */
const CONFIG: Readonly<Record<InstallModeType, JsonObject | undefined>> = {
  AllNamespaces: undefined,
  MultiNamespace: { watchNamespaces: ["watched-namespace", "another-namespace"] },
  OwnNamespace: { watchNamespace: NAMESPACE },
  SingleNamespace: { watchNamespace: "watched-namespace" },
};

/** The bundle for each install mode that it supports, with each certificate provider where it serves webhooks or APIs. */
function renderingsOf(bundle: RegistryV1Bundle): Rendering[] {
  const supported = installModes(bundle.csv);
  const modes = Object.entries(CONFIG).filter(([mode]) => supported.has(mode));
  const { webhookdefinitions = [], apiservicedefinitions } = bundle.csv.spec;
  const isServing = webhookdefinitions.length + (apiservicedefinitions.owned ?? []).length > 0;
  const providers = isServing ? CERTIFICATE_PROVIDERS : [undefined];
  return (modes.length > 0 ? modes : [["none that is known", undefined] as const]).flatMap(([mode, config]) =>
    providers.map((certProvider): Rendering => {
      const way = `install mode ${mode}${certProvider ? `, certificates of ${certProvider.name}` : ""}`;
      try {
        const objects = renderBundle(bundle, { installNamespace: NAMESPACE, config, certProvider });
        return { way, result: prepareObjects(objects, { installNamespace: NAMESPACE, isNamespaced }) };
      } catch (err) {
        return { way, result: err instanceof Error ? err : new Error(messageOf(err)) };
      }
    }),
  );
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return knownResource(gvk)?.namespaced;
}

const CSV_KIND = "ClusterServiceVersion";
const CRD_KIND = "CustomResourceDefinition";

/** One object of a bundle as it is written. */
export interface Manifest {
  readonly file: string;
  /** Its place among the objects of the file. */
  readonly index: number;
  readonly object: KubeObject;
}

/** A part that cannot be read. */
interface Unreadable {
  readonly file: string;
  readonly message: string;
}

/** A CRD as it is written and as Go's types hold it. */
export interface CrdManifest extends Manifest {
  readonly crd: Crd;
}

/** Where in a bundle something is wrong. */
export interface Place {
  /** Path in the bundle, with slashes. Not needed with a manifest. */
  readonly file?: string;
  readonly manifest?: Manifest | undefined;
  /** Within the manifest, or within the only document of the file. */
  readonly path?: YamlPath;
}

/** Everything in a bundle that could be read, so that one fault does not hide the others. */
export class BundleContent {
  readonly files: BundleFiles;
  /** Of the annotations file; empty where that cannot be read. */
  readonly annotations: JsonObject;
  readonly manifests: readonly Manifest[];
  readonly csvs: readonly Manifest[];
  readonly crds: readonly CrdManifest[];
  readonly others: readonly Manifest[];
  /** The one that is installed: the last. */
  readonly csvManifest: Manifest | undefined;
  /** The same as Go's types hold it; lists have the same indexes. */
  readonly csv: Csv | undefined;
  readonly unreadable: readonly Unreadable[];
  /** The bundle, where operator-controller can load it, and otherwise why it cannot. */
  readonly loaded: RegistryV1Bundle | Error;
  readonly dependencyFaults: readonly string[];
  readonly matches: PatternMatcher;
  readonly #lines = new Map<string, YamlLines>();
  #renderings: readonly Rendering[] | undefined;

  /** @param matches how texts of examples are held against patterns of schemas; by default every text matches. */
  constructor(files: BundleFiles, matches: PatternMatcher = () => undefined) {
    this.files = files;
    this.matches = matches;
    this.annotations = annotationsIn(files);
    const { manifests, metadata } = foldersIn(files.keys(), statedFolders(files));
    this.dependencyFaults = dependenciesIn(files, metadata).faults;
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
    this.loaded = loadedOf(files);
  }

  /** Annotations of the CSV. */
  get csvAnnotations(): Readonly<Record<string, string>> {
    return this.csv?.metadata.annotations ?? {};
  }

  /** What the bundle is rendered to, in each way of installing it; none where it cannot be loaded. */
  get renderings(): readonly Rendering[] {
    this.#renderings ??= this.loaded instanceof Error ? [] : renderingsOf(this.loaded);
    return this.#renderings;
  }

  /** A place in the CSV. */
  inCsv(...path: (string | number)[]): Place {
    return { manifest: this.csvManifest, path };
  }

  /** File and line of a place, as far as they are known. */
  locate({ file, manifest, path }: Place): { file?: string; line?: number } {
    const name = manifest?.file ?? file;
    if (name === undefined) return {};
    if (!manifest && !path) return { file: name };
    const lines = this.#linesOf(name);
    const objects = manifest ? this.manifests.filter((other) => other.file === name).length : 1;
    // An object of a list, or after an empty document, has no document of the same number.
    const line = lines.documents === objects ? lines.lineOf(manifest?.index ?? 0, path ?? []) : undefined;
    return line === undefined ? { file: name } : { file: name, line };
  }

  #linesOf(file: string): YamlLines {
    const lines = this.#lines.get(file) ?? new YamlLines(textOf(this.files.get(file)));
    this.#lines.set(file, lines);
    return lines;
  }
}

function manifestsIn(file: string, content: Uint8Array, unreadable: Unreadable[]): Manifest[] {
  try {
    return manifestObjects(file, content).map((object, index) => ({ file, index, object }));
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
  return `error parsing objects in ${goQuote(file)}: ${err instanceof RangeError ? "its content is nested too deeply" : messageOf(err)}`;
}

function loadedOf(files: BundleFiles): RegistryV1Bundle | Error {
  try {
    return loadBundle(files);
  } catch (err) {
    return err instanceof Error ? err : new Error(messageOf(err));
  }
}

function annotationsIn(files: BundleFiles): JsonObject {
  try {
    const document = yamlDocument(textOf(files.get(ANNOTATIONS_FILE)));
    return isObject(document) ? { ...objectAt(document, "annotations") } : {};
  } catch {
    return {}; // loading says why
  }
}

/** The usual folders where the annotations cannot be read; loading says why. */
function statedFolders(files: BundleFiles): BundleFolders {
  try {
    return bundleAnnotations(files.get(ANNOTATIONS_FILE) ?? new Uint8Array());
  } catch {
    return { manifests: "manifests", metadata: "metadata" };
  }
}

function textOf(content: Uint8Array | undefined): string {
  return new TextDecoder().decode(content ?? new Uint8Array());
}
