import { homedir } from "node:os";
import { goQuote } from "../../golang/quote.ts";
import { formatImagePlace, type ImagePlace } from "../../oci/imagePlace.ts";
import { buildImage, type ImageParts } from "../../oci/publish/buildImage.ts";
import { copyImage } from "../../oci/publish/copyImage.ts";
import { formatRepository } from "../../oci/reference.ts";
import { readLogins } from "../../oci/registry/authFile.ts";
import { RegistryAccess } from "../../oci/registry/registryAccess.ts";
import { readImageLabels } from "../../oci/store/imageStore.ts";
import { ImageStores } from "../../oci/store/imageStores.ts";
import { createLogger } from "../../telemetry/log.ts";

/** A published image, in the form that commands print. */
export interface ImageReport {
  /** Reference by digest, such as "quay.io/team/catalog@sha256:…"; for a layout, its path, "@" and the digest. */
  readonly image: string;
  /** The requested reference, by tag. */
  readonly reference: string;
  readonly digest: string;
  readonly mediaType: string;
  /** Whether the image already existed at this place. */
  readonly present: boolean;
}

/** Reports an image at a place. */
function reportImage(place: ImagePlace, image: { digest: string; mediaType: string }, present: boolean): ImageReport {
  const { digest, mediaType } = image;
  const name = place.kind === "registry" ? formatRepository(place.ref) : formatImagePlace({ ...place, tag: "" });
  return { image: `${name}@${digest}`, reference: formatImagePlace(place), digest, mediaType, present };
}

/** Builds an image and writes it to a layout or pushes it to a registry. @throws Error if a file cannot be read or the registry rejects the image. */
export async function publishImage(stores: ImageStores, place: ImagePlace, parts: ImageParts, signal: AbortSignal): Promise<ImageReport> {
  const scratch = await stores.scratch();
  const { manifest } = await buildImage(scratch, "", parts, signal);
  const tag = getTag(place);
  const { outcome: fate } = await stores.writing(place, signal, (writer) => copyImage(scratch, manifest, writer, { tag, signal }));
  return reportImage(place, manifest, fate === "present");
}

/** Returns the tag of an image at a place; "" for an untagged image in a layout. */
function getTag(place: ImagePlace): string {
  return place.kind === "registry" ? (place.ref.tag ?? "latest") : place.tag;
}

/** The label that identifies an expected kind of image. */
export interface ExpectedLabel {
  /** Kind of image, such as "catalog". */
  readonly what: string;
  readonly label: string;
}

/**
 * Copies an image with all its platforms to another place. Keeps its digest.
 * @param expected undefined to accept any image
 * @throws Error if the image is of another kind, or if either place cannot be accessed.
 */
export async function pushInto(
  stores: ImageStores,
  request: { from: ImagePlace; to: ImagePlace; expected: ExpectedLabel | undefined },
  signal: AbortSignal,
): Promise<ImageReport> {
  const { from, to, expected } = request;
  const { reader, manifest } = await stores.find(from, signal);
  if (expected && (await readImageLabels(reader, manifest, signal))[expected.label] === undefined)
    throw new Error(
      `${formatImagePlace(from)} is not a ${expected.what}: label ${expected.label} is missing. To push it anyway, use --force.`,
    );
  const copied = await stores.writing(to, signal, (writer) => copyImage(reader, manifest, writer, { tag: getTag(to), signal }));
  return reportImage(to, copied, copied.outcome === "present");
}

/** Parses `KEY=VALUE` texts. @throws Error if the key is missing. */
export function parseKeyValues(what: string, texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at <= 0) throw new Error(`invalid ${what} ${goQuote(text)}: must have the form KEY=VALUE`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** Options for access to registries. */
export interface ImageOptions {
  registriesConf?: string | undefined;
  authFile?: string | undefined;
  /** Whether to push over plain HTTP or without verifying certificates. */
  insecure?: boolean | undefined;
}

/** Terminal for image commands. */
export interface ImageTerminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Calls `work` with access to images in registries and layouts. Closes it afterwards and removes temporary files. */
export async function withImages<T>(options: ImageOptions, terminal: ImageTerminal, work: (stores: ImageStores) => Promise<T>): Promise<T> {
  const { registriesConf, authFile, insecure } = options;
  const { env } = terminal;
  const log = createLogger({ component: "olmv1", level: "warn", destination: { write: (line) => terminal.err(line) } });
  const stores = new ImageStores(new RegistryAccess({ registriesConf, logins: readLogins(authFile, env, homedir()), insecure, env, log }));
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}
