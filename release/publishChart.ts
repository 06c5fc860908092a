import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { copyImage } from "../pkg/oci/publish/copyImage.ts";
import { parseReference } from "../pkg/oci/reference.ts";
import { readLogins } from "../pkg/oci/registry/authFile.ts";
import { RegistryAccess } from "../pkg/oci/registry/registryAccess.ts";
import { unpackLayout } from "../pkg/oci/store/layoutArchive.ts";
import { getEntryName } from "../pkg/oci/store/layoutIndex.ts";
import { LayoutStore } from "../pkg/oci/store/layoutStore.ts";
import { RegistryStore } from "../pkg/oci/store/registryStore.ts";

/** Where `publishLayout` sends images. */
export interface PublishTarget {
  /** Such as "ghcr.io/olmv1/charts/olmv1". */
  readonly repository: string;
  /** File with logins. Default: those of docker and podman. */
  readonly authFile?: string | undefined;
  /** Whether plain HTTP and unverified certificates are accepted. */
  readonly insecure?: boolean;
}

/**
 * Sends all tagged images of an OCI layout in a tar archive to one repository of a registry. Digests stay the same.
 * @returns digest by tag
 * @throws RegistryError if the registry rejects an image.
 */
export async function publishLayout(archive: string, target: PublishTarget, signal: AbortSignal): Promise<Map<string, string>> {
  const { repository, authFile, insecure = false } = target;
  const { env } = process;
  const folder = await mkdtemp(join(tmpdir(), "olmv1-publish-"));
  const access = new RegistryAccess({ logins: readLogins(authFile, env, homedir()), insecure, env, log: pino({ enabled: false }) });
  try {
    await unpackLayout(archive, folder, signal);
    const layout = new LayoutStore(folder, archive);
    const store = new RegistryStore(await access.repository(parseReference(repository)), access.limits);
    const published = new Map<string, string>();
    for (const entry of await layout.entries()) {
      const tag = getEntryName(entry) ?? "";
      const { digest } = await copyImage(layout, await layout.manifest(tag, signal), store, { tag, signal });
      published.set(tag, digest);
    }
    return published;
  } finally {
    await access.close();
    await rm(folder, { recursive: true, force: true });
  }
}
