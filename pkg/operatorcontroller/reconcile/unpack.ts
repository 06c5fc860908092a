import { createHash } from "node:crypto";
import type { Step } from "../../controller/reconcile.ts";
import { messageOf } from "../../errors/errors.ts";
import { canonicalJson } from "../../golang/json.ts";
import { isOfAnotherWriter, lastDeployed } from "../../release/record.ts";
import type { CertificateProviders } from "../apply/certificateProviders.ts";
import type { BundleCache } from "../bundles/bundleCache.ts";
import { readBundleFiles } from "../bundles/bundleFiles.ts";
import type { BundleImage, BundleImageSource, ObtainedImage } from "../bundles/bundleImages.ts";
import { type ProxyFacts, proxyOf } from "../state/proxyVariables.ts";
import { configOf, type ReconcileState, type ResolvedBundle } from "../state/reconcileState.ts";

/** What unpacking needs from the outside. */
export interface UnpackDependencies {
  images: BundleImageSource;
  bundles: Pick<BundleCache, "load">;
  providers: Pick<CertificateProviders, "choose" | "isOutdated">;
}

/** Raised when rendering changes what it makes of the same input, so that installed bundles are rendered anew. */
const RENDERING = "1";

/**
 * Fetches the bundle, unless a deployed release was already made from the very same input, and finds out who provides the certificates of
 * its webhooks and API services, if it has any. It does not wait for a pull: the pass ends, and the end of the pull brings the next one.
 */
export function unpackBundle({ images, bundles, providers }: UnpackDependencies): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "UnpackBundle",
    async run(facts, { signal, log }) {
      const { extension, resolved } = facts;
      const notWanted = async (): Promise<undefined> => {
        await images.cancel(extension.metadata.name);
        return undefined;
      };
      if (!resolved || facts.held || facts.pinned) return notWanted();
      facts.inputDigest = inputDigest(facts);
      const [latest] = facts.history.current;
      const isSame = latest?.status === "deployed" && latest.inputDigest === facts.inputDigest;
      if (isSame && !providers.isOutdated(latest.objects)) return notWanted();
      try {
        const pull = await images.obtain(extension, { ref: pullReference(resolved), substitute: substituteOf(facts) }, signal);
        if (pull.kind === "pending" && !pull.isSlow) {
          facts.leave = true;
          return { isPending: true };
        }
        if (pull.kind === "pending" && (pull.lastError === undefined || !isInstalled(facts, resolved))) {
          facts.unpacking = { image: pullReference(resolved), lastError: pull.lastError };
          return { isPending: true };
        }
        if (pull.kind !== "done") throw pull.kind === "failed" ? pull.error : pull.lastError;
        const image = imageFrom(pull.value, facts);
        log.debug({ image: image.canonical }, "bundle image unpacked");
        facts.content = await bundles.load(image.digest, () => readBundleFiles(image.dir));
        facts.resolved = { ...(facts.resolved ?? resolved), imageDigest: image.digest };
      } catch (err) {
        signal.throwIfAborted();
        if (!isInstalled(facts, resolved)) throw err;
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

function isInstalled({ installed }: ReconcileState, resolved: ResolvedBundle): boolean {
  return installed?.name === resolved.name && installed.version === resolved.version;
}

/**
 * The image that the catalog names now, in place of one that another operator-controller installed and that is gone: without it, the bundle could
 * not be taken over.
 */
function substituteOf({ resolved, history }: ReconcileState): string | undefined {
  const base = lastDeployed(history.current);
  return base && isOfAnotherWriter(base) ? resolved?.offered : undefined;
}

/** The image, after it was noted where it is the substitute. */
function imageFrom({ image, unavailable }: ObtainedImage, facts: ReconcileState): BundleImage {
  if (unavailable === undefined || facts.resolved?.offered === undefined) return image;
  const { offered, pullFrom, ...others } = facts.resolved;
  facts.resolved = { ...others, image: offered };
  facts.inputDigest = inputDigest(facts);
  facts.notes.push(
    `image ${pullFrom ?? others.image} is not available (${messageOf(unavailable)}): bundle "${others.name}" is taken over with image ${offered}`,
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
