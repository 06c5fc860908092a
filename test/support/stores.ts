import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { parseImageName } from "../../pkg/api/imageName.ts";
import { MediaType } from "../../pkg/oci/manifest.ts";
import { buildImage, type ImageParts } from "../../pkg/oci/publish/buildImage.ts";
import { type PushedDescriptor, type PushTarget, withPusher } from "../../pkg/oci/publish/push.ts";
import { readLogins } from "../../pkg/oci/registry/authFile.ts";
import { RegistryAccess } from "../../pkg/oci/registry/registryAccess.ts";
import { LayoutStore } from "../../pkg/oci/store/layoutStore.ts";
import { RegistryStore } from "../../pkg/oci/store/registryStore.ts";
import { folder, QUICK } from "./pulling.ts";

/** Never aborted. */
export const signal = new AbortController().signal;

/** Creates an empty layout for one test. */
export async function layout(): Promise<LayoutStore> {
  const created = new LayoutStore(join(await folder(), "layout"), "oci:layout");
  await created.create();
  return created;
}

/** Creates a repository of an insecure registry for one test. @param casDir folder with certificates */
export async function repository(name: string, auths?: object, casDir?: string): Promise<RegistryStore> {
  const authFile = join(await folder(), "auth.json");
  await writeFile(authFile, JSON.stringify({ auths }));
  const access = new RegistryAccess({
    logins: readLogins(authFile, {}, ""),
    casDir,
    insecure: true,
    env: {},
    log: pino({ enabled: false }),
    limits: QUICK,
  });
  onTestFinished(() => access.close());
  const ref = parseImageName(name);
  if (typeof ref === "string") throw new Error(ref);
  return new RegistryStore(await access.repository(ref), access.limits);
}

/** Creates the layers and configuration of an image, from texts by path. */
export function parts(files: Readonly<Record<string, string | Buffer>>, labels: Record<string, string> = {}): ImageParts {
  const archived = Object.entries(files).map(([path, text]) => {
    const bytes = Buffer.from(text as string);
    return { path, size: bytes.byteLength, open: () => toChunks(bytes) };
  });
  return { files: archived, labels, annotations: {} };
}

/** Writes an image to a layout. */
export async function built(files: Readonly<Record<string, string | Buffer>>, tag = "v1") {
  const store = await layout();
  return { store, ...(await buildImage(store, tag, parts(files), signal)) };
}

// oxlint-disable-next-line require-await -- bytes in the form that a file returns them
async function* toChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Pushes an index of images that are already in repository `name`, one for each platform. */
export async function pushIndex(
  target: PushTarget,
  name: string,
  tag: string,
  images: readonly (PushedDescriptor & { readonly platform: { readonly os: string; readonly architecture: string } })[],
): Promise<PushedDescriptor> {
  const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: images };
  return withPusher(target, name, (pusher) => pusher.manifest(tag, index));
}
