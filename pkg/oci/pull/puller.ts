import { homedir } from "node:os";
import type { Logger } from "pino";
import { Deadline } from "../../async/clock.ts";
import { KeyedLock } from "../../async/keyedLock.ts";
import { getErrorMessage, RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { findRefusedError, findRejectedError, ImageContentError, RejectedError } from "../imageErrors.ts";
import type { Limits } from "../limits.ts";
import { getPlatform } from "../manifest.ts";
import { type Evidence, isStillAdmitted, verifyImage } from "../policy/admission.ts";
import type { ImagePolicySource } from "../policy/imagePolicies.ts";
import { getDefaultPolicyPlace, type ImageRequirements, type PolicyPlace, SignaturePolicy } from "../policy/signaturePolicy.ts";
import {
  formatCanonical,
  formatFamiliarReference,
  formatReference,
  formatRepository,
  parsePullReference,
  type Reference,
} from "../reference.ts";
import { getDefaultRegistriesConf, type RegistriesConfPaths } from "../registries/registriesConf.ts";
import { findRegistryRefusal, type RegistrySettingsSource } from "../registries/registrySettings.ts";
import type { CredentialSource } from "../registry/authFile.ts";
import { ImageSource, type Located } from "../registry/imageSource.ts";
import { isFetchFailure, isTransient, UnreachableError } from "../registry/networkError.ts";
import { isRegistryFailure } from "../registry/registryError.ts";
import { RegistryTokens } from "../registry/tokens.ts";
import { RegistryTransport } from "../registry/transport.ts";
import { type CachedImage, type Draft, ImageCache, type StoredImage } from "./cache.ts";
import { fits, type ImageFilter, type PullJob, selectRequestedPart } from "./imageFilter.ts";
import { applyLayers, describeImage, downloadLayers, selectInstanceDigest } from "./unpack.ts";

export type { ImageFilter } from "./imageFilter.ts";

/** An image unpacked on disk. */
export interface PulledImage {
  /** the requested reference with a digest; never the name of a mirror */
  readonly canonical: string;
  /** of the manifest, or of the index for a multi-platform image */
  readonly digest: string;
  /**
   * the image's root directory on disk, read-only; it stays until the owner pulls another digest or
   * is removed
   */
  readonly dir: string;
  /** the unpacked part relative to `dir`, with slashes; "" for the whole image */
  readonly root: string;
  readonly labels: Readonly<Record<string, string>>;
  /** when the image was unpacked */
  readonly modTime: Date;
}

/** Where a puller finds its settings and stores images, and its limits. */
export interface PullerOptions {
  /** folder for unpacked images, with one folder per owner */
  readonly cacheDir: string;
  readonly limits: Limits;
  readonly log: Logger;
  /** one file without drop-ins, or paths; default: the paths of containers-registries.conf(5) */
  readonly registriesConf?: string | RegistriesConfPaths | undefined;
  /**
   * one containers-policy.json(5) file, or a path; default: the usual paths; without a file every
   * image is accepted
   */
  readonly signaturePolicy?: string | PolicyPlace | undefined;
  /** the image policies of the cluster; they add to the file */
  readonly imagePolicies?: ImagePolicySource | undefined;
  /** mirrors, blocked and allowed registries, and certificate authorities in the cluster; default: only files */
  readonly cluster?: RegistrySettingsSource | undefined;
  /** docker config.json or containers auth.json; may be missing */
  readonly authFile?: string | undefined;
  /**
   * additional credentials, which take precedence over the file; without either, pulls are
   * anonymous
   */
  readonly credentials?: CredentialSource | undefined;
  /** *.crt, *.cert and *.key for all registries; default: certs.d/<host> in the usual paths */
  readonly casDir?: string | undefined;
  /** for the proxy variables and CONTAINERS_REGISTRIES_CONF; default: process.env */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** default: process.arch */
  readonly arch?: NodeJS.Architecture | undefined;
}

/**
 * Pulls images and keeps them unpacked, one digest per owner. Reads configuration files again for
 * each pull.
 */
export class Puller {
  readonly #limits: Limits;
  readonly #log: Logger;
  readonly #arch: NodeJS.Architecture;
  readonly #cache: ImageCache;
  readonly #transport: RegistryTransport;
  readonly #source: ImageSource;
  readonly #policy: SignaturePolicy;
  readonly #cluster: RegistrySettingsSource | undefined;
  readonly #locks = new KeyedLock();
  /** The owner that last pulled each digest; may be outdated. */
  readonly #holders = new Map<string, string>();

  constructor(options: PullerOptions) {
    const { cacheDir, limits, log, registriesConf, signaturePolicy, cluster, authFile, credentials, casDir, env = process.env } = options;
    this.#cluster = cluster;
    this.#limits = limits;
    this.#log = log;
    this.#arch = options.arch ?? process.arch;
    this.#cache = new ImageCache(cacheDir);
    this.#transport = new RegistryTransport({ limits, env, log });
    const home = homedir();
    const places = typeof registriesConf === "string" ? { file: registriesConf, required: true } : registriesConf;
    const policy = typeof signaturePolicy === "string" ? { file: signaturePolicy, required: true } : signaturePolicy;
    this.#policy = new SignaturePolicy(() => policy ?? getDefaultPolicyPlace(home), log, options.imagePolicies);
    this.#source = new ImageSource({
      registriesConf: places ?? getDefaultRegistriesConf(env, home),
      cluster,
      authFile,
      credentials,
      casDir,
      home,
      manifestBytes: limits.manifestBytes,
      placeMs: limits.placeMs,
      transport: this.#transport,
      tokens: new RegistryTokens(this.#transport, log),
      log,
    });
  }

  /**
   * Returns the digest to which a reference currently resolves. A digest reference needs no
   * network. Signatures are verified during the pull.
   * @param isKnown whether the caller needs nothing but the digest for this result; then the manifest
   * is not fetched if the registry names its digest. Default: never
   * @throws TerminalError if the reference cannot be pulled; RetryableError `error creating image
   * source: …`, and `… Source image rejected: …` for an image that the signature policy always
   * rejects
   */
  async resolve(
    text: string,
    signal: AbortSignal,
    isKnown?: (canonical: string) => boolean,
  ): Promise<{ canonical: string; digest: string }> {
    const ref = parsePullReference(text);
    await this.#requirementsFor(ref, { signal });
    const digest = ref.digest ?? (await this.#bounded(ref, signal, (bounded) => this.#resolveTag(ref, bounded, isKnown)));
    return { canonical: formatCanonical(ref, digest), digest };
  }

  /** Returns whether the signature policy accepts an image only with signatures. @throws as `resolve` */
  async needsSignatures(text: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#requirementsFor(parsePullReference(text), { signal })).needSignatures;
  }

  /**
   * Returns the image of `owner` if no network access is needed: `text` contains a digest, the
   * owner or another owner has it on disk, and the signatures stored with it satisfy the policy.
   * Never waits for a pull in progress. Otherwise returns undefined; {@link pull} then reports
   * details.
   * @param o.namespace as for `pull`
   * @throws as `pull`
   */
  async cached(
    owner: string,
    text: string,
    o: { signal: AbortSignal; filter?: ImageFilter | undefined; namespace?: string | undefined },
  ): Promise<PulledImage | undefined> {
    const ref = parsePullReference(text);
    const { digest } = ref;
    if (digest === undefined || this.#locks.isHeld(lockKey(ref, digest))) return undefined;
    const requirements = await this.#requirementsFor(ref, o);
    const log = this.#log.child({ ref: text, digest, owner });
    const job = { owner, ref, digest, identity: ref, requirements, located: undefined, filter: o.filter, signal: o.signal, log };
    return this.#locks.run(lockKey(ref, digest), o.signal, async () => {
      for (const holder of [owner, this.#holders.get(digest)]) {
        const found = holder === undefined ? undefined : await this.#cache.find(holder, digest);
        if (!found || !fits(job, found) || !isStillAdmitted(requirements, ref, digest, found.stored)) continue;
        const image = holder === owner ? found : await this.#unpack(job, (draft) => this.#copyOther(job, draft));
        await this.#cache.discardPaused(owner);
        return image && this.#pulled(job, image);
      }
      return undefined;
    });
  }

  /**
   * Returns the unpacked image of `owner`. If the digest is already on disk, nothing is downloaded.
   * Owners that request the same digest from the same repository share one download. Other
   * repositories are queried independently, so that a slow registry does not delay another one.
   * Afterwards the owner's other images are removed; after a failure they are kept. Layers that
   * arrived before a connection failed are kept for the owner's next pull.
   *
   * The signature policy is applied each time before any layer is downloaded. An image on disk is
   * checked with its stored signatures, and with those in the registry only if the stored ones no
   * longer satisfy the policy.
   * @param owner name of the object that uses the image, a DNS-1123 subdomain
   * @param o.identity the policy and the mirrors apply to this reference if the caller has
   * already resolved a tag; default: `text`
   * @param o.namespace the namespace that uses the image, whose ImagePolicies apply; default: none
   * @throws TerminalError if the reference cannot be pulled, for a digest whose content is rejected
   * (it never changes), and if the filter throws one; RetryableError for all else, such as `error
   * copying image: Source image rejected: …`
   */
  async pull(
    owner: string,
    text: string,
    o: { signal: AbortSignal; filter?: ImageFilter | undefined; identity?: string | undefined; namespace?: string | undefined },
  ): Promise<PulledImage> {
    const ref = parsePullReference(text);
    const identity = o.identity === undefined ? ref : parsePullReference(o.identity);
    return this.#bounded(ref, o.signal, async (signal) => {
      const requirements = await this.#requirementsFor(identity, { namespace: o.namespace, signal });
      const located = ref.digest === undefined ? await this.#locateTag(ref, signal) : undefined;
      const digest = ref.digest ?? located?.manifest.digest ?? "";
      const log = this.#log.child({ ref: formatReference(ref), digest, owner });
      const job = { owner, ref, digest, identity, requirements, located, filter: o.filter, signal, log };
      return this.#pulled(job, await this.#locks.run(lockKey(ref, digest), signal, () => this.#obtain(job)));
    });
  }

  /** Removes all images of an owner. */
  async remove(owner: string): Promise<void> {
    await this.#cache.remove(owner);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  #pulled({ owner, ref, digest }: PullJob, { dir, modTime, stored }: CachedImage): PulledImage {
    this.#remember(digest, owner);
    return { canonical: formatCanonical(ref, digest), digest, dir, root: stored.root, labels: stored.config.labels, modTime };
  }

  async #obtain(job: PullJob): Promise<CachedImage> {
    const { owner, digest, log } = job;
    const mine = await doing("error checking cache for existing content: ", () => this.#cache.find(owner, digest));
    if (mine && fits(job, mine)) {
      const stored = await this.#admitAgain(job, mine.stored);
      if (stored !== mine.stored) await this.#cache.annotate(owner, digest, stored);
      await this.#cache.discardPaused(owner);
      log.debug("image already unpacked");
      return { ...mine, stored };
    }
    return this.#unpack(job, async (draft) => (await this.#copyOther(job, draft)) ?? this.#download(job, draft));
  }

  /**
   * Unpacks the content that `fill` writes into a draft as the owner's image; returns undefined if
   * it writes nothing.
   */
  #unpack(job: PullJob, fill: (draft: Draft) => Promise<StoredImage>): Promise<CachedImage>;
  #unpack(job: PullJob, fill: (draft: Draft) => Promise<StoredImage | undefined>): Promise<CachedImage | undefined>;
  async #unpack(job: PullJob, fill: (draft: Draft) => Promise<StoredImage | undefined>): Promise<CachedImage | undefined> {
    const { owner, digest, signal, log } = job;
    const draft = await doing("error creating temporary directory: ", () => this.#cache.begin(owner));
    let end = (): Promise<void> => this.#cache.discard(draft);
    try {
      const stored = await fill(draft);
      if (!stored) return undefined;
      const image = await doing("error applying image: ", () => this.#cache.publish(draft, owner, digest, stored));
      await doing("error deleting old images: ", () => this.#cache.removeOthers(owner, digest));
      return image;
    } catch (err) {
      // The next attempt uses the layers that are complete, so that slow links converge.
      if (isInterrupted(err, signal)) end = () => this.#cache.pause(draft, owner);
      // The disk may be full.
      else if (isFileFailure(err, signal))
        end = async () => {
          await Promise.all([this.#cache.discard(draft), this.#cache.discardPaused()]);
        };
      throw err;
    } finally {
      await end().catch((err: unknown) => log.warn({ err }, "cannot remove temporary image directory"));
    }
  }

  /** Fills the draft from another owner's copy; returns undefined if no copy fits. */
  async #copyOther(job: PullJob, draft: Draft): Promise<StoredImage | undefined> {
    const holder = this.#holders.get(job.digest);
    if (holder === undefined || holder === job.owner) return undefined;
    try {
      const image = await this.#cache.find(holder, job.digest);
      if (!image || !fits(job, image)) return undefined;
      const stored = await this.#admitAgain(job, image.stored);
      await this.#cache.copyInto(draft, image);
      job.log.info({ holder }, "image copied from another owner");
      return stored;
    } catch (err) {
      if (findRejectedError(err)) throw err;
      job.log.debug({ err, holder }, "cannot copy image from another owner");
      await this.#cache.empty(draft);
      return undefined;
    }
  }

  async #download(job: PullJob, draft: Draft): Promise<StoredImage> {
    const { signal, log } = job;
    const { image, part, evidence } = await this.#withImage(job, async (found) => {
      const evidence = await this.#admit(job, found);
      const image = await describeImage(found, getPlatform(this.#arch), this.#limits, signal);
      const part = selectRequestedPart(job, image.config);
      if ("filter" in part) await downloadLayers(found, image.layers, draft.scratch, this.#limits, signal);
      return { image, part, evidence };
    });
    if ("refused" in part) throw part.refused;
    log.info("pulled image");
    await doing("error applying image: ", () => applyLayers(image.layers, draft.scratch, draft.content, part.filter, this.#limits, signal));
    return { config: image.config, root: part.filter.root, ...evidence };
  }

  /** Calls `work` with the image at its location. */
  #withImage<T>({ ref, digest, identity, located, signal }: PullJob, work: (found: Located) => Promise<T>): Promise<T> {
    const isFromTag = identity.digest === undefined && formatRepository(identity) === formatRepository(ref);
    const pinned: Reference = { registry: ref.registry, repository: ref.repository, digest };
    const at = { start: located, isFromTag, doing: `initializing source docker://${formatFamiliarReference(pinned)}: `, signal };
    return doing("error copying image: ", () => this.#source.withImage(pinned, at, work));
  }

  /** @throws RejectedError */
  #admit({ identity, requirements, signal }: PullJob, found: Located): Promise<Evidence> {
    const instance = selectInstanceDigest(found, getPlatform(this.#arch));
    return verifyImage(requirements, { ref: identity, image: found, instance }, this.#limits, signal);
  }

  /**
   * Applies the policy to the image on disk. @returns `stored` itself if its stored signatures
   * still satisfy the policy. @throws RejectedError
   */
  async #admitAgain(job: PullJob, stored: StoredImage): Promise<StoredImage> {
    if (isStillAdmitted(job.requirements, job.identity, job.digest, stored)) return stored;
    return { ...stored, ...(await this.#withImage(job, (found) => this.#admit(job, found))) };
  }

  async #requirementsFor(
    identity: Reference,
    o: { readonly namespace?: string | undefined; readonly signal: AbortSignal },
  ): Promise<ImageRequirements> {
    try {
      const settings = await this.#cluster?.settings(o.signal);
      const refused = settings && findRegistryRefusal(settings, identity);
      if (refused) throw new RejectedError(refused.message, { problems: [refused] });
      return await this.#policy.requirementsFor(identity, o);
    } catch (err) {
      o.signal.throwIfAborted();
      throw wrapError(findRejectedError(err) ? "error copying image: " : "", err);
    }
  }

  #locateTag(ref: Reference, signal: AbortSignal): Promise<Located> {
    return doing("error creating image source: ", () => this.#source.locate(ref, signal));
  }

  async #resolveTag(ref: Reference, signal: AbortSignal, isKnown?: (canonical: string) => boolean): Promise<string> {
    if (!isKnown) return (await this.#locateTag(ref, signal)).manifest.digest;
    const isKnownDigest = (digest: string): boolean => isKnown(formatCanonical(ref, digest));
    return doing("error creating image source: ", () => this.#source.resolve(ref, isKnownDigest, signal));
  }

  #remember(digest: string, owner: string): void {
    for (const [other, holder] of this.#holders) if (holder === owner) this.#holders.delete(other);
    this.#holders.set(digest, owner);
  }

  /** Runs a pull within its time limit, and classifies its failure as terminal or retryable. */
  async #bounded<T>(ref: Reference, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = new Deadline(signal, this.#limits.timeoutMs);
    try {
      return await work(deadline.signal);
    } catch (err) {
      signal.throwIfAborted();
      if (deadline.isOver)
        throw new RetryableError(
          "Retrying",
          `pull of ${formatReference(ref)} timed out after ${this.#limits.timeoutMs / 1000} s: retrying; a closer mirror may be faster`,
          { cause: err },
        );
      throw findRefusedError(err) ? createUnpackError(ref, err) : err;
    }
  }
}

/** Returns whether the registry or the network ended the pull. The other causes are invalid content, this machine, and the caller. */
function isInterrupted(err: unknown, { reason }: AbortSignal): boolean {
  const isOver = reason instanceof DOMException && reason.name === "TimeoutError";
  return isOver || isTransient(err) || isFetchFailure(err) || isRegistryFailure(err);
}

/**
 * Returns whether a file operation of this machine ended the pull. The other causes are the content,
 * the policy, the registry and the caller.
 */
function isFileFailure(err: unknown, { aborted }: AbortSignal): boolean {
  if (aborted) return false;
  let isFound = false;
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof ImageContentError || e instanceof RejectedError || e instanceof UnreachableError) return false;
    isFound ||= "syscall" in e;
  }
  return isFound;
}

/** Returns the key of pulls that share one download. */
function lockKey(ref: Reference, digest: string): string {
  return formatCanonical(ref, digest);
}

/** The content of a digest never changes, but a tag can move to another image. */
function createUnpackError(ref: Reference, err: unknown): Error {
  const text = `${getErrorMessage(err)}; cannot unpack image ${formatReference(ref)}`;
  if (ref.digest === undefined) return new RetryableError("Retrying", `${text} until its tag refers to a valid image`, { cause: err });
  return new TerminalError("Blocked", `${text}: rebuild the image, or use another one`, { cause: err });
}

async function doing<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    throw wrapError(prefix, err);
  }
}
