import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_DROP_CONVERSION, FIELD_MANAGER, Reason } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { isConvertibleByName, readConversionService, readCrdStoredVersions } from "../../crdsafety/crdParts.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import type { CrdPolicy } from "../../release/plan.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { formatFirst } from "../state/objectActions.ts";
import { type CrdUse, checkCrdUse, getServedKind } from "./crdUse.ts";

/** The CRDs that a new release of an extension does not contain, and the objects that are deleted together with the operator. */
export interface LostConversionRequest {
  /** The extension's name. */
  extension: string;
  /** The live CRDs that the extension no longer contains. */
  crds: readonly KubeObject[];
  policy: CrdPolicy;
  /** All objects of the extension's releases. A conversion webhook's Service among them is deleted. */
  recorded: readonly ObjectRef[];
  /** Whether annotation drop-conversion of the extension is "true". */
  isForced: boolean;
  /** The start of the message, such as "not uninstalled". */
  refusal: string;
}

/** A CRD that loses its conversion webhook. */
interface LostConversion {
  crd: KubeObject;
  use: CrdUse;
  /** Whether the custom resources do not need the webhook, none exist, or the annotation accepts the loss. */
  isSafe: boolean;
}

/** Interval in milliseconds of the check whether the custom resources are deleted. */
const RECHECK_MS = 3_000;
/** Maximum number of custom resources that are read for the message. */
const READ_MAX = 100;

/** A kept CRD whose custom resources only the removed operator can convert. */
export interface NeededConversion {
  readonly crd: KubeObject;
  /** The CRD, the reason why it is kept, and its custom resources. */
  readonly text: string;
}

/**
 * Finds kept CRDs whose custom resources only the removed operator can convert: without its webhook, the API server cannot read or delete them. Each
 * such CRD stops the upgrade or uninstall.
 */
export async function findNeededConversions(
  client: Pick<Client, "get" | "list" | "raw">,
  request: Omit<LostConversionRequest, "extension" | "refusal">,
  signal: AbortSignal,
): Promise<NeededConversion[]> {
  const needed: NeededConversion[] = [];
  for (const lost of await findLostConversions(client, request, signal))
    if (!lost.isSafe) needed.push({ crd: lost.crd, text: await describeLoss(client, lost, signal) });
  return needed;
}

/**
 * Denies the loss of conversion webhooks that `findNeededConversions` finds.
 * @returns the problem, and WaitingError ConversionNeeded with the CRDs, their custom resources and the suggested fix; undefined if there is no such
 * CRD.
 */
export async function checkConversions(
  client: Pick<Client, "get" | "list" | "raw">,
  request: LostConversionRequest,
  signal: AbortSignal,
): Promise<{ problem: Problem; error: WaitingError } | undefined> {
  const needed = await findNeededConversions(client, request, signal);
  const [first] = needed;
  if (!first) return undefined;
  const { extension, refusal } = request;
  const message = `${refusal}: ${needed.map((one) => one.text).join("; ")}`;
  const next =
    "keep the custom resources without conversion, which can hide fields that only one version has: " +
    `kubectl annotate clusterextension ${extension} ${ANNOTATION_DROP_CONVERSION}=true; or delete the custom resources that you no longer need`;
  const details = needed.map(({ crd, text }) => ({ name: crd.metadata.name, message: text }));
  const problem = newProblem("ConversionNeeded", { message, next, details });
  const isOver = async (until: AbortSignal): Promise<boolean> => (await checkCrdUse(client, first.crd, until)).kind !== "in use";
  return { problem, error: new WaitingError(Reason.ConversionNeeded, message, { isOver, everyMs: RECHECK_MS, problems: [problem] }) };
}

/**
 * Sets `conversion.strategy: None` in CRDs that lose their conversion webhook. Otherwise their custom resources could no longer be read or deleted.
 * @returns a sentence for each changed CRD.
 * @throws KubeError 409 if another client changes a CRD at the same time; WaitingError as in `checkConversions`.
 */
