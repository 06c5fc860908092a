import { createHash } from "node:crypto";
import type { Step } from "../../controller/steps.ts";
import { messageOf } from "../../errors/errors.ts";
import { canonicalJson } from "../../fbc/canonical.ts";
import { bundleRoot } from "../../oci/bundleRoot.ts";
import type { ImageFilter } from "../../oci/puller.ts";
import { lastDeployed } from "../../release/record.ts";
import { isOfAnotherWriter } from "../../release/takenOver.ts";
import type { BundleCache } from "../bundleCache.ts";
import { readBundleFiles } from "../bundleFiles.ts";
import type { CertificateProviders } from "../certificates/providerChoice.ts";
import { configOf, type PassFacts, type ResolvedBundle } from "../facts.ts";
import { type ProxyFacts, proxyOf } from "../proxy/passProxy.ts";

/** Pulls an image into the owner's cache and tells where it lies. */
export interface BundlePuller {
  pull(
    owner: string,
    ref: string,
    options: { signal: AbortSignal; filter: ImageFilter },
  ): Promise<{ canonical: string; digest: string; dir: string }>;
}

/** What unpacking needs from the outside. */
export interface UnpackDependencies {
  puller: BundlePuller;
  bundles: Pick<BundleCache, "load">;
  providers: Pick<CertificateProviders, "choose" | "isOutdated">;
}

/** Raised when rendering changes what it makes of the same input, so that installed bundles are rendered anew. */
const RENDERING = "1";

/**
 * Fetches the bundle, unless a deployed release was already made from the very same input, and finds out who provides the certificates of
 * its webhooks and API services, if it has any.
 */
export function unpackBundle({ puller, bundles, providers }: UnpackDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "UnpackBundle",
    async run(facts, { signal, log }) {
      const { extension, resolved, installed } = facts;
      if (!resolved || facts.held || facts.pinned) return undefined;
      facts.inputDigest = inputDigest(facts);
      const [latest] = facts.history.current;
      const isSame = latest?.status === "deployed" && latest.inputDigest === facts.inputDigest;
      if (isSame && !providers.isOutdated(latest.objects)) return undefined;
      try {
        const image = await puller
          .pull(extension.metadata.name, pullReference(resolved), { signal, filter: bundleRoot })
          .catch((err: unknown) => {
            signal.throwIfAborted();
            return pullOffered(puller, facts, err, signal);
          });
        log.debug({ image: image.canonical }, "bundle image unpacked");
        facts.content = await bundles.load(image.digest, () => readBundleFiles(image.dir));
        facts.resolved = { ...(facts.resolved ?? resolved), imageDigest: image.digest };
      } catch (err) {
        signal.throwIfAborted();
        const same = installed?.name === resolved.name && installed.version === resolved.version;
        if (!same) throw err;
        log.warn({ image: pullReference(resolved), err: messageOf(err) }, "bundle image not available, keeping what is installed");
        facts.notes.push(
          `bundle image ${pullReference(resolved)} is not available: what is installed is kept as it is (${messageOf(err)})`,
        );
      }
      if (facts.content?.needsCertificates) {
        facts.certProvider = await providers.choose(lastDeployed(facts.history.current)?.objects ?? []);
        log.debug({ provider: facts.certProvider?.name ?? "none" }, "certificate provider chosen");
      }
      return undefined;
    },
  };
}

/**
 * What another operator-controller installed is taken over with the image that the catalog names now where the one that was installed is gone:
 * otherwise it could not be taken over at all.
 * @throws `cause` in any other case.
 */
async function pullOffered(puller: BundlePuller, facts: PassFacts, cause: unknown, signal: AbortSignal): ReturnType<BundlePuller["pull"]> {
  const { extension, resolved, history } = facts;
  const base = lastDeployed(history.current);
  if (resolved?.offered === undefined || !base || !isOfAnotherWriter(base)) throw cause;
  const { offered, pullFrom, ...others } = resolved;
  const image = await puller.pull(extension.metadata.name, offered, { signal, filter: bundleRoot });
  facts.resolved = { ...others, image: offered };
  facts.inputDigest = inputDigest(facts);
  facts.notes.push(
    `image ${pullFrom ?? resolved.image} is not available (${messageOf(cause)}): bundle "${resolved.name}" is taken over with image ${offered}`,
  );
  return image;
}

/** Where the image of a bundle is pulled from. */
export function pullReference({ image, pullFrom }: ResolvedBundle): string {
  return pullFrom ?? image;
}

/**
 * SHA-256 over all that the applied objects are made from, as hex: the bundle, where it goes, its configuration, the proxy of the cluster where it
 * has one, and the extension that owns them, since one that was made anew under its name must mark them as its own.
 */
export function inputDigest(facts: ProxyFacts): string {
  const { extension, resolved, sourcedConfig } = facts;
  const proxy = proxyOf(facts);
  const { namespace, install } = extension.spec;
  const input = {
    rendering: RENDERING,
    owner: extension.metadata.uid ?? "",
    image: resolved?.image,
    name: resolved?.name,
    version: resolved?.version,
    release: resolved?.release ?? null,
    namespace,
    config: configOf(facts) ?? null,
    // The digest is shown in plans: with uids in it that only those know who may read the sources, nobody finds a value by trying.
    ...(sourcedConfig ? { sources: sourcedConfig.identities } : {}),
    ...(install?.userRoles === "Aggregate" ? { userRoles: install.userRoles } : {}),
    ...(proxy === undefined ? {} : { proxy }),
  };
  return createHash("sha256").update(canonicalJson(input)).digest("hex");
}
