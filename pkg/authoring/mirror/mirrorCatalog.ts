import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { goQuote } from "../../golang/quote.ts";
import { formatImagePlace, parsePlace } from "../../oci/imagePlace.ts";
import { CONFIG_DIR_LABEL } from "../../oci/pull/imageFilter.ts";
import type { ImageStores } from "../../oci/store/imageStores.ts";
import type { LayoutStore } from "../../oci/store/layoutStore.ts";
import type { BundleReader } from "../../sources/bundleReader.ts";
import { compareText } from "../../text/compare.ts";
import { escapeControlCharacters } from "../../text/escape.ts";
import { formatCount } from "../../text/lists.ts";
import { buildCatalogParts } from "../build/imageContent.ts";
import { type ImageTerminal, publishImage } from "../build/publishImage.ts";
import { copyImages, createMirrorEnds, type MirrorOutcome } from "./copyImages.ts";
import { formatDestination, formatImages, formatMapping, type MirroredImage, mapMirroredImages } from "./mirroredImages.ts";
import {
  type MirrorRuleOptions,
  renderClusterCatalog,
  renderContentSourcePolicy,
  renderDigestMirrorSet,
  renderRegistriesConf,
  renderTagMirrorSet,
} from "./mirrorRules.ts";
import { formatMirroredRef, type MirrorGoal, type MirrorPlan, planMirror, selectAnnotations } from "./mirrorSource.ts";
import type { MirrorSelection } from "./subset.ts";

/** The input for the files of a mirror. */
interface MirrorFiles extends MirrorRuleOptions {
  readonly images: readonly MirroredImage[];
  /** Reference of the mirrored catalog for a ClusterCatalog. */
  readonly catalog: string;
}

/** Formats the files of a mirror by name. Omits empty files. */
function formatMirrorFiles({ images, catalog, ...options }: MirrorFiles): ReadonlyMap<string, string> {
  const files: [name: string, text: string][] = [
    ["mapping.txt", formatMapping(images)],
    ["images.txt", formatImages(images)],
    ["registries.conf", renderRegistriesConf(images, options)],
    ["imageContentSourcePolicy.yaml", renderContentSourcePolicy(images, options)],
    ["imageDigestMirrorSet.yaml", renderDigestMirrorSet(images, options)],
    ["imageTagMirrorSet.yaml", renderTagMirrorSet(images, options)],
    ["clusterCatalog.yaml", renderClusterCatalog(options.name, catalog)],
  ];
  return new Map(files.filter(([, text]) => text !== ""));
}

/** Writes files. @returns their paths */
async function writeFiles(dir: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  await mkdir(dir, { recursive: true });
  const paths: string[] = [];
  for (const [name, text] of files) {
    const path = join(dir, name);
    await writeFile(path, text);
    paths.push(path);
  }
  return paths;
}

/** Options for mirroring a catalog. */
export interface MirrorRequest {
  /** Folder or image of the catalog. */
  readonly source: string;
  readonly target: MirrorGoal;
  /** Undefined for the whole catalog. */
  readonly selection: MirrorSelection | undefined;
  /** Name of the objects. Default: derived from the source. */
  readonly name: string | undefined;
  /** Folder of the files. Default: derived from the name. */
  readonly toDir: string | undefined;
  /** Last step: print the plan, write the files, or copy the images. */
  readonly until: "planned" | "written" | "copied";
  readonly continueOnError: boolean;
  readonly blockSources: boolean;
  readonly insecure: boolean;
  /** Maximum concurrent copies. */
  readonly parallel: number;
}

/** The result of mirroring a catalog. */
export interface MirrorResult {
  /** Reference of the mirrored catalog for a ClusterCatalog. */
  readonly catalog: string;
  /** Destinations of images by source. */
  readonly mapping: ReadonlyMap<string, string>;
  readonly images: readonly MirrorOutcome[];
  /** Paths of written files. */
  readonly files: readonly string[];
}

/**
 * Mirrors the images of a catalog and, last, the catalog image, so that a mirrored catalog never references missing images. A whole catalog is copied
 * and keeps its digest. For a part of a catalog, builds a new image.
 * @throws Error if a source cannot be read or copied.
 */
