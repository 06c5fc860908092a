import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { type CaseHead, loadCases } from "./caseFiles.ts";

/** What becomes of the sound bundle, and what is found in it then. */
export interface BrokenBundle extends CaseHead {
  edit?: [file: string, from: string, to: string][];
  /** Null takes the file away. */
  files?: Record<string, string | null>;
  finds: { rule: string; says?: string; place?: string }[];
}

/** Folder of a bundle in which nothing is found. */
export const SOUND_BUNDLE = join(import.meta.dirname, "../cases/bundle-check/sound");

/** The texts of the sound bundle by path. */
export function soundBundle(): Map<string, string> {
  return new Map(
    readdirSync(SOUND_BUNDLE).flatMap((folder) =>
      readdirSync(join(SOUND_BUNDLE, folder)).map((file) => [`${folder}/${file}`, readFileSync(join(SOUND_BUNDLE, folder, file), "utf8")]),
    ),
  );
}

/** Every case of `test/cases/bundle-check`. */
export function brokenBundles(): BrokenBundle[] {
  return loadCases<BrokenBundle>("bundle-check");
}

/** The files of a case. @throws Error for an edit of something that is not there. */
export function brokenFiles({ edit = [], files = {} }: Pick<BrokenBundle, "edit" | "files">): BundleFiles {
  const texts = new Map<string, string | null>([...soundBundle(), ...Object.entries(files)]);
  for (const [file, from, to] of edit) {
    const text = texts.get(file) ?? "";
    if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`);
    texts.set(
      file,
      text.replace(from, () => to),
    );
  }
  return new Map([...texts].flatMap(([file, text]) => (text === null ? [] : [[file, Buffer.from(text)] as const])));
}
