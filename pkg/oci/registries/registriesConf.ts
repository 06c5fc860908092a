import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse as parseToml, TomlError } from "smol-toml";
import * as z from "zod";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { redactUserinfo } from "../../text/redact.ts";
import { lowerHost } from "../imageScopes.ts";
import type { RegistriesConf, RegistryEntry } from "./pullSources.ts";

const Mirror = z.object({
  location: z.string().default(""),
  insecure: z.boolean().default(false),
  "pull-from-mirror": z.string().default(""),
});
const Entry = z.object({
  prefix: z.string().default(""),
  location: z.string().default(""),
  insecure: z.boolean().default(false),
  blocked: z.boolean().default(false),
  "mirror-by-digest-only": z.boolean().default(false),
  "pull-from-mirror": z.string().default(""),
  mirror: z.array(Mirror).default([]),
});
type ConfEntry = z.output<typeof Entry>;
const Names = z.object({ registries: z.array(z.string()).default([]) });
const ConfFile = z.object({
  registry: z.array(Entry).default([]),
  registries: z.object({ search: Names.optional(), insecure: Names.optional(), block: Names.optional() }).optional(),
});

/** Paths of registries.conf; `required` if a user configured the file. */
export interface RegistriesConfPaths {
  readonly file: string;
  readonly required?: boolean;
  /** folders of drop-in *.conf files; in this order, files in each sorted by name */
  readonly dropIns?: readonly string[];
}

/**
 * Returns the default paths of containers-registries.conf(5): the user's file if it exists, else
 * /etc/containers, and the drop-in folders. CONTAINERS_REGISTRIES_CONF sets another file,
 * CONTAINERS_REGISTRIES_CONF_DIR another folder.
 */
export function getDefaultRegistriesConf(env: NodeJS.ProcessEnv, home: string): RegistriesConfPaths {
  const userFile = join(home, ".config/containers/registries.conf");
  const userDir = `${userFile}.d`;
  const folder = env["CONTAINERS_REGISTRIES_CONF_DIR"];
  const named = env["CONTAINERS_REGISTRIES_CONF"];
  const dropIns = folder ? [folder] : ["/etc/containers/registries.conf.d", userDir];
  if (named) return { file: named, required: true, dropIns };
  if (existsSync(userFile)) return { file: userFile, dropIns: [folder || userDir] };
  return { file: "/etc/containers/registries.conf", dropIns };
}

/**
 * Loads and merges registries.conf and its drop-ins; of entries with the same prefix, the last file takes precedence.
 * @throws Error `loading registries configuration "…": …` or `loading drop-in registries
 * configuration "…": …`
 */
export async function loadRegistriesConf(paths: RegistriesConfPaths): Promise<RegistriesConf> {
  const dropIns = paths.dropIns ?? [];
  const byPrefix = new Map<string, RegistryEntry>();
  const add = (entries: readonly RegistryEntry[]): void => {
    for (const entry of entries) byPrefix.set(entry.prefix, entry);
  };
  const main = await readOptionalFile(paths.file, paths.required ?? false);
  if (main !== undefined) add(named(`loading registries configuration ${goQuote(paths.file)}`, () => parseRegistriesConf(main, true)));
  for (const file of await dropInFiles(dropIns)) {
    const text = await readOptionalFile(file, false);
    if (text !== undefined) add(named(`loading drop-in registries configuration ${goQuote(file)}`, () => parseRegistriesConf(text, false)));
  }
  return { entries: [...byPrefix.values()].sort((a, b) => compareText(a.prefix, b.prefix)), origin: [paths.file, ...dropIns].join(" or ") };
}

/**
 * Parses and validates the entries of one file, sorted by prefix. `allowV1` also accepts the old
 * format ([registries.search|insecure|block]).
 * @throws Error with the text of containers/image; TOML errors include the line.
 */
