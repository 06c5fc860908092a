import { getNamespace } from "../../api/clusterExtension.ts";
import { isDigestReference } from "../../api/imageReference.ts";
import { readSuggestedNamespace } from "../../bundle/suggestedNamespace.ts";
import { type Ended, stopWithoutStatus } from "../../controller/stepSequence.ts";
import { findLastDeployed } from "../../release/record.ts";
import { renderExtension } from "../apply/preparedObjects.ts";
import type { WaitingError } from "../state/conditionPoller.ts";
import { chooseOperatorCondition, findOperatorCondition } from "../state/operatorConditionUse.ts";
import type { Phase, ReconcileStep, Resolved, Unpacked } from "../state/phases.ts";
import { chooseProxyVariables } from "../state/proxyVariables.ts";
import { requireCurrentCrds } from "./check.ts";
import { toDigestReference } from "./pinInstalledImage.ts";
import type { Services } from "./services.ts";
import { getPullReference } from "./unpack.ts";

/** How long an extension waits for a decision before its status reports that it waits, in milliseconds. Most decisions take much less. */
const QUIET_MS = 3_000;
/** Delay before the reconcile that has the ServiceAccount, in milliseconds. */
const AGAIN_MS = 1;

type PermissionSteps = Pick<Services, "managed" | "memory" | "now">;

/**
 * Requests the permissions to read the objects in `spec.config.valuesFrom`, if permission-manager grants those of the extension and has created no
 * ServiceAccount for it, and waits for them. Without such objects, the extension needs no permissions before its bundle is known.
 */
export function requestSources(services: PermissionSteps): ReconcileStep<Resolved> {
  const { managed } = services;
  return {
    name: "RequestSources",
    async run(phase, { signal }) {
      const { extension } = phase;
      if (!managed.covers(extension) || !extension.spec.config?.valuesFrom || managed.findAccount(extension)) return phase;
      return continueOrWait(services, phase, await managed.request(extension, undefined, signal));
    },
  };
}

/** Requests the permissions for the bundle if permission-manager grants those of the extension, and waits for them. */
export function requestPermissions(services: PermissionSteps): ReconcileStep<Unpacked> {
  const { managed } = services;
  return {
    name: "RequestPermissions",
    async run(phase, { signal }) {
      const { extension, bundle, pulledImage, held } = phase;
      const { catalog = extension.status?.install?.catalog, name, version } = bundle;
      // A bundle that was rolled back keeps its request, and with it the permissions of both bundles.
      if (!managed.covers(extension) || held) return phase;
      // A release that is restored is not pulled, and its reference may have a tag.
      const image = pulledImage ?? toDigestReference(getPullReference(bundle), bundle.imageDigest);
      if (catalog === undefined || !isDigestReference(image)) return phase;
      await requireRenderable(phase);
      const packageName = extension.spec.source.catalog?.packageName ?? "";
      const extras = needsOperatorCondition(phase) ? { operatorCondition: true } : {};
      const entry = services.memory.of(extension);
      delete entry.requestedImage;
      const undecided = await managed.request(extension, { catalog, packageName, name, version, image, ...extras }, signal);
      if (undecided) entry.requestedImage = { ref: getPullReference(bundle), canonical: image };
      return continueOrWait(services, phase, undecided);
    },
  };
}

/** Reports whether the bundle needs the permissions for an OperatorCondition: it gets one, or the installed objects have one. */
function needsOperatorCondition(phase: Unpacked): boolean {
  const base = findLastDeployed(phase.releases.history.current);
  return chooseOperatorCondition(phase) === "All" || findOperatorCondition(base?.objects ?? []) !== undefined;
}

/**
 * Renders the bundle before its permissions are requested, because permission-manager cannot derive those of a bundle that cannot be rendered.
 * @throws TerminalError for an invalid bundle or configuration
 */
async function requireRenderable(phase: Unpacked): Promise<void> {
  const { extension, bundle, content, certProvider } = phase;
  if (!content) return;
  const namespace = getNamespace(extension) || readSuggestedNamespace(bundle.packageName, content.annotations).name;
  const placed = { ...extension, spec: { ...extension.spec, namespace } };
  const choices = { proxy: chooseProxyVariables(phase), operatorCondition: chooseOperatorCondition(phase) };
  await renderExtension({ ...phase, extension: placed }, content, certProvider, choices);
  requireCurrentCrds(bundle.name, content);
}

/**
 * Returns the phase if permission-manager has decided. Otherwise ends the reconcile; the decision causes another one.
 * @throws WaitingError if it has not decided for a while
 */
function continueOrWait<P extends Resolved | Unpacked>(
  { memory, now }: Pick<PermissionSteps, "memory" | "now">,
  phase: P,
  undecided: WaitingError | undefined,
): P | Ended<Phase> {
  const entry = memory.of(phase.extension);
  if (undecided) {
    entry.undecidedSince ??= now();
    if (now() - entry.undecidedSince >= QUIET_MS) throw undecided;
    return stopWithoutStatus(phase, { isPending: true, requeueAfterMs: QUIET_MS });
  }
  delete entry.undecidedSince;
  // The steps before this one did not know the ServiceAccount, and perhaps not the namespace.
  return phase.isWithoutAccount ? stopWithoutStatus(phase, { requeueAfterMs: AGAIN_MS }) : phase;
}
