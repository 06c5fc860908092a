import { homedir } from "node:os";
import { goQuote } from "../../golang/quote.ts";
import { formatImagePlace, type ImagePlace } from "../../oci/imagePlace.ts";
import { buildImage, type ImageParts } from "../../oci/publish/buildImage.ts";
import { copyImage } from "../../oci/publish/copyImage.ts";
import { nameOf } from "../../oci/reference.ts";
import { loginsOf } from "../../oci/registry/authFile.ts";
import { RegistryAccess } from "../../oci/registry/registryAccess.ts";
import { imageLabels } from "../../oci/store/imageStore.ts";
import { ImageStores } from "../../oci/store/imageStores.ts";
import { createLogger } from "../../telemetry/log.ts";

/** An image that is where it was to be, for people and programs. */
export interface ImageReport {
  /** by digest, such as "quay.io/team/catalog@sha256:…"; of a layout the layout, a "@" and the digest */
  readonly image: string;
  /** as it was asked for, by tag */
  readonly reference: string;
  readonly digest: string;
  readonly mediaType: string;
  /** whether it was there before */
  readonly present: boolean;
}

/** The report of an image at a place. */
function imageReport(place: ImagePlace, image: { digest: string; mediaType: string }, present: boolean): ImageReport {
  const { digest, mediaType } = image;
  const name = place.kind === "registry" ? nameOf(place.ref) : formatImagePlace({ ...place, tag: "" });
  return { image: `${name}@${digest}`, reference: formatImagePlace(place), digest, mediaType, present };
}

/** Builds an image and puts it where it is to be: into a layout, or straight into a registry. @throws Error of the files, or of the registry. */
export async function publishImage(stores: ImageStores, place: ImagePlace, parts: ImageParts, signal: AbortSignal): Promise<ImageReport> {
  const scratch = await stores.scratch();
  const { manifest } = await buildImage(scratch, "", parts, signal);
  const tag = tagOf(place);
  const { fate } = await stores.writing(place, signal, (writer) => copyImage(scratch, manifest, writer, { tag, signal }));
  return imageReport(place, manifest, fate === "present");
}

/** The tag that an image gets at a place; "" of a layout for none. */
function tagOf(place: ImagePlace): string {
  return place.kind === "registry" ? (place.ref.tag ?? "latest") : place.tag;
}

/** What an image has to be, told by a label. */
export interface ExpectedLabel {
  /** such as "catalog" */
  readonly what: string;
  readonly label: string;
}

/**
 * Copies an image from one place to another, of several platforms all; its digest stays.
 * @param expected undefined where any image will do
 * @throws Error for an image that is something else; of either place.
 */
export async function pushInto(
  stores: ImageStores,
  request: { from: ImagePlace; to: ImagePlace; expected: ExpectedLabel | undefined },
  signal: AbortSignal,
): Promise<ImageReport> {
  const { from, to, expected } = request;
  const { reader, manifest } = await stores.find(from, signal);
  if (expected && (await imageLabels(reader, manifest, signal))[expected.label] === undefined)
    throw new Error(`${formatImagePlace(from)} is no ${expected.what}: it has no label ${expected.label}; --force pushes it all the same`);
  const copied = await stores.writing(to, signal, (writer) => copyImage(reader, manifest, writer, { tag: tagOf(to), signal }));
  return imageReport(to, copied, copied.fate === "present");
}

/** Texts `KEY=VALUE` as a record. @throws Error for one without a key. */
export function keyValues(what: string, texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at <= 0) throw new Error(`invalid ${what} ${goQuote(text)}: KEY=VALUE is expected`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** How registries are reached. */
export interface ImageOptions {
  registriesConf?: string | undefined;
  authFile?: string | undefined;
  /** about where images are pushed to */
  insecure?: boolean | undefined;
}

/** What of a terminal such commands need. */
export interface ImageTerminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Lends `work` what opens images in registries and layouts; it is closed afterwards, and nothing temporary is left. */
export async function withImages<T>(options: ImageOptions, terminal: ImageTerminal, work: (stores: ImageStores) => Promise<T>): Promise<T> {
  const { registriesConf, authFile, insecure } = options;
  const { env } = terminal;
  const log = createLogger({ component: "olmv1", level: "warn", destination: { write: (line) => terminal.err(line) } });
  const stores = new ImageStores(new RegistryAccess({ registriesConf, logins: loginsOf(authFile, env, homedir()), insecure, env, log }));
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}
