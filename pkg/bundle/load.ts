import { Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { messageOf, RetryableError } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { dependenciesIn } from "./dependencies.ts";
import { sortedKeys } from "./goSpecial.ts";
import { MANIFEST_TYPES } from "./goTypes.ts";
import { jsonMismatch, kindOf } from "./goValues.ts";
import { legacyCrd } from "./legacyCrds.ts";
import { manifestObjects } from "./manifests.ts";
import { addProperties } from "./properties.ts";
import type { BundleFiles, Crd, Csv, RegistryV1Bundle } from "./types.ts";
import { yamlDocument } from "./yamlText.ts";

const ANNOTATIONS = "metadata/annotations.yaml";
const PROPERTIES = "metadata/properties.yaml";
const MANIFESTS = "manifests/";
const PACKAGE_ANNOTATION = "operators.operatorframework.io.bundle.package.v1";
/** The largest real bundles hold 105 files and 7 MB. */
const MAX_FILES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a registry+v1 bundle. Files in `manifests/` are read in the order of their names whatever they are called; of several
 * ClusterServiceVersions the last is taken. The CSV and CRDs go through Go's typed structs (see GoTypes), the rest stays as it is.
 * Dependencies that cannot be read keep nothing back, see `dependenciesIn`.
 * @throws RetryableError Retrying when something is missing, cannot be parsed or has the wrong type, in operator-controller's words; above
 * 2,000 files or 64 MiB.
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
  const annotations = files.get(ANNOTATIONS);
  if (!annotations) throw new Error(`open ${ANNOTATIONS}: no such file or directory`);
  const dependencies = dependenciesIn(files);
  const bundle: Omit<RegistryV1Bundle, "csv"> = {
    packageName: packageName(annotations),
    crds: [],
    legacyCrds: [],
    others: [],
    dependencies,
  };
  let csv: Csv | undefined;
  for (const path of manifestPaths(files)) {
    try {
      for (const object of manifestObjects(path, files.get(path) ?? new Uint8Array())) {
        if (object.kind === "ClusterServiceVersion")
          csv = MANIFEST_TYPES.convert("operators/v1alpha1.ClusterServiceVersion", object) as Csv;
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
  if (!csv) throw new Error('no ClusterServiceVersion found in "manifests"');
  addProperties(csv, files.get(PROPERTIES));
  return { ...bundle, csv };
}

function checkSize(files: BundleFiles): void {
  let bytes = 0;
  for (const content of files.values()) bytes += content.byteLength;
  if (files.size > MAX_FILES) throw new Error(`bundle holds ${files.size} files, more than the ${MAX_FILES} allowed`);
  if (bytes > MAX_BYTES) throw new Error(`bundle holds ${bytes} bytes, more than the ${MAX_BYTES} allowed`);
}

/** The paths below `manifests/` in the order of their names. @throws Error at the first subfolder. */
function manifestPaths(files: BundleFiles): string[] {
  const names = new Map<string, boolean>();
  for (const path of files.keys()) {
    if (!path.startsWith(MANIFESTS)) continue;
    const name = path.slice(MANIFESTS.length);
    const slash = name.indexOf("/");
    names.set(slash < 0 ? name : name.slice(0, slash), slash >= 0);
  }
  if (names.size === 0) throw new Error("stat manifests: no such file or directory");
  return [...names.keys()].sort().map((name) => {
    const path = `${MANIFESTS}${name}`;
    if (!names.get(name)) return path;
    throw new Error(
      `subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: found ${goQuote(path)}`,
    );
  });
}

/** The text under the package annotation; a number or boolean counts as the text that it spells. */
function packageName(content: Uint8Array): string {
  const document = yamlDocument(new TextDecoder().decode(content));
  const name = anyCase(anyCase(document, "annotations"), PACKAGE_ANNOTATION) ?? "";
  if (typeof name === "string") return name;
  if (typeof name === "number" || typeof name === "boolean" || typeof name === "bigint") return String(name);
  throw wrongType(name, "string");
}

/** The member of a map (or of nothing) under `key` in any letter case, as Go's decoder takes it; the last one counts. */
function anyCase(value: unknown, key: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (kindOf(value) !== "map") throw wrongType(value, "registry.AnnotationsFile");
  return Object.entries(value).findLast(([name]) => name.toLowerCase() === key)?.[1];
}

function wrongType(value: unknown, goName: string): Error {
  return new Error(`error unmarshaling JSON: while decoding JSON: ${jsonMismatch(value, goName).message}`);
}
