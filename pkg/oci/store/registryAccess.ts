import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { type AuthFile, type CredentialSource, credentialsFor, mergedEntries, readAuthFile } from "../auth.ts";
import { certificateDir, readCertificates } from "../certificates.ts";
import { ImageSource, type Located } from "../imageSource.ts";
import { CATALOG_LIMITS, type Limits } from "../limits.ts";
import { pullSources } from "../mirrors.ts";
import type { Reference } from "../reference.ts";
import { defaultRegistriesConf, loadRegistriesConf, type RegistriesConfPaths } from "../registriesConf.ts";
import { Repository } from "../registry.ts";
import { TokenSource } from "../tokens.ts";
import { Transport } from "../transport.ts";

/** Finishing a large upload may take a registry a while. */
const PUSH_LIMITS: Limits = { ...CATALOG_LIMITS, stallMs: 180_000 };

/** How registries are reached from a command line. */
export interface RegistryAccessOptions {
  /** exactly this file, without drop-ins; by default the usual ones */
  readonly registriesConf?: string | undefined;
  /** exactly this docker config.json or containers auth.json; by default those that docker and podman log in to */
  readonly authFile?: string | undefined;
  readonly casDir?: string | undefined;
  /** Where images are pushed to, plain HTTP and unverified TLS are accepted. */
  readonly insecure?: boolean | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly limits?: Partial<Limits> | undefined;
}

/** Connections to registries: to read images where `registries.conf` says, and to write them where their reference says. */
export class RegistryAccess {
  readonly limits: Limits;
  readonly #options: RegistryAccessOptions;
  readonly #home = homedir();
  readonly #conf: RegistriesConfPaths;
  readonly #transport: Transport;
  readonly #tokens: TokenSource;
  readonly #source: ImageSource;

  constructor(options: RegistryAccessOptions) {
    const { registriesConf, authFile, casDir, env, log, limits } = options;
    this.#options = options;
    this.limits = { ...PUSH_LIMITS, ...limits };
    this.#transport = new Transport({ limits: this.limits, env, log });
    this.#tokens = new TokenSource(this.#transport, log);
    this.#conf = registriesConf === undefined ? defaultRegistriesConf(env, this.#home) : { file: registriesConf, required: true };
    this.#source = new ImageSource({
      registriesConf: this.#conf,
      authFile,
      credentials: authFile === undefined ? usualCredentials(env, this.#home) : undefined,
      casDir,
      home: this.#home,
      manifestBytes: this.limits.manifestBytes,
      transport: this.#transport,
      tokens: this.#tokens,
      log,
    });
  }

  /** Where an image is found, its mirrors first. @throws Error with what each place said. */
  locate(ref: Reference, signal: AbortSignal): Promise<Located> {
    return this.#source.withImage(ref, { signal }, (found) => Promise.resolve(found));
  }

  /** Asks whether an image is there, its mirrors first. @throws Error with what each place said, where it is not */
  look(ref: Reference, signal: AbortSignal): Promise<void> {
    return this.#source.look(ref, signal);
  }

  /** The repository to push to, which no mirror stands in for. */
  async repository(ref: Reference): Promise<Repository> {
    const { authFile, casDir, env } = this.#options;
    const entries = authFile === undefined ? await usualEntries(env, this.#home) : await readAuthFile(authFile);
    const credentials = credentialsFor(entries, ref.registry, ref.repository);
    const tls = await readCertificates(certificateDir(casDir, ref.registry, this.#home));
    const isInsecure = this.#options.insecure ?? pullSources(await loadRegistriesConf(this.#conf), ref).at(-1)?.insecure ?? false;
    const peer = { insecure: isInsecure, tls };
    return new Repository({ ref, peer, credentials, transport: this.#transport, tokens: this.#tokens, actions: "pull,push" });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/**
 * The files that docker and podman keep logins in, from the first that counts to the last: `$REGISTRY_AUTH_FILE` alone, or else podman's, then docker's.
 * @see https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md
 */
export function usualAuthFiles(env: NodeJS.ProcessEnv, home: string): string[] {
  const named = env["REGISTRY_AUTH_FILE"];
  if (named) return [named];
  const runtime = env["XDG_RUNTIME_DIR"];
  const config = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const docker = env["DOCKER_CONFIG"] || join(home, ".docker");
  const containers = [...(runtime ? [join(runtime, "containers/auth.json")] : []), join(config, "containers/auth.json")];
  return [...containers, join(docker, "config.json")].filter((file) => existsSync(file));
}

/** What is in these files. */
export function usualCredentials(env: NodeJS.ProcessEnv, home: string): CredentialSource {
  return { entries: () => usualEntries(env, home) };
}

async function usualEntries(env: NodeJS.ProcessEnv, home: string): Promise<AuthFile> {
  const files = await Promise.all(usualAuthFiles(env, home).map((file) => readAuthFile(file)));
  return mergedEntries(files.reverse());
}