export async function mirrorCatalog(
  request: MirrorRequest,
  stores: ImageStores,
  reader: BundleReader,
  terminal: ImageTerminal,
): Promise<MirrorResult> {
  const { target, until, blockSources, insecure } = request;
  const isCarried = "layout" in target;
  const plan = await planMirror(request, stores, reader, terminal.signal);
  const { name = plan.name } = request;
  const print = (text: string): void => terminal.err(`${escapeControlCharacters(text)}\n`);
  const { images, unusable } = mapMirroredImages(plan.content.images, isCarried ? "carried" : target, plan.catalog);
  for (const { text, reason } of unusable) print(`skipped invalid image reference ${goQuote(text)}: ${reason}`);
  for (const note of plan.content.notes) print(note);
  const copies = !plan.isNamed ? images : [...images, plan.catalog].sort((a, b) => compareText(a.source, b.source));
  const catalog = isCarried
    ? formatImagePlace({ kind: "oci", path: target.layout, tag: formatDestination(plan.catalog) })
    : formatMirroredRef(plan);
  const result = { catalog, mapping: new Map(copies.map((image) => [image.source, formatDestination(image)])), images: [], files: [] };
  const summary = `${formatCount(images.length, "image")} of ${formatCount(plan.content.bundles, "bundle")} and the catalog to ${isCarried ? `oci:${target.layout}` : catalog.split("/")[0]}`;
  if (until === "planned") {
    print(`would mirror ${summary}`);
    return result;
  }
  if (isCarried) {
    print(`copying ${summary}`);
    const outcomes = await fillLayout(request, target.layout, plan, images, stores, terminal);
    print(
      `copy ${target.layout} to a machine that can reach the registry, then run: olmv1 catalog mirror ${catalog} REGISTRY[:PORT][/PATH]`,
    );
    return { ...result, images: outcomes };
  }
  const texts = formatMirrorFiles({ images: copies, catalog, name, blockSources, insecure });
  const folder = request.toDir ?? `${name}-manifests`;
  const files = await writeFiles(folder, texts);
  print(`wrote ${formatCount(files.length, "file")} to ${folder}`);
  if (until === "written") return { ...result, files };
  print(`mirroring ${summary}`);
  return { ...result, files, images: await copyAll(request, plan, images, { stores, to: undefined, terminal }) };
}

/** Copies all images to a layout. Then annotates the catalog in the layout with its source. */
async function fillLayout(
  request: MirrorRequest,
  path: string,
  plan: MirrorPlan,
  images: readonly MirroredImage[],
  stores: ImageStores,
  terminal: ImageTerminal,
): Promise<MirrorOutcome[]> {
  const to = await stores.layout(path);
  const outcomes = await copyAll(request, plan, images, { stores, to, terminal });
  const { source, sourceRepository, tag } = plan.catalog;
  const named = source.startsWith(sourceRepository) ? source : `${sourceRepository}:${tag}`;
  if (outcomes.every(({ status }) => status !== "failed"))
    await to.annotate(formatDestination(plan.catalog), selectAnnotations({ source: named, isWhole: plan.isNamed }), terminal.signal);
  return outcomes;
}

async function copyAll(
  { continueOnError, parallel }: MirrorRequest,
  plan: MirrorPlan,
  images: readonly MirroredImage[],
  { stores, to, terminal: { err, signal } }: { stores: ImageStores; to: LayoutStore | undefined; terminal: ImageTerminal },
): Promise<MirrorOutcome[]> {
  const ends = createMirrorEnds(stores, { from: plan.carried, to });
  const total = images.length + 1;
  let done = 0;
  const onImage = (outcome: MirrorOutcome, seconds: number): void => {
    done += 1;
    const count = `[${String(done).padStart(String(total).length)}/${total}]`;
    err(`${escapeControlCharacters(`${count} ${formatOutcome(outcome, seconds)}`)}\n`);
  };
  const options = { parallel, continueOnError, signal, onImage };
  const outcomes = await copyImages(ends, images, options);
  if (plan.pinned !== undefined) return [...outcomes, ...(await copyImages(ends, [pinnedCatalog(plan.catalog, plan.pinned)], options))];
  const began = performance.now();
  const built = await buildCatalog(plan, stores, to, signal);
  onImage(built, (performance.now() - began) / 1000);
  return [...outcomes, built];
}

function pinnedCatalog(catalog: MirroredImage, pinned: string): MirroredImage {
  return { ...catalog, source: pinned, digest: pinned.slice(pinned.lastIndexOf("@") + 1) };
}

/** Builds an image in the mirror for a part of a catalog, or for a catalog that is not in a registry. */
async function buildCatalog(
  { content, catalog, dir }: MirrorPlan,
  stores: ImageStores,
  to: LayoutStore | undefined,
  signal: AbortSignal,
): Promise<MirrorOutcome> {
  const destination = formatDestination(catalog);
  const parts =
    content.text === undefined ? buildCatalogParts(dir, { labels: {}, annotations: {} }) : parseParts(Buffer.from(content.text));
  const { digest, present } = await publishImage(
    stores,
    to ? { kind: "oci", path: to.dir, tag: destination } : parsePlace(destination),
    parts,
    signal,
  );
  return { source: catalog.source, destination, status: present ? "present" : "copied", digest };
}

/** @param text of the catalog, JSON Lines */
function parseParts(text: Uint8Array) {
  const open = async function* (): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(text);
  };
  const files = [{ path: "configs/catalog.json", size: text.byteLength, open }];
  return { files, labels: { [CONFIG_DIR_LABEL]: "/configs" }, annotations: {} };
}

function formatOutcome({ source, destination, status, bytes, attached = 0, error }: MirrorOutcome, seconds: number): string {
  if (error !== undefined) return `failed: ${error}`;
  const size = bytes === undefined ? "" : `${(bytes / 1_000_000).toFixed(1)} MB in `;
  const took = status === "copied" ? `, ${size}${seconds.toFixed(1)} s` : "";
  return `${status} ${source} to ${destination}${took}${attached === 0 ? "" : `, ${attached} attached`}`;
}
