import { Reason } from "../api/constants.ts";
import { isObject } from "../api/jsonObject.ts";
import type { KubeObject } from "../api/k8s.ts";
import { messageOf, RetryableError, terminalIn } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { excerpt } from "../fbc/excerpt.ts";
import { ANNOTATIONS_FILE, bundleAnnotations, foldersIn } from "./annotations.ts";
import { BUNDLE_LIMITS, bundleTooLarge, checkFiles, checkMetadata, NameCount, ValueCount } from "./bundleLimits.ts";
import { dependenciesIn } from "./dependencies.ts";
import { sortedKeys } from "./goSpecial.ts";
import { MANIFEST_TYPES } from "./goTypes.ts";
import { legacyCrd } from "./legacyCrds.ts";
import { manifestObjects } from "./manifests.ts";
import { addProperties } from "./properties.ts";
import type { BundleFiles, Crd, Csv, RegistryV1Bundle } from "./types.ts";

/** Said behind Go's words where a folder or file is missing that makes an image a bundle. */
const NO_BUNDLE = "a registry+v1 bundle has a ClusterServiceVersion in manifests/ and says in metadata/annotations.yaml what it is";
const MAX_CSVS = 5;

/**
 * Reads a registry+v1 bundle. Files in `manifests/`, or the folder that the annotations state for it, are read in the order of their names whatever they are called; of several
 * ClusterServiceVersions the last is taken. The CSV and CRDs go through Go's typed structs (see GoTypes), the rest stays as it is.
 * Dependencies that cannot be read keep nothing back, see `dependenciesIn`.
 * @throws RetryableError Retrying when something is missing, cannot be parsed or has the wrong type, in operator-controller's words.
 * @throws TerminalError Blocked above one of `BUNDLE_LIMITS`. The objects that its ClusterServiceVersion stands for count as objects.
 * @see registry+v1 bundle format
 */
export function loadBundle(files: BundleFiles): RegistryV1Bundle {
  try {
    return load(files);
  } catch (err) {
    throw terminalIn(err) ?? new RetryableError(Reason.Retrying, messageOf(err), { cause: err });
  }
}

function load(files: BundleFiles): RegistryV1Bundle {
  checkFiles(files);
  const annotations = files.get(ANNOTATIONS_FILE);
  if (!annotations) throw new Error(`open ${ANNOTATIONS_FILE}: no such file or directory: ${NO_BUNDLE}`);
  const { packageName, ...stated } = bundleAnnotations(annotations);
  const { manifests, metadata, cautions } = foldersIn(files.keys(), stated);
  checkMetadata(files, metadata);
  const names = new NameCount();
  const dependencies = dependenciesIn(files, metadata, names);
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
      for (const object of manifestObjects(path, files.get(path) ?? new Uint8Array(), (name) => names.add(path, name))) {
        values.add(path, object);
        names.checkObject(path, object);
        if (object.kind === "ClusterServiceVersion") csvs.push(csvFrom(path, object));
        else if (object.kind === "CustomResourceDefinition") {
          bundle.crds.push(MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", object) as Crd);
          const legacy = legacyCrd(object);
          if (legacy) bundle.legacyCrds.push(legacy);
        } else bundle.others.push(sortedKeys(object) as KubeObject);
      }
    } catch (err) {
      if (terminalIn(err)) throw err;
      const reason = err instanceof RangeError ? "its content is nested too deeply" : messageOf(err);
      throw new Error(`error parsing objects in ${goQuote(path)}: ${reason}`, { cause: err });
    }
  }
  const last = csvs.at(-1);
  if (!last) throw new Error(`no ClusterServiceVersion found in ${goQuote(manifests)}`);
  checkCount(bundle.crds.length + bundle.others.length + csvs.length + standsFor(last.csv));
  if (csvs.length > 1) cautions.push(severalCsvs(csvs));
  addProperties(last.csv, `${metadata}/properties.yaml`, files, names);
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

function checkCount(objects: number): void {
  const { objects: most } = BUNDLE_LIMITS;
  if (objects > most) throw bundleTooLarge(`it holds ${objects} objects, more than the ${most} allowed`);
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
