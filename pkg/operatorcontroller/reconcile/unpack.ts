import { createHash } from "node:crypto";
import { getNamespace } from "../../api/clusterExtension.ts";
import { newProblem } from "../../api/problems.ts";
import { Ended, fail, type StepContext, stop, stopWithoutStatus } from "../../controller/stepSequence.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { listFailedLocations } from "../../oci/imageErrors.ts";
import { findLastDeployed, isOfAnotherWriter } from "../../release/record.ts";
import { readBundleFiles } from "../bundles/bundleFiles.ts";
import type { ObtainedImage } from "../bundles/bundleImages.ts";
import { limitOperatorCondition } from "../permissions/conditionPermission.ts";
import { getConfiguration } from "../state/extensionSpec.ts";
import { chooseOperatorCondition, type OperatorConditionInputs } from "../state/operatorConditionUse.ts";
import {
  isInstalled,
  keepsEarlierRelease,
  type Phase,
  type ReconcileStep,
  type Resolved,
  type ResolvedBundle,
  type Unpacked,
} from "../state/phases.ts";
import { chooseProxyVariables, type ProxyInputs } from "../state/proxyVariables.ts";
import type { Services } from "./services.ts";

/**
 * Increase this number when a code change renders different objects for the same input. Installed bundles are then
 * rendered again.
 */
const RENDERING = "1";

type UnpackServices = Pick<Services, "images" | "bundles" | "providers" | "memory"> & { managed: Pick<Services["managed"], "covers"> };

/**
 * Pulls and loads the bundle, unless the deployed release has the same input. Chooses the provider of certificates for
 * its webhooks and API services. Does not wait for a pull: the reconcile ends, and the end of the pull triggers the
 * next one.
 */
export function unpackBundle(services: UnpackServices): ReconcileStep<Resolved, Unpacked> {
  const { images, providers, managed } = services;
  return {
    name: "UnpackBundle",
    async run(resolved, { signal, log }) {
      const keep = async (phase: Resolved): Promise<Unpacked> => {
        await images.cancel(phase.extension.metadata.name);
        return { ...phase, phase: "unpacked" };
      };
      if (keepsEarlierRelease(resolved)) return keep(resolved);
      const isManaged = managed.covers(resolved.extension);
      const limited = isManaged ? resolved : await limitOperatorCondition(resolved, resolved.client, signal);
      const phase: Resolved = { ...limited, inputDigest: computeInputDigest(limited) };
      const [latest] = phase.releases.history.current;
      const isSame = latest?.status === "deployed" && latest.inputDigest === phase.inputDigest;
      if (isSame && !providers.isOutdated(latest.objects)) return keep(phase);
      const next = await pullBundle(services, phase, { signal, log });
      if (next instanceof Ended || !next.content?.needsCertificates) return next;
      const certProvider = await providers.choose(findLastDeployed(next.releases.history.current)?.objects ?? []);
      log.debug({ provider: certProvider?.name ?? "none" }, "certificate provider chosen");
      return { ...next, certProvider };
    },
  };
}

/**
 * Loads the bundle if its image is available. If the image of the installed bundle cannot be pulled, keeps the
 * installed objects and reports a problem.
 */
