import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseYaml } from "../../pkg/golang/yaml.ts";

const ROOT = join(import.meta.dirname, "../..");

const Mutant = z.strictObject({
  breaks: z.string().min(1),
  file: z.string().regex(/^(?:pkg\/.*\.ts|config\/crd\/.*\.yaml)$/),
  from: z.string().min(1),
  to: z.string(),
  killedBy: z.array(z.string()).min(1),
});

/** A broken implementation: one text in one file is replaced. `killedBy` are the ids of the conformance scenarios that must fail. */
export type Mutant = z.output<typeof Mutant>;

/** Reads all mutants. @throws ZodError if one is invalid */
export function readMutants(): Mutant[] {
  return z.array(Mutant).parse(parseYaml(readFileSync(join(import.meta.dirname, "mutants.yaml"), "utf8")));
}

/** Returns the path of the file that a mutant changes. */
export function getMutatedPath({ file }: Pick<Mutant, "file">): string {
  return join(ROOT, file);
}

/** Returns the changed text of the file. @throws Error if the file does not contain the text exactly once */
export function mutateText({ file, from, to }: Mutant, text: string): string {
  const [before, after, ...more] = text.split(from);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`${file} contains the text ${text.split(from).length - 1} times, not once: ${from}`);
  return before + to + after;
}
