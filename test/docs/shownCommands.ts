import type { Fence } from "./page.ts";
import { readScript, type Script } from "./shell.ts";

/** Programs that begin a block of commands; other blocks without a language show output. */
const PROGRAMS = new Set(
  "olmv1 npm node npx kubectl oc helm docker podman kustomize opm cosign curl export source git diff openssl promtool go cd (cd mkdir cat OLMV1_TEST_FUZZ=10000".split(
    " ",
  ),
);
const PROMPT = /^\$ /;

/** Returns the script in a block; undefined if it contains something else. */
export function readShownScript({ language, text }: Fence): Script | undefined {
  const lines = text.split("\n");
  if (lines.some((line) => PROMPT.test(line))) return readScript(readTyped(lines).join("\n"));
  if (["sh", "bash"].includes(language)) return readScript(text);
  const first = lines.find((line) => line.trim() !== "" && !line.startsWith("#"))?.split(" ")[0] ?? "";
  return language === "" && PROGRAMS.has(first) ? readScript(text) : undefined;
}

/** Returns lines after a prompt, and their continuations. */
function readTyped(lines: readonly string[]): string[] {
  let goesOn = false;
  return lines.flatMap((line) => {
    const isTyped = goesOn || PROMPT.test(line);
    goesOn = isTyped && line.endsWith("\\");
    return isTyped ? [line.replace(PROMPT, "")] : [];
  });
}

/** Returns the arguments of olmv1 in these words, in any form of invocation; undefined if they run another program. */
export function olmv1Arguments(words: readonly string[]): readonly string[] | undefined {
  const text = words.join("\u0000");
  const found = /^(?:olmv1|kubectl\0olmv1|npm\0run\0-s\0olmv1\0--|node\0(?:dist\/olmv1\.js|cmd\/olmv1\/main\.ts))(?:\0(.*))?$/s.exec(text);
  const started = /^npm\0start(?:\0--\0(.*))?$/s.exec(text);
  if (started) return ["dev", ...(started[1]?.split("\u0000") ?? [])];
  return found ? (found[1]?.split("\u0000") ?? []) : undefined;
}
