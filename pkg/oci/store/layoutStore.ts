import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { digestProblem } from "../../api/imageName.ts";
import { KeyedLock } from "../keyedLock.ts";
import { type Descriptor, DescriptorShape, MediaType } from "../manifest.ts";
import type { FetchedManifest } from "../registry.ts";
import { Verifier } from "../verify.ts";
import type { BlobBytes, BlobFate, ImageReader, ImageWriter } from "./imageStore.ts";

/** The annotation of an entry of `index.json` that is its tag. */
export const REF_NAME = "org.opencontainers.image.ref.name";

const Entry = z.looseObject({ ...DescriptorShape.shape, annotations: z.record(z.string(), z.string()).optional() });
const IndexFile = z.looseObject({ schemaVersion: z.literal(2), manifests: z.array(Entry) });
type Entry = z.output<typeof Entry>;

/**
 * An OCI image layout in a folder: `oci-layout`, `index.json` and `blobs/`.
 * @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export class LayoutStore implements ImageReader, ImageWriter {
  readonly name: string;
  readonly dir: string;
  readonly #lock = new KeyedLock();
  #parts = 0;

  /** @param name for messages, such as "oci:build/catalog" */
  constructor(dir: string, name: string) {
    this.dir = dir;
    this.name = name;
  }

  /** Makes the folder a layout, unless it is one. @throws Error for a folder that holds something else. */
  async create(): Promise<void> {
    await mkdir(join(this.dir, "blobs", "sha256"), { recursive: true });
    await writeFile(join(this.dir, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await this.#lock.run("index", NEVER, async () => {
      if (!(await stat(join(this.dir, "index.json")).catch(() => undefined))) await this.#writeIndex([]);
    });
  }

  async manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest> {
    const found = await this.find(reference, signal);
    if (found) return found;
    const tags = (await this.entries()).flatMap(({ annotations }) => annotations?.[REF_NAME] ?? []);
    const held = tags.length === 0 ? "" : `; there are ${tags.join(", ")}`;
    throw new Error(`${this.name} has no image ${reference === "" ? "that is the only one: name its tag" : reference}${held}`);
  }

  async find(reference: string, _signal: AbortSignal): Promise<FetchedManifest | undefined> {
    const entries = await this.entries();
    const isDigest = reference.includes(":");
    const only = entries.length === 1 ? entries : [];
    const tagged = entries.filter(({ annotations }) => annotations?.[REF_NAME] === reference);
    const [entry] = isDigest ? entries.filter(({ digest }) => digest === reference) : reference === "" ? only : tagged;
    const digest = isDigest ? reference : entry?.digest;
    if (digest === undefined) return undefined;
    const bytes = await readFile(this.#blobFile(digest)).catch(undefinedIfMissing);
    if (!bytes) return undefined;
    const verifier = new Verifier({ digest, size: bytes.byteLength });
    verifier.update(bytes);
    verifier.finish();
    return { bytes, digest, mediaType: entry?.mediaType ?? mediaTypeIn(bytes) };
  }

  blob(blob: Descriptor, signal: AbortSignal): BlobBytes {
    return (offset) => checked(createReadStream(this.#blobFile(blob.digest), { start: offset, signal }), offset === 0 ? blob : undefined);
  }

  async has(reference: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.find(reference, signal))?.digest;
  }

  async putBlob(blob: Descriptor, bytes: BlobBytes, { signal }: { signal: AbortSignal }): Promise<BlobFate> {
    const file = this.#blobFile(blob.digest);
    const there = await stat(file).catch(undefinedIfMissing);
    if (there?.size === blob.size) return "present";
    const part = this.partFile();
    try {
      await pipeline(Readable.from(checked(bytes(0), blob), { objectMode: false }), createWriteStream(part), { signal });
      await this.adopt(part, blob.digest);
    } finally {
      await rm(part, { force: true });
    }
    return "sent";
  }

  async putManifest({ bytes, digest, mediaType }: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void> {
    await this.putBlob({ mediaType, digest, size: bytes.byteLength }, () => Readable.from([bytes]), { signal });
    if (tag === undefined) return;
    await this.#lock.run("index", signal, async () => {
      const others = (await this.entries()).filter(
        (entry) => entry.annotations?.[REF_NAME] !== tag && (tag !== "" || entry.digest !== digest),
      );
      const name = tag === "" ? {} : { annotations: { [REF_NAME]: tag } };
      await this.#writeIndex([...others, { mediaType, digest, size: bytes.byteLength, ...name }]);
    });
  }

  /** What `index.json` names. @throws Error where the folder is no layout. */
  async entries(): Promise<Entry[]> {
    const text = await readFile(join(this.dir, "index.json"), "utf8").catch(undefinedIfMissing);
    if (text === undefined) throw new Error(`${this.name} is no OCI image layout: it has no index.json`);
    const parsed = IndexFile.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data.manifests;
    throw new Error(`${this.name}: index.json is malformed: ${parsed.error.issues[0]?.message ?? ""}`);
  }

  /** Where a blob can be written whose digest is not known yet; then `adopt` it. */
  partFile(): string {
    this.#parts += 1;
    return join(this.dir, "blobs", `part-${process.pid}-${this.#parts}`);
  }

  /** Makes a file the blob of this digest, which it has to have. */
  async adopt(file: string, digest: string): Promise<void> {
    const target = this.#blobFile(digest);
    await mkdir(join(target, ".."), { recursive: true });
    await rename(file, target);
  }

  /** @throws Error for what is no digest, which would be no name of a file. */
  #blobFile(digest: string): string {
    const problem = digestProblem(digest);
    if (problem !== undefined) throw new Error(`${digest}: ${problem}`);
    return join(this.dir, "blobs", digest.replace(":", "/"));
  }

  async #writeIndex(manifests: readonly Entry[]): Promise<void> {
    const part = this.partFile();
    await writeFile(part, JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests }));
    await rename(part, join(this.dir, "index.json"));
  }
}

const NEVER = new AbortController().signal;

async function* checked(bytes: AsyncIterable<Uint8Array>, blob: Descriptor | undefined): AsyncGenerator<Uint8Array> {
  const verifier = blob && new Verifier(blob);
  for await (const chunk of bytes) {
    verifier?.update(chunk);
    yield chunk;
  }
  verifier?.finish();
}

function mediaTypeIn(bytes: Buffer): string {
  const body = jsonOf(bytes.toString("utf8"));
  const own = typeof body === "object" && body !== null && "mediaType" in body ? body.mediaType : undefined;
  return typeof own === "string" ? own : MediaType.ociManifest;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function undefinedIfMissing(err: unknown): undefined {
  if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
  throw err;
}
