import type { Logger } from "pino";
import { Deadline } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { formatList } from "../../text/lists.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { type FailedLocation, ImageContentError, LocationsError, RejectedError } from "../imageErrors.ts";
import { formatReference, formatRepository, type Reference } from "../reference.ts";
import { listPullSources, type PullSource, withClusterEntries } from "../registries/pullSources.ts";
import { loadRegistriesConf, type RegistriesConfPaths } from "../registries/registriesConf.ts";
import { NO_REGISTRY_SETTINGS, type RegistrySettings, type RegistrySettingsSource } from "../registries/registrySettings.ts";
import { type AuthFile, type CredentialSource, findCredentials, mergeAuthEntries, readAuthFile } from "./authFile.ts";
import { getCertificateDir, readCertificates } from "./certificates.ts";
import { isSilence } from "./networkError.ts";
import { checkManifestExists, type FetchedManifest, Repository } from "./repository.ts";
import type { RegistryTokens } from "./tokens.ts";
import type { RegistryTransport } from "./transport.ts";

/** Source of blobs; see `Repository`. */
export type BlobSource = Pick<Repository, "blob"> & Partial<Pick<Repository, "hasAlternative">>;

/** A manifest, and the source of the rest of its image. */
export interface FoundContent {
  readonly repository: BlobSource & Pick<Repository, "manifest">;
  readonly manifest: FetchedManifest;
}

/** A manifest and its repository. */
export interface Located extends FoundContent {
  readonly repository: Repository;
  readonly manifest: FetchedManifest;
}

/** The files, settings and connections that find images. */
export interface ImageSourceOptions {
  readonly registriesConf: RegistriesConfPaths;
  /** settings of the cluster in addition to the files */
  readonly cluster?: RegistrySettingsSource | undefined;
  readonly authFile: string | undefined;
  readonly credentials: CredentialSource | undefined;
  readonly casDir: string | undefined;
  readonly home: string;
  readonly manifestBytes: number;
  /** time limit for the manifest while there are other locations, in milliseconds */
  readonly placeMs: number;
  readonly transport: RegistryTransport;
  readonly tokens: RegistryTokens;
  readonly log: Logger;
}

/** Finds images in their registry or its mirrors. Each call reads the configuration files and the settings of the cluster again. */
export class ImageSource {
  readonly #options: ImageSourceOptions;

  constructor(options: ImageSourceOptions) {
    this.#options = options;
  }

  /** Finds the image at the first location that has it. @throws as `withImage` */
  async locate(ref: Reference, signal: AbortSignal): Promise<Located> {
    const found = await this.withImage(ref, { signal }, (image) => Promise.resolve(image));
    // The caller cannot use another location, so requests must be retried on timeouts.
    return { ...found, repository: found.repository.withAlternative(false) };
  }

  /**
   * Calls `work` with the image at the first location that has it, and if `work` fails, at the next
   * location: mirrors in their order, then the source. Skips a location that does not respond in
   * time if there are others. If a location stops responding during `work`, tries it again with all
   * retries after all other locations have failed.
   * @param o.start the location where a tag was resolved; it is tried first, and `ref` contains the
   * digest found there
   * @param o.isFromTag whether the digest was resolved from a tag, so that mirrors for tags apply
   * @param o.doing prefix of the error if the last location does not have the manifest
   * @throws an ImageContentError of `work` immediately, because other locations have the same
   * content; a RejectedError of `work` immediately, because an image is judged by the signatures at
   * its location; otherwise the last location's error, with those of the mirrors
   */
  async withImage<T>(
    ref: Reference,
    o: { readonly start?: Located | undefined; readonly isFromTag?: boolean; readonly doing?: string; readonly signal: AbortSignal },
    work: (image: Located) => Promise<T>,
  ): Promise<T> {
    const { signal } = o;
    const attempt = async (place: ImageLocation, hasAlternative: boolean): Promise<{ value: T } | undefined> => {
      let doing = o.doing ?? "";
      try {
        place.found ??= await place.locate(!hasAlternative);
        doing = "";
        const repository = place.found.repository.withAlternative(hasAlternative);
        return { value: await work({ ...place.found, repository }) };
      } catch (err) {
        signal.throwIfAborted();
        if (err instanceof ImageContentError || err instanceof RejectedError) throw err;
        place.failure = { ref: formatReference(place.ref), from: place.origin, doing, err };
        this.#options.log.debug({ ref: formatReference(place.ref), err }, "image is not available at this location");
        return undefined;
      }
    };
    const places = await this.#places(ref, o);
    for (const place of places) {
      const done = await attempt(place, place !== places.at(-1));
      if (done) return done.value;
    }
    // The last location was already tried with all retries.
    for (const place of places.slice(0, -1)) {
      if (!place.found || !isSilence(place.failure?.err)) continue;
      const done = await attempt(place, false);
      if (done) return done.value;
    }
    throw combineFailures(places.flatMap(({ failure }) => failure ?? []));
  }

