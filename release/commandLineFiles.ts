import { join } from "node:path";
import type { ArchivedFile } from "../pkg/oci/store/layerArchive.ts";
import { getFile, listFolder } from "./archives.ts";
import { ROOT } from "./project.ts";

/** Programs of the image that the command line neither starts nor imports. */
const SERVERS = /^(catalogd|operator-controller|permission-manager|console|cp-manifests)\.js/;

/**
 * Lists the files of a build that the command line needs: its modules, worker threads, the pages of the console, notices and bills of materials. Source
 * maps are only for developers.
 * @param dist folder of the build
 */
export async function listCommandLineFiles(dist: string): Promise<ArchivedFile[]> {
  const files = await listFolder(dist, "", (path) => !SERVERS.test(path) && !path.endsWith(".map"));
  return [...files, await getFile(join(ROOT, "LICENSE"), "LICENSE")];
}
