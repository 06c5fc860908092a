import { homedir } from "node:os";
import type { Logger } from "pino";
import { CATALOG_IMAGE_LIMITS, type Limits } from "../limits.ts";
import type { Reference } from "../reference.ts";
import { listPullSources } from "../registries/pullSources.ts";
import { getDefaultRegistriesConf, loadRegistriesConf, type RegistriesConfPaths } from "../registries/registriesConf.ts";
import { findCredentials, type Logins } from "./authFile.ts";
import { getCertificateDir, readCertificates } from "./certificates.ts";
import { ImageSource, type Located } from "./imageSource.ts";
import { Repository } from "./repository.ts";
import { RegistryTokens } from "./tokens.ts";
import { RegistryTransport } from "./transport.ts";

/** Some registries need a long time to finish a large upload. */
const PUSH_LIMITS: Limits = { ...CATALOG_IMAGE_LIMITS, stallMs: 180_000 };

/** Options of registry access for command-line tools. */
export interface RegistryAccessOptions {
  /** one file, without drop-ins; default: the usual ones */
  readonly registriesConf?: string | undefined;
  readonly logins: Logins;
  readonly casDir?: string | undefined;
  /** Whether to accept plain HTTP and unverified TLS for pushes. */
  readonly insecure?: boolean | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly limits?: Partial<Limits> | undefined;
}

/**
 * Connections to registries: reads images according to `registries.conf`, and pushes them to the
 * host in their reference.
 */
export class RegistryAccess {
  readonly limits: Limits;
  readonly #options: RegistryAccessOptions;
  readonly #home = homedir();
  readonly #conf: RegistriesConfPaths;
  readonly #transport: RegistryTransport;
  readonly #tokens: RegistryTokens;
  readonly #source: ImageSource;

  constructor(options: RegistryAccessOptions) {
    const { registriesConf, logins, casDir, env, log, limits } = options;
    this.#options = options;
    this.limits = { ...PUSH_LIMITS, ...limits };
    this.#transport = new RegistryTransport({ limits: this.limits, env, log });
    this.#tokens = new RegistryTokens(this.#transport, log);
    this.#conf = registriesConf === undefined ? getDefaultRegistriesConf(env, this.#home) : { file: registriesConf, required: true };
    this.#source = new ImageSource({
      registriesConf: this.#conf,
      authFile: undefined,
      credentials: logins,
      casDir,
      home: this.#home,
      manifestBytes: this.limits.manifestBytes,
      placeMs: this.limits.placeMs,
      transport: this.#transport,
      tokens: this.#tokens,
      log,
    });
  }

  /** Finds an image, in its mirrors first. @throws Error with the errors of all locations. */
  locate(ref: Reference, signal: AbortSignal): Promise<Located> {
    return this.#source.locate(ref, signal);
  }

  /**
   * Calls `work` with the image at the first location that has it, and at the next one if a
   * location fails. @throws as `ImageSource.withImage`
   */
  withImage<T>(ref: Reference, signal: AbortSignal, work: (image: Located) => Promise<T>): Promise<T> {
    return this.#source.withImage(ref, { signal }, work);
  }

  /**
   * Checks that an image exists, in its mirrors first. @throws Error with the errors of all
   * locations if it does not exist
   */
  look(ref: Reference, signal: AbortSignal): Promise<void> {
    return this.#source.look(ref, signal);
  }

  /** Returns the repository to push to, without mirrors. */
  async repository(ref: Reference): Promise<Repository> {
    const { logins, casDir } = this.#options;
    const credentials = findCredentials(await logins.entries(), ref.registry, ref.repository);
    const tls = await readCertificates(getCertificateDir(casDir, ref.registry, this.#home));
    const isInsecure = this.#options.insecure ?? listPullSources(await loadRegistriesConf(this.#conf), ref).at(-1)?.insecure ?? false;
    const peer = { insecure: isInsecure, tls };
    return new Repository({ ref, peer, credentials, transport: this.#transport, tokens: this.#tokens, actions: "pull,push" });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
