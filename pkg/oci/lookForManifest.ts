import { ACCEPTED_MANIFESTS } from "./manifest.ts";
import type { Repository } from "./registry.ts";

const OK = 200;

/**
 * Asks whether a repository has a manifest: with HEAD, which registries do not count as a pull, and with GET where the answer to that is not a clear yes. Some
 * registries and proxies refuse HEAD, or answer it without a digest, and none says why to it.
 * @throws as `Repository.manifest`, where there is none
 */
export async function lookForManifest(repository: Repository, tagOrDigest: string, limit: number, signal: AbortSignal): Promise<void> {
  const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
  const answer = await repository.request({ method: "HEAD", path: `manifests/${tagOrDigest}`, headers, signal });
  await answer.body.dump();
  const digest = answer.headers["docker-content-digest"];
  const isIt = typeof digest === "string" && (tagOrDigest.includes(":") ? digest === tagOrDigest : digest !== "");
  if (answer.status === OK && isIt) return;
  await repository.manifest(tagOrDigest, limit, signal);
}
