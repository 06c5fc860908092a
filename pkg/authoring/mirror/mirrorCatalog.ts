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
import { catalogParts } from "../build/imageContent.ts";
import { type ImageTerminal, publishImage } from "../build/publishImage.ts";
import { copyImages, type MirrorOutcome, mirrorEnds } from "./copyImages.ts";
import { destinationOf, imagesText, type MirroredImage, mappingText, mirroredImages } from "./mirroredImages.ts";
import {
  clusterCatalog,
  contentSourcePolicy,
  digestMirrorSet,
  type MirrorRuleOptions,
  registriesConf,
  tagMirrorSet,
} from "./mirrorRules.ts";
import { carriedAnnotations, formatMirroredRef, type MirrorGoal, type MirrorPlan, planMirror } from "./mirrorSource.ts";
import type { CatalogSelection } from "./subset.ts";

/** What the files of a mirror are about. */
interface MirrorFiles extends MirrorRuleOptions {
  readonly images: readonly MirroredImage[];
  /** the mirrored catalog, as a ClusterCatalog names it */
  readonly catalog: string;
}

/** The files of a mirror by name; none that would be empty. */
function mirrorFiles({ images, catalog, ...options }: MirrorFiles): ReadonlyMap<string, string> {
  const files: [name: string, text: string][] = [
    ["mapping.txt", mappingText(images)],
    ["images.txt", imagesText(images)],
    ["registries.conf", registriesConf(images, options)],
    ["imageContentSourcePolicy.yaml", contentSourcePolicy(images, options)],
    ["imageDigestMirrorSet.yaml", digestMirrorSet(images, options)],
    ["imageTagMirrorSet.yaml", tagMirrorSet(images, options)],
    ["clusterCatalog.yaml", clusterCatalog(options.name, catalog)],
  ];
  return new Map(files.filter(([, text]) => text !== ""));
}

/** Writes them. @returns their paths */
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

/** What is to be mirrored, and how. */
export interface MirrorRequest {
  /** folder or image of the catalog */
  readonly source: string;
  readonly target: MirrorGoal;
  /** undefined for the whole catalog */
  readonly selection: CatalogSelection | undefined;
  /** of the objects; by default made of the source's name */
  readonly name: string | undefined;
  /** folder of the files; by default made of the name */
  readonly toDir: string | undefined;
  /** How far to go: tell what would be done, write the files, or copy the images too. */
  readonly until: "told" | "written" | "copied";
  readonly continueOnError: boolean;
  readonly blockSources: boolean;
  readonly insecure: boolean;
  /** images at once */
  readonly parallel: number;
}

/** What came of it. */
export interface MirrorResult {
  /** the mirrored catalog, as a ClusterCatalog names it */
  readonly catalog: string;
  /** where images go, by their sources */
  readonly mapping: ReadonlyMap<string, string>;
  readonly images: readonly MirrorOutcome[];
  /** paths of what was written */
  readonly files: readonly string[];
}

