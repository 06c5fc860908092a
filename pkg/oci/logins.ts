import { existsSync } from "node:fs";
import { join } from "node:path";
import { type AuthFile, type CredentialSource, mergedEntries, readAuthFile } from "./auth.ts";

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