async function pullBundle(
  { images, bundles, memory }: Omit<UnpackServices, "providers" | "managed">,
  resolved: Resolved,
  { signal, log }: StepContext,
): Promise<Unpacked | Ended<Phase>> {
  const offered = getPullReference(resolved.bundle);
  const { requestedImage } = memory.of(resolved.extension);
  const ref = requestedImage?.ref === offered ? requestedImage.canonical : offered;
  let phase = resolved;
  try {
    const namespace = getNamespace(phase.extension) || undefined;
    const pull = await images.obtain(phase.extension, { ref, substitute: substituteImage(phase), namespace }, signal);
    if (pull.kind === "pending" && !pull.isSlow) return stopWithoutStatus(phase, { isPending: true });
    if (pull.kind === "pending" && (pull.lastError === undefined || !isInstalled(phase)))
      return stop({ ...phase, phase: "unpacking", image: ref, lastError: pull.lastError }, { isPending: true });
    if (pull.kind !== "done") throw pull.kind === "failed" ? pull.error : pull.lastError;
    const { image } = pull.value;
    phase = withSubstitute(phase, pull.value);
    log.debug({ image: image.canonical }, "bundle image unpacked");
    const content = await bundles.load(image.digest, () => readBundleFiles(image.dir));
    return { ...phase, phase: "unpacked", bundle: { ...phase.bundle, imageDigest: image.digest }, content, pulledImage: image.canonical };
  } catch (err) {
    signal.throwIfAborted();
    if (!isInstalled(resolved)) return fail(phase, err);
    log.warn({ image: ref, err: getErrorMessage(err) }, "bundle image not available, keeping the installed objects");
    const message = `cannot pull bundle image ${ref}, so the controller keeps the installed objects: ${getErrorMessage(err)}`;
    phase.report.problems.push(newProblem("ImagePullFailed", { severity: "Warning", message, details: listFailedLocations(err) }));
    return { ...phase, phase: "unpacked" };
  }
}

/**
 * Returns the current image in the catalog as a substitute if the image that the Go operator-controller installed no
 * longer exists. Without it, the bundle could not be adopted.
 */
function substituteImage({ bundle, releases }: Resolved): string | undefined {
  const base = findLastDeployed(releases.history.current);
  return base && isOfAnotherWriter(base) ? bundle.offered : undefined;
}

/** Returns the phase with the pulled image. Reports a problem if it is the substitute. */
function withSubstitute(phase: Resolved, { unavailable }: ObtainedImage): Resolved {
  const { offered, pullFrom, ...others } = phase.bundle;
  if (unavailable === undefined || offered === undefined) return phase;
  const message = `cannot pull image ${pullFrom ?? others.image}, so the controller adopts bundle "${others.name}" with image ${offered}: ${getErrorMessage(unavailable)}`;
  phase.report.problems.push(newProblem("ImagePullFailed", { severity: "Warning", message }));
  const adopted: Resolved = { ...phase, bundle: { ...others, image: offered } };
  return { ...adopted, inputDigest: computeInputDigest(adopted) };
}

/** Returns the reference to pull for a bundle. */
export function getPullReference({ image, pullFrom }: ResolvedBundle): string {
  return pullFrom ?? image;
}

/**
 * Returns the SHA-256 of everything that determines the applied objects, in hexadecimal: bundle, namespace,
 * configuration, pull secrets, proxy if there is one, OperatorCondition if it gets one, and the extension that owns them. The digest includes the extension's uid,
 * because an extension that was recreated with the same name must take over the objects.
 */
export function computeInputDigest(inputs: ProxyInputs & OperatorConditionInputs): string {
  const { extension, bundle, sourcedConfig } = inputs;
  const proxy = chooseProxyVariables(inputs);
  const operatorCondition = chooseOperatorCondition(inputs);
  const { install } = extension.spec;
  const input = {
    rendering: RENDERING,
    owner: extension.metadata.uid ?? "",
    image: bundle.image,
    name: bundle.name,
    version: bundle.version,
    release: bundle.release ?? null,
    namespace: getNamespace(extension),
    config: getConfiguration(inputs) ?? null,
    // Plans show this digest. It includes uids that only clients with access to the sources know; otherwise values could be guessed from the digest.
    ...(sourcedConfig ? { sources: sourcedConfig.identities } : {}),
    ...(install?.userRoles === "Aggregate" ? { userRoles: install.userRoles } : {}),
    ...(install?.imagePullSecrets?.length ? { imagePullSecrets: install.imagePullSecrets } : {}),
    ...(proxy === undefined ? {} : { proxy }),
    ...(operatorCondition === "None" ? {} : { operatorCondition }),
  };
  return createHash("sha256").update(encodeCanonicalJson(input)).digest("hex");
}