export async function dropConversions(
  client: Pick<Client, "get" | "list" | "patch" | "raw">,
  request: LostConversionRequest,
  signal: AbortSignal,
): Promise<string[]> {
  const refusal = await checkConversions(client, request, signal);
  if (refusal) throw refusal.error;
  const dropped: string[] = [];
  for (const { crd, use } of await findLostConversions(client, request, signal)) {
    const { uid, resourceVersion } = crd.metadata;
    const body = { metadata: { uid, resourceVersion }, spec: { conversion: { strategy: "None", webhook: null } } };
    await client.patch(toObjectRef(crd), body, { type: "merge", fieldManager: FIELD_MANAGER, signal });
    const why =
      use.kind === "unused"
        ? "no custom resources exist"
        : isConvertibleByName(crd)
          ? "all versions have the same schema"
          : `annotation ${ANNOTATION_DROP_CONVERSION} allows this although it can hide fields`;
    dropped.push(`${describeObject(crd)}: set conversion.strategy to None because its conversion webhook is removed; ${why}`);
  }
  return dropped;
}

/** Returns the request for an upgrade or rollback to a release without the CRDs that `listLeavingCrds` found. */
export function newConversionRequest(
  { metadata: { name, annotations } }: Readonly<ClusterExtension>,
  leaving: Pick<LostConversionRequest, "crds" | "policy" | "recorded">,
): LostConversionRequest {
  return { ...leaving, extension: name, isForced: annotations?.[ANNOTATION_DROP_CONVERSION] === "true", refusal: "not applied" };
}

async function findLostConversions(
  client: Pick<Client, "get" | "list" | "raw">,
  { crds, policy, recorded, isForced }: Omit<LostConversionRequest, "extension" | "refusal">,
  signal: AbortSignal,
): Promise<LostConversion[]> {
  if (policy === "Delete") return [];
  const leaving = new Set(recorded.map(getObjectKey));
  const lost: LostConversion[] = [];
  for (const crd of crds) {
    const service = readConversionService(crd);
    if (!service || !(leaving.has(getObjectKey(service)) || (await isAbsent(client, service, signal)))) continue;
    const use = await checkCrdUse(client, crd, signal);
    if (use.kind === "gone" || (use.kind === "in use" && use.reason === "BeingDeleted")) continue;
    const live = use.crd;
    if (readConversionService(live)) lost.push({ crd: live, use, isSafe: isForced || use.kind === "unused" || isConvertibleByName(live) });
  }
  return lost;
}

/** Reports whether a Service does not exist. If reading the Service is forbidden, it belongs to another owner and counts as existing. */
async function isAbsent(client: Pick<Client, "get">, service: ObjectRef, signal: AbortSignal): Promise<boolean> {
  try {
    return (await client.get(service, { metadataOnly: true, signal })) === undefined;
  } catch (err) {
    if (isForbidden(err)) return false;
    throw err;
  }
}

async function describeLoss(client: Pick<Client, "list">, { crd, use }: LostConversion, signal: AbortSignal): Promise<string> {
  const reason = use.kind === "in use" ? use.text : "custom resources may exist";
  const stored = readCrdStoredVersions(crd).join(", ");
  const head = `${describeObject(crd)} is kept (${reason}), and only the conversion webhook of this extension can convert its custom resources (stored versions: ${stored})`;
  const kind = getServedKind(crd);
  if (!kind) return head;
  try {
    const { items } = await client.list(kind, { limit: READ_MAX, maxItems: READ_MAX, metadataOnly: true, signal });
    const names = items.map(({ metadata: { namespace, name } }) => (namespace === undefined ? name : `${namespace}/${name}`));
    return names.length === 0 ? head : `${head}: ${formatFirst(names)}${items.length === READ_MAX ? ", and possibly others" : ""}`;
  } catch (err) {
    signal.throwIfAborted();
    return `${head}; listing the custom resources failed: ${getErrorMessage(err)}`;
  }
}