  /**
   * Checks whether the first responding location has the image, if possible without fetching its
   * manifest. Skips a location that does not respond in time if there are others.
   * @throws as `withImage` if no location has it
   */
  async look(ref: Reference, signal: AbortSignal): Promise<void> {
    const { manifestBytes } = this.#options;
    await this.#atFirst(ref, signal, (repository, tag, until) => checkManifestExists(repository, tag, manifestBytes, until));
  }

  /**
   * Returns the digest of a tag at the first location that has it. Does not fetch the manifest if
   * the registry names a digest and `isKnown` returns true: registries do not count that as a
   * pull. @throws as `withImage` if no location has it
   */
  resolve(ref: Reference, isKnown: (digest: string) => boolean, signal: AbortSignal): Promise<string> {
    return this.#atFirst(ref, signal, async (repository, tag, until) => {
      // If this request fails, the next one reports why, in the same words as a pull.
      const digest = await repository.headManifest(tag, until).then(
        (head) => head.digest,
        () => undefined,
      );
      if (digest !== undefined && isKnown(digest)) return digest;
      return (await repository.manifest(tag, this.#options.manifestBytes, until)).digest;
    });
  }

  /** Calls `work` with the repository at each location until it succeeds. Skips a location that does not respond in time if there are others. */
  async #atFirst<T>(
    ref: Reference,
    signal: AbortSignal,
    work: (repository: Repository, tagOrDigest: string, until: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const failures: SourceFailure[] = [];
    const sources = await this.#sources(ref, signal);
    for (const source of sources) {
      try {
        return await this.#ask(source === sources.at(-1), signal, async (until) =>
          work(await this.#open(source, until), getTagOrDigest(source.ref), until),
        );
      } catch (err) {
        signal.throwIfAborted();
        failures.push({ ref: formatReference(source.ref), from: source.origin, doing: "", err });
      }
    }
    throw combineFailures(failures);
  }

