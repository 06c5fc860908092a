import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../pkg/api/k8s.ts";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../../pkg/certificates/providers.ts";
import { encodeGoJson } from "../../pkg/golang/json.ts";
import { isObject } from "../../pkg/golang/members.ts";
import { parseYamlDocuments, toYaml } from "../../pkg/golang/yaml.ts";
import type { RenderOptions } from "../../pkg/render/render.ts";
import { bundleFiles } from "../cases/topics/render.ts";
import { createRandom, pick, type Random, upTo } from "../support/random.ts";
import { changeKind, changeNode, measureSize } from "./mutateNodes.ts";
import { TEXT_MUTATIONS } from "./mutateText.ts";

/** A broken bundle and its render options. */
export interface FuzzCase {
  /** Folders of the bundles that it was created from. */
  readonly origins: readonly string[];
  /** The mutations in order, each with its file. */
  readonly steps: readonly string[];
  readonly files: BundleFiles;
  readonly options: RenderOptions;
}

/** Distance between the random sequences of two cases. */
const STRIDE = 7_919;
const MAX_STEPS = 4;
/** Maximum number of values in a document that is mutated. */
const MAX_VALUES = 100_000;
const OWN = ["../../pkg/devcluster/sample/bundles", "../goldens/bundles"].map((path) => join(import.meta.dirname, path));

/**
 * Returns the folders `<operator>/<version>` of the project's own bundles and, if given, of real bundles in a folder of operators.
 */
export function bundleFolders(real: string | undefined): string[] {
  const below = (folder: string): string[] =>
    readdirSync(folder)
      .sort()
      .map((name) => join(folder, name));
  return [...OWN, ...(real === undefined ? [] : below(real))].flatMap(below);
}

/** Returns the broken bundle with this number, always the same for the same bundles and seed. */
export function fuzzCase(bundles: readonly string[], seed: number, number: number): FuzzCase {
  const random = createRandom(seed * 1_000_003 + number * STRIDE);
  const origins = [pick(random, bundles)];
  const files = new Map(bundleFiles(origins[0] ?? ""));
  const steps: string[] = [];
  for (let left = Math.floor(random() ** 3 * (MAX_STEPS + 1)); left >= 0; left--) {
    const share = random();
    if (share < 0.1) steps.push(changeFiles(files, bundles, origins, random));
    else if (share < 0.4) steps.push(changeText(files, random));
    else steps.push(changeValues(files, random));
  }
  return { origins, steps, files, options: chooseOptions(random) };
}

function chooseOptions(random: Random): RenderOptions {
  const installNamespace = "operators";
  const config = pick<JsonObject | undefined>(random, [
    undefined,
    undefined,
    { watchNamespace: "watched" },
    { watchNamespace: installNamespace },
    { watchNamespace: null },
    { deploymentConfig: { env: [{ name: "A", value: "b" }], resources: { limits: { cpu: "1" } }, annotations: { a: "b" } } },
    { watchNamespace: "watched", deploymentConfig: { volumes: [{ name: "v", emptyDir: {} }], nodeSelector: {}, affinity: {} } },
  ]);
  const changed = structuredClone(config);
  if (changed && random() < 0.3) changeNode(changed, random);
  return { installNamespace, config: changed, certProvider: random() < 0.9 ? pick(random, CERTIFICATE_PROVIDERS) : undefined };
}

/** Adds, drops, renames or mixes files. */
function changeFiles(files: Map<string, Uint8Array>, bundles: readonly string[], origins: string[], random: Random): string {
  const path = pick(random, [...files.keys(), "manifests/none.yaml"]);
  const content = files.get(path) ?? new Uint8Array();
  const other = pick(random, bundles);
  const changes: Record<string, () => void> = {
    drop: () => files.delete(path),
    "make empty": () => files.set(path, new Uint8Array()),
    rename: () => {
      files.delete(path);
      files.set(
        pick(random, ["manifests/a.txt", "manifests/sub/a.yaml", "metadata/dependencies.yaml", "manifests/.hidden", "manifests/Ä"]),
        content,
      );
    },
    "copy over another file": () => files.set(pick(random, [...files.keys(), "metadata/properties.yaml", "manifests/copy.yaml"]), content),
    "append another file": () => {
      const next = files.get(pick(random, [...files.keys(), path])) ?? content;
      files.set(path, Buffer.concat([content, Buffer.from(pick(random, ["\n---\n", "\n", "---", "\n...\n", "\n--- x\n"])), next]));
    },
    "add the files of another bundle": () => {
      origins.push(other);
      for (const [name, bytes] of bundleFiles(other)) files.set(files.has(name) ? name.replace("/", "/b-") : name, bytes);
    },
    "overwrite with another bundle": () => {
      origins.push(other);
      for (const [name, bytes] of bundleFiles(other)) files.set(name, bytes);
    },
    "add a picture": () => files.set("manifests/icon.png", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")),
  };
  const name = pick(random, Object.keys(changes));
  changes[name]?.();
  return `${name}: ${path}`;
}

function changeText(files: Map<string, Uint8Array>, random: Random): string {
  const path = chooseFile(files, random);
  const name = pick(random, Object.keys(TEXT_MUTATIONS));
  const changed = TEXT_MUTATIONS[name]?.(Buffer.from(files.get(path) ?? []), random);
  if (changed) files.set(path, changed);
  return `${name}: ${path}`;
}

/** Mutates values of a readable file and writes it as YAML or JSON; mutates bytes of any other. */
function changeValues(files: Map<string, Uint8Array>, random: Random): string {
  const path = chooseFile(files, random);
  try {
    const documents = parseYamlDocuments(new TextDecoder().decode(files.get(path)));
    if (measureSize(documents, MAX_VALUES) > MAX_VALUES) return changeText(files, random); // expanded aliases would make it huge
    const done: string[] = [];
    for (let times = 1 + upTo(random, 3); times > 0; times--) {
      const document = pick(random, documents);
      if (random() < 0.08) done.push(changeKind(document, random));
      else done.push(changeNode(isObject(document) ? document : { document }, random) ?? "nothing");
      if (measureSize(documents, MAX_VALUES) > MAX_VALUES) return changeText(files, random);
    }
    // Indented deep nesting would make it huge.
    const asJson = random() < 0.2 || done.some((name) => name.startsWith("nest"));
    const texts = documents.map((document) => (asJson ? encodeGoJson(document, { sortKeys: false }) : toYaml(document)));
    files.set(path, Buffer.from(texts.join(asJson ? "\n" : "\n---\n")));
    return `${done.join(", ")}${asJson ? ", as JSON" : ""}: ${path}`;
  } catch {
    return changeText(files, random); // already malformed
  }
}

/** Picks the file with the ClusterServiceVersion in half of the cases, because most objects come from it. */
function chooseFile(files: ReadonlyMap<string, Uint8Array>, random: Random): string {
  const paths = [...files.keys(), ...(files.size === 0 ? ["manifests/csv.yaml"] : [])];
  const csv = paths.find((path) => /csv|clusterserviceversion/i.test(path));
  return csv !== undefined && random() < 0.5 ? csv : pick(random, paths);
}
