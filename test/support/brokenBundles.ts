import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { type CaseHead, loadCases } from "./caseFiles.ts";

/** An edit of the valid bundle, and the expected findings. */
export interface BrokenBundle extends CaseHead {
  edit?: [file: string, from: string, to: string][];
  /** Null deletes the file. */
  files?: Record<string, string | null>;
  finds: { rule: string; says?: string; place?: string }[];
}

/** Folder of a bundle without findings. */
export const SOUND_BUNDLE = join(import.meta.dirname, "../cases/bundle-check/sound");

/** The texts of the valid bundle by path. */
export function soundBundle(): Map<string, string> {
  return new Map(
    readdirSync(SOUND_BUNDLE).flatMap((folder) =>
      readdirSync(join(SOUND_BUNDLE, folder)).map((file) => [`${folder}/${file}`, readFileSync(join(SOUND_BUNDLE, folder, file), "utf8")]),
    ),
  );
}

/** Returns every case of `test/cases/bundle-check`. */
export function brokenBundles(): BrokenBundle[] {
  return loadCases<BrokenBundle>("bundle-check");
}

/** Returns the files of a case. @throws Error if an edit does not match any text. */
export function brokenFiles({ edit = [], files = {} }: Pick<BrokenBundle, "edit" | "files">): BundleFiles {
  const texts = new Map<string, string | null>([...soundBundle(), ...Object.entries(files)]);
  for (const [file, from, to] of edit) {
    const text = texts.get(file) ?? "";
    if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
    texts.set(
      file,
      text.replace(from, () => to),
    );
  }
  return new Map([...texts].flatMap(([file, text]) => (text === null ? [] : [[file, Buffer.from(text)] as const])));
}
