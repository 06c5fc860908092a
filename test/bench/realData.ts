import { buffer } from "node:stream/consumers";
import { catalogFiles } from "../cases/catalogFiles.ts";
import { NO_SHARED_DATA } from "../support/sharedDataFolder.ts";
import { type BenchContext, Skipped } from "./measurement.ts";

/** The folder of real data. @throws Skipped where there is none. */
export function dataFolder({ data }: BenchContext): string {
  if (data === undefined) throw new Skipped(NO_SHARED_DATA);
  return data;
}

/** The files of a catalog in memory, by slash path below the catalog's folder; from its archive where there is no folder. */
export async function catalogInMemory(folder: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for await (const { path, bytes } of catalogFiles(folder)) files.set(path, await buffer(bytes));
  return files;
}
