import { Reason } from "../../api/constants.ts";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { toObjectRef } from "../../api/k8s.ts";
import type { UninstallPolicy } from "../../consoleapi/actions.ts";
import { type AffectedDefinition, UNINSTALL_NAMES_MAX, UNINSTALL_OBJECTS_MAX, type UninstallView } from "../../consoleapi/uninstall.ts";
import type { CustomResources } from "../../installer/removal.ts";
import { divideDefinitions, type UninstallPreview } from "../../installer/uninstallPreview.ts";
import { explainCondition } from "../../rollout/conditionAdvice.ts";
import { hasForeignStatus } from "../../rollout/extensionState.ts";
import { parseSuggestedSteps } from "../../rollout/suggestedStep.ts";
import { getUninstallPolicy } from "../../rollout/uninstallPolicy.ts";
import { formatCount } from "../../text/lists.ts";
import { describeUninstall, formatUninstallCommand } from "../actions/uninstallChange.ts";

const POLICIES: UninstallView["policies"] = [
  {
    policy: "DeleteIfUnused",
    meaning: "Deletes CustomResourceDefinitions without custom resources, and keeps the others with their data.",
  },
  { policy: "Retain", meaning: "Keeps all CustomResourceDefinitions with their custom resources." },
  { policy: "Delete", meaning: "Deletes all CustomResourceDefinitions with all of their custom resources. The data is lost." },
];

const FOREIGN_POLICY =
  "The OLM of this cluster has no policy for them: an uninstall deletes all CustomResourceDefinitions of the extension, with all of their custom resources.";

/** Describes what an uninstall would do. @param chosen the policy that the user chose */
export function buildUninstallView(
  preview: UninstallPreview & { readonly extension: NonNullable<UninstallPreview["extension"]> },
  chosen: UninstallPolicy | undefined,
): UninstallView {
  const { extension, crdPolicy, installed, blocked, created, dependents = [], unread = [] } = preview;
  const { metadata, status } = extension;
  const isForeign = hasForeignStatus(extension);
  const bundle = status?.install?.bundle.name;
  const { lost, unused, kept } = divideDefinitions(preview);
  return {
    crdPolicy,
    currentPolicy: getUninstallPolicy(extension),
    policies: isForeign ? [] : POLICIES,
    ...(isForeign ? { policyNote: FOREIGN_POLICY } : {}),
    isDeleting: metadata.deletionTimestamp !== undefined,
    effects: describeUninstall(withoutUnknowns(preview)), // the page shows what is unknown separately
    ...(bundle === undefined ? {} : { bundle }),
    definitions: [
      ...lost.map((one) => toDefinition(one, "lost")),
      ...kept.map((one) => toDefinition(one, "kept")),
      ...unused.map((one) => toDefinition(one, "unused")),
    ],
    objectCount: installed.count,
    objects: installed.refs.slice(0, UNINSTALL_OBJECTS_MAX).map(toName),
    dependents:
      typeof dependents === "string"
        ? dependents
        : dependents.slice(0, UNINSTALL_NAMES_MAX).map(({ extension: name, bundle: needing, needs }) => ({
            extension: name,
            bundle: needing,
            needs: needs.slice(0, UNINSTALL_NAMES_MAX),
          })),
    blocked: [...blocked],
    unblock: blocked.length > 0 ? parseSuggestedSteps(explainCondition(extension, { reason: Reason.ConversionNeeded }).next) : [],
    created: created.slice(0, UNINSTALL_OBJECTS_MAX).map((object: KubeObject) => toName(toObjectRef(object))),
    unread: [...unread],
    command: formatUninstallCommand(metadata.name, chosen),
  };
}

function withoutUnknowns(preview: UninstallPreview): UninstallPreview {
  const { dependents = [] } = preview;
  return { ...preview, unread: [], dependents: typeof dependents === "string" ? [] : dependents };
}

function toDefinition({ crd, kind, names, isMore, unknown }: CustomResources, outcome: AffectedDefinition["outcome"]): AffectedDefinition {
  const count = `${isMore ? "more than " : ""}${formatCount(names.length, "custom resource")}`;
  return {
    name: crd.metadata.name,
    kind,
    outcome,
    count: unknown === undefined ? count : "unknown number of custom resources",
    ...(unknown === undefined ? {} : { unknown }),
    names: names.slice(0, UNINSTALL_NAMES_MAX),
  };
}

function toName({ kind, namespace, name }: ObjectRef): UninstallView["objects"][number] {
  return { kind, ...(namespace ? { namespace } : {}), name };
}

/** Returns the names of the objects that an uninstall deletes after the extension: all except Namespaces. */
export function listLeftovers(created: readonly KubeObject[]): UninstallView["objects"] {
  return created
    .filter(({ kind }) => kind !== "Namespace")
    .slice(0, UNINSTALL_OBJECTS_MAX)
    .map((object) => toName(toObjectRef(object)));
}
