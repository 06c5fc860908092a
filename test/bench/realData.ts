import { buffer } from "node:stream/consumers";
import { catalogFiles } from "../cases/catalogFiles.ts";
import { NO_SHARED_DATA } from "../support/sharedDataFolder.ts";
import { type BenchContext, Skipped } from "./measurement.ts";

/** Returns the folder of real data. @throws Skipped if it does not exist. */
export function dataFolder({ data }: BenchContext): string {
  if (data === undefined) throw new Skipped(NO_SHARED_DATA);
  return data;
}

/** Reads the files of a catalog by slash path; from its archive if there is no folder. */
export async function catalogInMemory(folder: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for await (const { path, bytes } of catalogFiles(folder)) files.set(path, await buffer(bytes));
  return files;
}
