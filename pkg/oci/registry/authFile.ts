import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { tryParseJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";

/**
 * Credentials for a registry; `registryToken` is sent unchanged, `identityToken` is exchanged for a
 * token.
 */
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

/**
 * The entries of a docker config.json or containers auth.json, by key: a host, a host with a path,
 * or a legacy API URL.
 */
export type AuthFile = ReadonlyMap<string, z.output<typeof Entry>>;

/** Credentials in addition to the file; read for each pull. */
export interface CredentialSource {
  /**
   * Returns the entries; waits for the first read. An entry replaces the file's entry with the same
   * key.
   */
  entries(signal: AbortSignal): Promise<AuthFile>;
}

/**
 * Reads a docker config.json or containers auth.json. Called for each pull, so that a rotated
 * secret takes effect immediately. Does not run credential helpers.
 * @param required false: a missing file counts as empty
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
  const parsed = AuthFileShape.safeParse(tryParseJson(text));
  if (!parsed.success) throw new Error(`reading JSON file ${goQuote(path)}: not a docker config.json or containers auth.json`);
  return new Map(Object.entries(parsed.data.auths ?? {}));
}

/**
 * Parses a pull Secret.
 * @param form `config` for `.dockerconfigjson`, a whole docker config.json; `cfg` for the older
 * `.dockercfg`, only its entries
 * @returns undefined if it is invalid; gives no reason, because that would quote the Secret
 */
export function readPullSecret(text: string, form: "config" | "cfg"): AuthFile | undefined {
  const json = tryParseJson(text);
  const entries = form === "config" ? AuthFileShape.safeParse(json).data : { auths: Entries.safeParse(json).data };
  if (!entries || (form === "cfg" && !entries.auths)) return undefined;
  return new Map(Object.entries(entries.auths ?? {}));
}

/** Merges entries; of entries with the same key, the last takes precedence. */
export function mergeAuthEntries(files: readonly AuthFile[]): AuthFile {
  return new Map(files.flatMap((file) => [...file]));
}

/**
 * Returns the credentials for a repository: the entry with the longest matching path
 * ("quay.io/org/app" before "quay.io/org" before "quay.io"; hosts match completely), then legacy
 * URL keys ("https://index.docker.io/v1/") by their host.
 * @returns undefined if there is no entry, or an empty one (docker writes those next to a
 * credential helper)
 */
export function findCredentials(file: AuthFile, registry: string, repository: string): RegistryCredentials | undefined {
  for (let key = `${registry}/${repository}`; ; key = key.slice(0, key.lastIndexOf("/"))) {
    const entry = file.get(key);
    if (entry) return toCredentials(entry);
    if (!key.includes("/")) break;
  }
  const host = hubAlias(registry);
  for (const [key, entry] of file) if (hostOfKey(key) === host) return toCredentials(entry);
  return undefined;
}

function toCredentials(entry: z.output<typeof Entry>): RegistryCredentials | undefined {
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

/** Credentials from files, which are read on each use. */
export interface Logins extends CredentialSource {
  entries(): Promise<AuthFile>;
}

/** No credentials: only public images are accessible. */
export const NO_LOGINS: Logins = { entries: () => Promise.resolve(new Map()) };

/**
 * Returns the credentials for a command, from `authFile`, which must exist, or by default from the
 * files of docker and podman.
 * @throws Error from `entries`: `reading JSON file "…": …`, without its content
 */
export function readLogins(authFile: string | undefined, env: NodeJS.ProcessEnv, home: string): Logins {
  return { entries: () => (authFile === undefined ? usualEntries(env, home) : readAuthFile(authFile, { required: true })) };
}

/**
 * Returns the credential files of docker and podman, in order of precedence: only
 * `$REGISTRY_AUTH_FILE`, or else podman's, then docker's.
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
  return mergeAuthEntries(files.reverse());
}
