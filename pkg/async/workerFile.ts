import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the path of a worker thread's program. In a built program the bundled worker is in the same folder; in a checkout the source runs.
 * @param folder of the module that starts the thread. @param name of the worker's file in it, without ending.
 */
export function workerFile(folder: string, name: string): string {
  const bundled = join(folder, `${name}.js`);
  return existsSync(bundled) ? bundled : join(folder, `${name}.ts`);
}