/**
 * Mirrors the images that a catalog names, and then the catalog: who sees it in the mirror finds all of it there. A part of a catalog is built anew; a whole one
 * is copied, and keeps its digest.
 * @throws Error where something cannot be read or copied.
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
  const say = (text: string): void => terminal.err(`${escapeControlCharacters(text)}\n`);
  const { images, unusable } = mirroredImages(plan.content.images, isCarried ? "carried" : target);
  for (const { text, why } of unusable) say(`left out ${goQuote(text)}, which the catalog names as an image: ${why}`);
  for (const note of plan.content.notes) say(note);
  const copies = !plan.isNamed ? images : [...images, plan.catalog].sort((a, b) => compareText(a.source, b.source));
  const catalog = isCarried
    ? formatImagePlace({ kind: "oci", path: target.layout, tag: destinationOf(plan.catalog) })
    : formatMirroredRef(plan);
  const result = { catalog, mapping: new Map(copies.map((image) => [image.source, destinationOf(image)])), images: [], files: [] };
  const many = `${formatCount(images.length, "image")} of ${formatCount(plan.content.bundles, "bundle")}, and the catalog, to ${isCarried ? `oci:${target.layout}` : catalog.split("/")[0]}`;
  if (until === "told") {
    say(`would mirror ${many}`);
    return result;
  }
  if (isCarried) {
    say(`copying ${many}`);
    const outcomes = await carried(request, target.layout, plan, images, stores, terminal);
    say(`carry ${target.layout} to where the registry is, and go on there with: olmv1 catalog mirror ${catalog} REGISTRY[:PORT][/PATH]`);
    return { ...result, images: outcomes };
  }
  const texts = mirrorFiles({ images: copies, catalog, name, blockSources, insecure });
  const folder = request.toDir ?? `${name}-manifests`;
  const files = await writeFiles(folder, texts);
  say(`wrote ${formatCount(files.length, "file")} to ${folder}`);
  if (until === "written") return { ...result, files };
  say(`mirroring ${many}`);
  return { ...result, files, images: await copied(request, plan, images, { stores, to: undefined, terminal }) };
}

/** Fills a layout, and notes at last which catalog it carries. */
async function carried(
  request: MirrorRequest,
  path: string,
  plan: MirrorPlan,
  images: readonly MirroredImage[],
  stores: ImageStores,
  terminal: ImageTerminal,
): Promise<MirrorOutcome[]> {
  const to = await stores.layout(path);
  const outcomes = await copied(request, plan, images, { stores, to, terminal });
  const { source, sourceRepository, tag } = plan.catalog;
  const named = source.startsWith(sourceRepository) ? source : `${sourceRepository}:${tag}`;
  if (outcomes.every(({ status }) => status !== "failed"))
    await to.annotate(destinationOf(plan.catalog), carriedAnnotations({ source: named, isWhole: plan.isNamed }), terminal.signal);
  return outcomes;
}

async function copied(
  { continueOnError, parallel }: MirrorRequest,
  plan: MirrorPlan,
  images: readonly MirroredImage[],
  { stores, to, terminal: { err, signal } }: { stores: ImageStores; to: LayoutStore | undefined; terminal: ImageTerminal },
): Promise<MirrorOutcome[]> {
  const ends = mirrorEnds(stores, { from: plan.carried, to });
  const total = images.length + 1;
  let done = 0;
  const told = (outcome: MirrorOutcome, seconds: number): void => {
    done += 1;
    const count = `[${String(done).padStart(String(total).length)}/${total}]`;
    err(`${escapeControlCharacters(`${count} ${outcomeText(outcome, seconds)}`)}\n`);
  };
  const options = { parallel, continueOnError, signal, told };
  const outcomes = await copyImages(ends, images, options);
  if (plan.pinned !== undefined) return [...outcomes, ...(await copyImages(ends, [pinnedCatalog(plan.catalog, plan.pinned)], options))];
  const began = performance.now();
  const built = await builtCatalog(plan, stores, to, signal);
  told(built, (performance.now() - began) / 1000);
  return [...outcomes, built];
}

function pinnedCatalog(catalog: MirroredImage, pinned: string): MirroredImage {
  return { ...catalog, source: pinned, digest: pinned.slice(pinned.lastIndexOf("@") + 1) };
}

/** A part of a catalog, or a catalog that is in no registry, as an image in the mirror. */
async function builtCatalog(
  { content, catalog, dir }: MirrorPlan,
  stores: ImageStores,
  to: LayoutStore | undefined,
  signal: AbortSignal,
): Promise<MirrorOutcome> {
  const destination = destinationOf(catalog);
  const parts = content.text === undefined ? catalogParts(dir, { labels: {}, annotations: {} }) : partsOf(Buffer.from(content.text));
  const { digest, present } = await publishImage(
    stores,
    to ? { kind: "oci", path: to.dir, tag: destination } : parsePlace(destination),
    parts,
    signal,
  );
  return { source: catalog.source, destination, status: present ? "present" : "copied", digest };
}

/** @param text of the catalog, JSON Lines */
function partsOf(text: Uint8Array) {
  const open = async function* (): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(text);
  };
  const files = [{ path: "configs/catalog.json", size: text.byteLength, open }];
  return { files, labels: { [CONFIG_DIR_LABEL]: "/configs" }, annotations: {} };
}

function outcomeText({ source, destination, status, bytes, attached = 0, error }: MirrorOutcome, seconds: number): string {
  if (error !== undefined) return `failed: ${error}`;
  const size = bytes === undefined ? "" : `${(bytes / 1_000_000).toFixed(1)} MB in `;
  const took = status === "copied" ? `, ${size}${seconds.toFixed(1)} s` : "";
  return `${status} ${source} to ${destination}${took}${attached === 0 ? "" : `, ${attached} attached`}`;
}
