import * as z from "zod";
import { ContentError } from "../contentError.ts";
import { type Descriptor, MediaType, parseManifest } from "../manifest.ts";
import type { Repository } from "../registry.ts";
import { RegistryError, registryError } from "../registryError.ts";
import { readBounded } from "../verify.ts";

/** A manifest that says of itself that it belongs to another one. */
export interface Referrer {
  readonly digest: string;
  readonly artifactType: string;
  /** as the list has it */
  readonly descriptor: Descriptor;
}

const Typed = z.looseObject({ artifactType: z.string().default("") });
/** Answers of registries that do not know the endpoint. */
const UNKNOWN = new Set([400, 404, 405, 406]);

/**
 * What refers to a manifest, in the registry's order; from the tag that stands in for it where the registry has no such endpoint.
 * @throws ContentError when the list is none; RegistryError or Error when the registry fails
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers
 */
export async function referrersOf(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Referrer[]> {
  const bytes = (await asked(repository, digest, limit, signal)) ?? (await tagged(repository, digest, limit, signal));
  return bytes ? referrersIn(bytes) : [];
}

/** Those that a list names, in its order. @throws ContentError for what is no list */
export function referrersIn(bytes: Uint8Array): Referrer[] {
  const index = parseManifest(bytes, MediaType.ociIndex);
  if (index.kind !== "index") throw new ContentError("the list of referrers is no index");
  return index.manifests.map((entry) => ({
    digest: entry.digest,
    artifactType: Typed.safeParse(entry).data?.artifactType ?? "",
    descriptor: entry,
  }));
}

async function asked(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const answer = await repository.request({ method: "GET", path: `referrers/${digest}`, headers: { accept: MediaType.ociIndex }, signal });
  if (answer.status === 200) return readBounded(answer.body, limit);
  const err = await registryError(answer);
  if (UNKNOWN.has(answer.status)) return undefined;
  throw err;
}

async function tagged(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    return (await repository.manifest(digest.replace(":", "-"), limit, signal)).bytes;
  } catch (err) {
    if (err instanceof RegistryError && err.status === 404) return undefined;
    throw err;
  }
}
