import { readFile } from "node:fs/promises";

/** The image that the Dockerfile extends. */
export interface BaseImage {
  /** Such as "gcr.io/distroless/nodejs24-debian12". */
  readonly name: string;
  readonly tag: string;
  /** Such as "sha256:…". */
  readonly digest: string;
  /** Version of its Node.js, such as "24.21.0". */
  readonly node: string;
}

/** The address of the headers, which each binary of Node.js contains. @see https://nodejs.org/docs/latest-v24.x/api/process.html#processrelease */
const HEADERS = /\/node-v(\d+\.\d+\.\d+)-headers\.tar\.gz/;

/** Describes the base image of a Dockerfile. @param binary path of its Node.js, which may be for another platform */
export async function readBaseImage(dockerfile: string, binary: string): Promise<BaseImage> {
  return { ...parseBaseImage(await readFile(dockerfile, "utf8")), node: findNodeVersion(await readFile(binary)) };
}

/** Returns name, tag and digest of the image in stage `base`. @throws Error if the Dockerfile does not pin it by digest. */
export function parseBaseImage(dockerfile: string): Omit<BaseImage, "node"> {
  const [, name, tag, digest] = /^FROM ([\w./-]+):([\w.-]+)@(sha256:[0-9a-f]{64}) AS base$/m.exec(dockerfile) ?? [];
  if (name === undefined || tag === undefined || digest === undefined)
    throw new Error("the Dockerfile has no stage base with an image that is pinned by digest");
  return { name, tag, digest };
}

/** Returns the version of a binary of Node.js without running it. @throws Error if it is not a binary of a Node.js release. */
export function findNodeVersion(binary: Buffer): string {
  const [, version] = HEADERS.exec(binary.toString("latin1")) ?? [];
  if (version === undefined) throw new Error("the binary of Node.js contains no address of its headers, so that its version is unknown");
  return version;
}
