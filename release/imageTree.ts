import { createHash } from "node:crypto";
import { join } from "node:path";
import { createTarStream } from "../pkg/oci/store/layerArchive.ts";
import { getFile, listFolder } from "./archives.ts";
import { ROOT } from "./project.ts";

/**
 * Computes the digest of the files that the Dockerfile adds to its base image, as one uncompressed layer. Its bills of materials are those of the build,
 * without the base image.
 * @param dist folder of the build
 */
export async function computeTreeDigest(dist: string): Promise<string> {
  const tree = [
    ...(await listFolder(dist, "app/")),
    ...(await listFolder(join(ROOT, "config"), "config/")),
    await getFile(join(dist, "cp-manifests.js"), "cp-manifests", true),
    await getFile(join(ROOT, "LICENSE"), "licenses/LICENSE"),
    await getFile(join(dist, "THIRD_PARTY_NOTICES"), "licenses/THIRD_PARTY_NOTICES"),
  ];
  const hash = createHash("sha256");
  for await (const chunk of createTarStream(tree)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}