export function parseRegistriesConf(text: string, allowV1: boolean): RegistryEntry[] {
  const parsed = ConfFile.safeParse(parseTomlText(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`);
  }
  const conf = parsed.data;
  let entries = conf.registry;
  if (conf.registries) {
    if (!allowV1) throw new Error("registry must be in v2 format but is in v1");
    if (entries.length > 0) throw new Error("mixing sysregistry v1/v2 is not supported");
    entries = fromV1(conf.registries.block?.registries ?? [], conf.registries.insecure?.registries ?? []);
  }
  for (const entry of entries) check(entry);
  const conflicts = findConflicts(entries);
  const seen = new Map<string, ConfEntry>();
  for (const entry of entries) {
    const conflict = conflicts.get(entry.location || entry.prefix);
    if (conflict !== undefined)
      throw new Error(`registry '${entry.location}' is defined multiple times with conflicting '${conflict}' setting`);
    if (!seen.has(entry.prefix)) seen.set(entry.prefix, entry);
  }
  return [...seen.values()].sort((a, b) => compareText(a.prefix, b.prefix));
}

/** Returns the first setting in which entries of the same location differ, by location. */
function findConflicts(entries: readonly ConfEntry[]): Map<string, "insecure" | "blocked"> {
  const firsts = new Map<string, ConfEntry>();
  const conflicts = new Map<string, "insecure" | "blocked">();
  for (const entry of entries) {
    const location = entry.location || entry.prefix;
    const first = firsts.get(location) ?? entry;
    firsts.set(location, first);
    const conflict = (["insecure", "blocked"] as const).find((setting) => entry[setting] !== first[setting]);
    if (conflict !== undefined && !conflicts.has(location)) conflicts.set(location, conflict);
  }
  return conflicts;
}

/** Parses a file. Shortens the parser's message to its first line and adds the position. */
function parseTomlText(text: string): unknown {
  try {
    return parseToml(text);
  } catch (err) {
    if (!(err instanceof TomlError)) throw err;
    throw new Error(`line ${err.line}, column ${err.column}: ${err.message.split("\n", 1)[0]}`, { cause: err });
  }
}

function check(entry: ConfEntry): void {
  entry.location = location(entry.location);
  entry.prefix = lowerHost(location(entry.prefix) || entry.location);
  if (entry.prefix === "") throw new Error("invalid condition: both location and prefix are unset");
  if (entry.location === "" && !entry.prefix.startsWith("*."))
    throw new Error("invalid condition: location is unset and prefix is not in the format: *.example.com");
  if (entry.prefix.startsWith("*.") && /[/@:]/.test(entry.prefix))
    throw new Error(
      `Wildcarded prefix should be in the format: *.example.com. Current prefix ${goQuote(entry.prefix)} is incorrectly formatted`,
    );
  if (entry["pull-from-mirror"] !== "")
    throw new Error(`pull-from-mirror must not be set for a non-mirror registry ${goQuote(entry.prefix)}`);
  for (const mirror of entry.mirror) {
    mirror.location = location(mirror.location);
    const use = mirror["pull-from-mirror"];
    if (mirror.location === "") throw new Error("invalid condition: mirror location is unset");
    if (entry["mirror-by-digest-only"] && use !== "")
      throw new Error(
        `cannot set mirror usage mirror-by-digest-only for the registry (${goQuote(entry.prefix)}) and pull-from-mirror for per-mirror (${goQuote(mirror.location)}) at the same time`,
      );
    if (!["", "all", "digest-only", "tag-only"].includes(use))
      throw new Error(`unsupported pull-from-mirror value ${goQuote(use)} for mirror ${goQuote(mirror.location)}`);
  }
}

function location(text: string): string {
  const trimmed = text.replace(/\/+$/, "");
  if (/^https?:\/\//.test(trimmed)) throw new Error(`invalid location '${redactUserinfo(text)}': URI schemes are not supported`);
  return trimmed;
}

function fromV1(blocked: readonly string[], insecure: readonly string[]): ConfEntry[] {
  return [...new Set([...blocked, ...insecure])].map((name) =>
    Entry.parse({ location: name, prefix: name, blocked: blocked.includes(name), insecure: insecure.includes(name) }),
  );
}

async function dropInFiles(dirs: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const dir of dirs) {
    try {
      const found = await readdir(dir, { withFileTypes: true });
      const names = found.filter((entry) => !entry.isDirectory() && entry.name.endsWith(".conf")).map((entry) => entry.name);
      files.push(...names.sort(compareText).map((name) => join(dir, name)));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "ENOENT")
        throw new Error(`reading registries.conf.d: ${(err as Error).message}`, { cause: err });
    }
  }
  return files;
}

async function readOptionalFile(file: string, required: boolean): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (err) {
    if (!required && (err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`loading registries configuration ${goQuote(file)}: ${(err as Error).message}`, { cause: err });
  }
}

function named<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw new Error(`${doing}: ${(err as Error).message}`, { cause: err });
  }
}
