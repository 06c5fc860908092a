import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { goQuote } from "../../golang/quote.ts";

/** What a registry accepts as proof of identity; `registryToken` is used as it is, `identityToken` is exchanged for a token. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string | undefined;
  readonly registryToken?: string | undefined;
}

const Entry = z.looseObject({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
  registrytoken: z.string().optional(),
});
const Entries = z.record(z.string(), Entry);
const AuthFileShape = z.looseObject({ auths: Entries.nullish() });

/** The entries of a docker config.json or containers auth.json, by key: a host, a host with a path, or an old API URL. */
export type AuthFile = ReadonlyMap<string, z.output<typeof Entry>>;

/** Where credentials come from beside the file: what is known now, asked at each pull. */
export interface CredentialSource {
  /** Their entries; waits until they have been read once. An entry of a registry takes the place of the file's for the same key. */
  entries(signal: AbortSignal): Promise<AuthFile>;
}

/**
 * Reads a docker config.json or containers auth.json. It is read anew on each pull, so that a rotated secret is used at once. Credential
 * helpers are not run.
 * @param required false: a file that is not there holds nothing
 * @throws Error `reading JSON file "…": …`, which never quotes the content
 */
export async function readAuthFile(path: string | undefined, { required = false }: { required?: boolean } = {}): Promise<AuthFile> {
  if (path === undefined) return new Map();
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (err) {
    if (!required && (err as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new Error(`reading JSON file ${goQuote(path)}: ${(err as Error).message}`, { cause: err });
  }
  const parsed = AuthFileShape.safeParse(jsonOf(text));
  if (!parsed.success) throw new Error(`reading JSON file ${goQuote(path)}: it is not a docker config.json or containers auth.json`);
  return new Map(Object.entries(parsed.data.auths ?? {}));
}

/**
 * Reads what a pull Secret holds.
 * @param form `config` for `.dockerconfigjson`, a whole docker config.json; `cfg` for the older `.dockercfg`, its entries alone
 * @returns undefined when it is something else; why is not told, since that would quote the Secret
 */
export function readPullSecret(text: string, form: "config" | "cfg"): AuthFile | undefined {
  const json = jsonOf(text);
  const entries = form === "config" ? AuthFileShape.safeParse(json).data : { auths: Entries.safeParse(json).data };
  if (!entries || (form === "cfg" && !entries.auths)) return undefined;
  return new Map(Object.entries(entries.auths ?? {}));
}

/** All entries; of those with one key the last counts. */
export function mergedEntries(files: readonly AuthFile[]): AuthFile {
  return new Map(files.flatMap((file) => [...file]));
}

/** The parsed JSON, or undefined: the parser's own message would quote the secret. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The credentials for one repository: the entry with the longest matching path wins ("quay.io/org/app" before "quay.io/org" before
 * "quay.io"); hosts match whole, never as part of another. Then old URL keys ("https://index.docker.io/v1/") by their host.
 * @returns undefined when there is no entry, or an empty one (docker writes those beside a credential helper)
 */
export function credentialsFor(file: AuthFile, registry: string, repository: string): RegistryCredentials | undefined {
  for (let key = `${registry}/${repository}`; ; key = key.slice(0, key.lastIndexOf("/"))) {
    const entry = file.get(key);
    if (entry) return credentialsOf(entry);
    if (!key.includes("/")) break;
  }
  const host = hubAlias(registry);
  for (const [key, entry] of file) if (hostOfKey(key) === host) return credentialsOf(entry);
  return undefined;
}

function credentialsOf(entry: z.output<typeof Entry>): RegistryCredentials | undefined {
  let username = entry.username ?? "";
  let password = entry.password ?? "";
  if (entry.auth) {
    const decoded = Buffer.from(entry.auth, "base64").toString("utf8");
    const colon = decoded.indexOf(":");
    if (colon >= 0) {
      username = decoded.slice(0, colon);
      password = decoded.slice(colon + 1).replaceAll("\0", "");
    }
  }
  const identityToken = entry.identitytoken || undefined;
  const registryToken = entry.registrytoken || undefined;
  if (username === "" && password === "" && !identityToken && !registryToken) return undefined;
  return { username, password, identityToken, registryToken };
}

function hostOfKey(key: string): string {
  const stripped = key.replace(/^https?:\/\//, "");
  return hubAlias(stripped === key ? key : stripped.replace(/\/.*$/, ""));
}

function hubAlias(host: string): string {
  return host === "docker.io" || host === "registry-1.docker.io" ? "index.docker.io" : host;
}

/** Credentials from files, which are read anew each time. */
export interface Logins extends CredentialSource {
  entries(): Promise<AuthFile>;
}

/** Nobody logs in: what is not open to everybody is refused. */
export const NO_LOGINS: Logins = { entries: () => Promise.resolve(new Map()) };

/**
 * What a command line logs in with: the logins of `authFile`, which must be there, or without one those of docker and podman.
 * @throws Error from `entries`: `reading JSON file "…": …`, without its content
 */
export function loginsOf(authFile: string | undefined, env: NodeJS.ProcessEnv, home: string): Logins {
  return { entries: () => (authFile === undefined ? usualEntries(env, home) : readAuthFile(authFile, { required: true })) };
}

/**
 * The files that docker and podman keep logins in, from the first that counts to the last: `$REGISTRY_AUTH_FILE` alone, or else podman's, then docker's.
 * @see https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md
 */
function usualAuthFiles(env: NodeJS.ProcessEnv, home: string): string[] {
  const named = env["REGISTRY_AUTH_FILE"];
  if (named) return [named];
  const runtime = env["XDG_RUNTIME_DIR"];
  const config = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const docker = env["DOCKER_CONFIG"] || join(home, ".docker");
  const containers = [...(runtime ? [join(runtime, "containers/auth.json")] : []), join(config, "containers/auth.json")];
  return [...containers, join(docker, "config.json")].filter((file) => existsSync(file));
}

async function usualEntries(env: NodeJS.ProcessEnv, home: string): Promise<AuthFile> {
  const files = await Promise.all(usualAuthFiles(env, home).map((file) => readAuthFile(file)));
  return mergedEntries(files.reverse());
}
