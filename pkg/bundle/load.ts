import { Reason } from "../api/constants.ts";
import { isObject } from "../api/jsonObject.ts";
import type { KubeObject } from "../api/k8s.ts";
import { messageOf, RetryableError } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { excerpt } from "../fbc/excerpt.ts";
import { ANNOTATIONS_FILE, bundleAnnotations, foldersIn } from "./annotations.ts";
import { dependenciesIn } from "./dependencies.ts";
import { sortedKeys } from "./goSpecial.ts";
import { MANIFEST_TYPES } from "./goTypes.ts";
import { legacyCrd } from "./legacyCrds.ts";
import { manifestObjects } from "./manifests.ts";
import { addProperties } from "./properties.ts";
import type { BundleFiles, Crd, Csv, RegistryV1Bundle } from "./types.ts";

/** Said behind Go's words where a folder or file is missing that makes an image a bundle. */
const NO_BUNDLE = "a registry+v1 bundle has a ClusterServiceVersion in manifests/ and says in metadata/annotations.yaml what it is";
/** The largest real bundles hold 105 files and 7 MB. */
const MAX_FILES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Rights, conflicts and order are worked out between objects. */
const MAX_OBJECTS = 2_000;
const MAX_CSVS = 5;

/**
 * Reads a registry+v1 bundle. Files in `manifests/`, or the folder that the annotations state for it, are read in the order of their names whatever they are called; of several
 * ClusterServiceVersions the last is taken. The CSV and CRDs go through Go's typed structs (see GoTypes), the rest stays as it is.
 * Dependencies that cannot be read keep nothing back, see `dependenciesIn`.
 * @throws RetryableError Retrying when something is missing, cannot be parsed or has the wrong type, in operator-controller's words; above
 * 2,000 files, 64 MiB or 2,000 objects, those counted that its ClusterServiceVersion stands for.
 * @see registry+v1 bundle format
 */
export function loadBundle(files: BundleFiles): RegistryV1Bundle {
  try {
    return load(files);
  } catch (err) {
    throw new RetryableError(Reason.Retrying, messageOf(err), { cause: err });
  }
}

function load(files: BundleFiles): RegistryV1Bundle {
  checkSize(files);
  const annotations = files.get(ANNOTATIONS_FILE);
  if (!annotations) throw new Error(`open ${ANNOTATIONS_FILE}: no such file or directory: ${NO_BUNDLE}`);
  const { packageName, ...stated } = bundleAnnotations(annotations);
  const { manifests, metadata, cautions } = foldersIn(files.keys(), stated);
  const dependencies = dependenciesIn(files, metadata);
  const bundle: Omit<RegistryV1Bundle, "csv" | "statedVersion"> = {
    packageName,
    crds: [],
    legacyCrds: [],
    others: [],
    dependencies,
    cautions,
  };
  const csvs: LoadedCsv[] = [];
  for (const path of manifestPaths(files, manifests)) {
    try {
      for (const object of manifestObjects(path, files.get(path) ?? new Uint8Array())) {
        if (object.kind === "ClusterServiceVersion") csvs.push(csvFrom(path, object));
        else if (object.kind === "CustomResourceDefinition") {
          bundle.crds.push(MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", object) as Crd);
          const legacy = legacyCrd(object);
          if (legacy) bundle.legacyCrds.push(legacy);
        } else bundle.others.push(sortedKeys(object) as KubeObject);
      }
    } catch (err) {
      const reason = err instanceof RangeError ? "its content is nested too deeply" : messageOf(err);
      throw new Error(`error parsing objects in ${goQuote(path)}: ${reason}`, { cause: err });
    }
  }
  const last = csvs.at(-1);
  if (!last) throw new Error(`no ClusterServiceVersion found in ${goQuote(manifests)}`);
  checkCount(bundle.crds.length + bundle.others.length + csvs.length + standsFor(last.csv));
  if (csvs.length > 1) cautions.push(severalCsvs(csvs));
  addProperties(last.csv, `${metadata}/properties.yaml`, files);
  return { ...bundle, csv: last.csv, statedVersion: last.statedVersion };
}

/** A ClusterServiceVersion, and where it stands. */
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
  const told = csvs.slice(0, MAX_CSVS).map(({ path, csv }) => `${goQuote(excerpt(csv.metadata.name ?? ""))} (${excerpt(path)})`);
  const more = csvs.length > MAX_CSVS ? ` and ${csvs.length - MAX_CSVS} more` : "";
  return `it holds ${csvs.length} ClusterServiceVersions, ${told.join(", ")}${more}, of which the last is taken`;
}

function checkSize(files: BundleFiles): void {
  let bytes = 0;
  for (const content of files.values()) bytes += content.byteLength;
  if (files.size > MAX_FILES) throw new Error(`bundle holds ${files.size} files, more than the ${MAX_FILES} allowed`);
  if (bytes > MAX_BYTES) throw new Error(`bundle holds ${bytes} bytes, more than the ${MAX_BYTES} allowed`);
}

function checkCount(objects: number): void {
  if (objects > MAX_OBJECTS) throw new Error(`bundle holds ${objects} objects, more than the ${MAX_OBJECTS} allowed`);
}

/** How many Deployments, sets of rights, webhooks and API services a ClusterServiceVersion asks for. */
function standsFor({ spec }: Csv): number {
  const { deployments, permissions, clusterPermissions } = spec.install.spec;
  const lists = [deployments, permissions, clusterPermissions, spec.webhookdefinitions, spec.apiservicedefinitions.owned];
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 0);
}

/** The paths in folder `manifests` in the order of their names. @throws Error at the first subfolder. */
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