  /** Returns the locations in order. */
  async #places(
    ref: Reference,
    { start, isFromTag, signal }: { readonly start?: Located | undefined; readonly isFromTag?: boolean; readonly signal: AbortSignal },
  ): Promise<ImageLocation[]> {
    const sources = await this.#sources(ref, signal, isFromTag);
    const isStart = (source: PullSource): boolean =>
      start !== undefined && formatRepository(start.repository.ref) === formatRepository(source.ref);
    const others = sources
      .filter((source) => !isStart(source))
      .map((source): ImageLocation => {
        const locate = (isLast: boolean): Promise<Located> => this.#ask(isLast, signal, (until) => this.#locate(source, until));
        return { ref: source.ref, origin: source.origin, locate };
      });
    if (!start) return others;
    return [{ ref: start.repository.ref, locate: () => Promise.resolve(start) }, ...others];
  }

  async #sources(ref: Reference, signal: AbortSignal, isFromTag?: boolean): Promise<PullSource[]> {
    const { fault, entries } = await this.#settings(signal);
    if (fault !== undefined) throw new Error(fault);
    return listPullSources(withClusterEntries(await loadRegistriesConf(this.#options.registriesConf), entries), ref, isFromTag);
  }

  async #settings(signal: AbortSignal): Promise<RegistrySettings> {
    return (await this.#options.cluster?.settings(signal)) ?? NO_REGISTRY_SETTINGS;
  }

  /**
   * Requests a manifest from a location. A location that does not respond must leave time for the
   * next ones. @throws Error after `placeMs` unless it is the last.
   */
  async #ask<T>(isLast: boolean, signal: AbortSignal, ask: (until: AbortSignal) => Promise<T>): Promise<T> {
    if (isLast) return ask(signal);
    const { placeMs } = this.#options;
    using deadline = new Deadline(signal, placeMs);
    try {
      return await ask(deadline.signal);
    } catch (err) {
      if (!deadline.isOver || signal.aborted) throw err;
      throw new Error(`fetching the manifest timed out after ${placeMs / 1000} s`, { cause: err });
    }
  }

  async #locate(source: PullSource, signal: AbortSignal): Promise<Located> {
    const repository = await this.#open(source, signal);
    return { repository, manifest: await repository.manifest(getTagOrDigest(source.ref), this.#options.manifestBytes, signal) };
  }

  async #open(source: PullSource, signal: AbortSignal): Promise<Repository> {
    if (source.blocked !== undefined) throw new Error(source.blocked);
    const { casDir, home, transport, tokens } = this.#options;
    const { ref, insecure } = source;
    const auth = await this.#entries(signal);
    const { authorities } = await this.#settings(signal);
    const tls = await readCertificates(getCertificateDir(casDir, ref.registry, home), authorities.get(ref.registry));
    const credentials = findCredentials(auth, ref.registry, ref.repository);
    return new Repository({ ref, peer: { insecure, tls }, credentials, transport, tokens, actions: "pull" });
  }

  /** Returns the entries of the file and of the additional source, which takes precedence. */
  async #entries(signal: AbortSignal): Promise<AuthFile> {
    const { authFile, credentials } = this.#options;
    try {
      return mergeAuthEntries([await readAuthFile(authFile), (await credentials?.entries(signal)) ?? new Map()]);
    } catch (err) {
      signal.throwIfAborted();
      throw new Error(`getting username and password: ${getErrorMessage(err)}`, { cause: err });
    }
  }
}

function getTagOrDigest(ref: Reference): string {
  return ref.digest ?? ref.tag ?? "latest";
}

/** One location of an image. */
interface ImageLocation {
  readonly ref: Reference;
  /** the objects of the cluster that configure it */
  readonly origin?: string | undefined;
  readonly locate: (isLast: boolean) => Promise<Located>;
  found?: Located;
  /** its last failure */
  failure?: SourceFailure;
}

/** A failed location, and the operation that failed. */
interface SourceFailure {
  readonly ref: string;
  readonly from: string | undefined;
  readonly doing: string;
  readonly err: unknown;
}

/** Most mirrors in a message, and the longest reason of each. containers/image has no limits. */
const MIRRORS_SHOWN = 10;
const REASON_MAX = 1_000;

/** Combines the errors of all tried locations, with the text of containers/image. */
function combineFailures(failures: readonly SourceFailure[]): Error {
  const last = failures.at(-1);
  if (!last) return new Error("no location to pull from");
  const locations = failures.map(({ ref: reference, from, err }): FailedLocation => ({ reference, from, message: getReason(err) }));
  const mirrors = locations.slice(0, -1).map(({ reference, message }) => `[${reference}: ${message}]`);
  const shown = formatList(mirrors, { max: MIRRORS_SHOWN, separator: "\n" });
  const others = mirrors.length === 0 ? "" : `(Mirrors also failed: ${shown}): ${last.ref}: `;
  return new LocationsError(`${last.doing}${others}${getErrorMessage(last.err)}`, locations, { cause: last.err });
}

function getReason(err: unknown): string {
  return truncateExcerpt(getErrorMessage(err), { length: REASON_MAX });
}
